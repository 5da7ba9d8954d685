package emulator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"syncd/internal/emulator/wire"
)

// Fault is an error on demand. The comments of the kinds say which parameters each
// takes. The others stay zero.
type Fault struct {
	// Path selects requests by their decoded path, with a glob as for path.Match
	// but without case, and with * and ? that match a slash too. "" selects all.
	Path string
	// Host selects the service: one of the Host constants, or "" for all.
	Host string
	// Skip is the number of matching requests that pass before the first hit.
	Skip int
	// Times is the number of requests to hit; 0 hits all.
	Times int
	// Kind is one of the Kind constants.
	Kind string

	// Status is the status of the answer; 0 is the default of the kind.
	Status int
	// Delay is how long KindDelay waits.
	Delay time.Duration
	// After counts bytes of the body of this answer; for KindCorrupt, bytes of
	// the whole file.
	After int64
	// Rate is the rate of KindSlow, in bytes per second.
	Rate int64
	// RetryAfter is the value of the header Retry-After.
	RetryAfter string
	// Shape is the kind of body for KindStatus and KindShape.
	Shape string
	// Type is the value of type in the body of KindStatus.
	Type string
	// Location is the target of KindRedirect; "self" is the same URL. "{id}" in
	// Location and Body stands for the caller's Customer ID.
	Location string
	// Body is the body to send.
	Body string
	// Date is by how much the header Date of KindDate is ahead, such as 720h or -720h, or
	// "none" for no such header.
	Date string
}

// The kinds of faults.
const (
	// KindStatus answers Status (default 503) with Body or with an error in a
	// Shape: type (default), title, empty, html, or echo, which holds the
	// caller's Customer ID. Type and RetryAfter are optional.
	KindStatus = "status"
	// KindDelay waits for Delay before a normal answer.
	KindDelay = "delay"
	// KindStall sends After bytes of the body, then nothing until the client
	// disconnects or the emulator closes.
	KindStall = "stall"
	// KindTruncate announces the whole length and closes the connection after
	// After bytes of the body.
	KindTruncate = "truncate"
	// KindCorrupt flips a bit of the byte at offset After of the whole file, also
	// in the answer to a range.
	KindCorrupt = "corrupt"
	// KindReset resets the connection after the client's host has received After
	// bytes of the body; with 0, before the headers.
	KindReset = "reset"
	// KindNoRanges answers a request for a range with 200 and the whole content.
	KindNoRanges = "no_ranges"
	// KindNoValidators answers without ETag and Last-Modified.
	KindNoValidators = "no_validators"
	// KindNoLength answers chunked, without Content-Length.
	KindNoLength = "no_length"
	// KindChangeETag gives another ETag at each request.
	KindChangeETag = "change_etag"
	// KindBadRange answers a range with a Content-Range that is one byte off. It
	// matches only requests for a range.
	KindBadRange = "bad_range"
	// KindDate answers with another Date, or with none.
	KindDate = "date"
	// KindSlow sends the body at Rate bytes per second.
	KindSlow = "slow"
	// KindShape answers 200 with an unexpected body of a Shape: html, object,
	// nonsense, empty, huge (over 64 MiB of JSON), error (a JSON error), null, or
	// echo, which holds the caller's Customer ID.
	KindShape = "shape"
	// KindRedirect answers 302, or Status, with Location.
	KindRedirect = "redirect"
	// KindBody answers 200, or Status, with Body.
	KindBody = "body"
)

// kinds are the kinds of faults with the parameters that each takes.
var kinds = map[string][]string{
	KindStatus:       {"status", "shape", "type", "retry_after", "body"},
	KindDelay:        {"delay"},
	KindStall:        {"after"},
	KindTruncate:     {"after"},
	KindCorrupt:      {"after"},
	KindReset:        {"after"},
	KindNoRanges:     {},
	KindNoValidators: {},
	KindNoLength:     {},
	KindChangeETag:   {},
	KindBadRange:     {},
	KindDate:         {"date"},
	KindSlow:         {"rate"},
	KindShape:        {"shape"},
	KindRedirect:     {"status", "location", "retry_after"},
	KindBody:         {"status", "body", "retry_after"},
}

// Kinds returns the names of all kinds of faults, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// check returns what is wrong with a fault.
func (f Fault) check() error {
	if _, ok := kinds[f.Kind]; !ok {
		return fmt.Errorf("unknown kind %q: use one of %s", f.Kind, strings.Join(Kinds(), ", "))
	}
	if f.Host != "" && !slices.Contains(hosts, f.Host) {
		return fmt.Errorf("unknown host %q: use one of %s", f.Host, strings.Join(hosts, ", "))
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("path %q is not a valid glob", f.Path)
	}
	if f.Skip < 0 || f.Times < 0 || f.After < 0 || f.Rate < 0 || f.Delay < 0 {
		return errors.New("numbers must not be negative")
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return fmt.Errorf("status %d is not within 200 to 599", f.Status)
	}
	return f.checkKind()
}

// checkKind returns what is wrong with the parameters of the kind.
func (f Fault) checkKind() error {
	switch _, err := time.ParseDuration(f.Date); {
	case f.Kind == KindDate && f.Date != noDate && err != nil:
		return errors.New("kind date needs date, an offset such as -720h, or none")
	case f.Kind == KindDelay && f.Delay == 0:
		return errors.New("kind delay needs delay, such as delay=200ms")
	case f.Kind == KindSlow && f.Rate == 0:
		return errors.New("kind slow needs rate, in bytes per second")
	case f.Kind == KindRedirect && f.Location == "":
		return errors.New("kind redirect needs location, a URL or self")
	case f.Kind == KindShape && shapes[f.Shape] == nil:
		return fmt.Errorf("unknown shape %q: use one of %s", f.Shape, strings.Join(shapeNames(), ", "))
	case f.Kind == KindStatus && f.Shape != "" && !slices.Contains(wire.Shapes, f.Shape):
		return fmt.Errorf("unknown shape %q: use one of %s", f.Shape, strings.Join(wire.Shapes, ", "))
	}
	return nil
}

// noDate stands for no header.
const noDate = "none"

// statusOr returns the fault's status, or a default.
func (f Fault) statusOr(status int) int { return cmp.Or(f.Status, status) }
