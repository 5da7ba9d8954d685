package emulator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"syncd/internal/emulator/wire"
)

// Fault is something that goes wrong on demand. Which parameters a kind takes
// stands beside its name below; the others are left at zero.
type Fault struct {
	// Path selects requests by their decoded path: a glob with the syntax of
	// path.Match in which * and ? also match a slash, without case. "" is every
	// path.
	Path string
	// Host selects the service: one of the Host constants, or "" for all.
	Host string
	// Skip lets so many matching requests pass first.
	Skip int
	// Times is how many are hit then; 0 is all.
	Times int
	// Kind is one of the Kind constants.
	Kind string

	// Status is the status of the answer; 0 takes the kind's own.
	Status int
	// Delay is how long KindDelay waits.
	Delay time.Duration
	// After counts body bytes of this answer, for KindCorrupt bytes of the
	// whole file.
	After int64
	// Rate is the bytes a second of KindSlow.
	Rate int64
	// RetryAfter is the value of the header, as it is.
	RetryAfter string
	// Shape is what a body looks like, see KindStatus and KindShape.
	Shape string
	// Type is the value of type in the body of KindStatus.
	Type string
	// Location is where KindRedirect leads: "self" is the same URL again.
	// "{id}" in it, and in Body, stands for the caller's Customer ID.
	Location string
	// Body is sent as it is.
	Body string
}

// The kinds of faults.
const (
	// KindStatus answers Status (503) with Body, or with a problem of a Shape:
	// type (the usual one), title, empty, html, or echo, which holds the
	// caller's Customer ID. Type and RetryAfter are optional.
	KindStatus = "status"
	// KindDelay waits for Delay before it answers as usual.
	KindDelay = "delay"
	// KindStall sends After bytes of the body, then nothing until the client
	// goes or the emulator is closed.
	KindStall = "stall"
	// KindTruncate promises the whole length and closes the connection after
	// After bytes.
	KindTruncate = "truncate"
	// KindCorrupt flips a bit of the byte at offset After of the whole file,
	// also when a single range of it is served.
	KindCorrupt = "corrupt"
	// KindReset resets the connection after After bytes, which the client's
	// host has then received; with 0 before the headers.
	KindReset = "reset"
	// KindNoRanges answers a request for a range with the whole and status 200.
	KindNoRanges = "no_ranges"
	// KindNoValidators answers without ETag and Last-Modified.
	KindNoValidators = "no_validators"
	// KindNoLength answers chunked, without Content-Length.
	KindNoLength = "no_length"
	// KindChangeETag gives another ETag at each request.
	KindChangeETag = "change_etag"
	// KindBadRange answers a range with a Content-Range one byte further on. It
	// matches only requests for a range.
	KindBadRange = "bad_range"
	// KindSlow sends the body at Rate bytes a second.
	KindSlow = "slow"
	// KindShape answers 200 with a body that is not the expected one, by Shape:
	// html, object, nonsense, empty, huge (over 64 MiB of JSON), error (a JSON
	// error), null, or echo, which holds the caller's Customer ID.
	KindShape = "shape"
	// KindRedirect answers 302, or Status, with Location.
	KindRedirect = "redirect"
	// KindBody answers 200, or Status, with Body.
	KindBody = "body"
)

// kinds are the kinds of faults with the parameters that they take.
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
	KindSlow:         {"rate"},
	KindShape:        {"shape"},
	KindRedirect:     {"status", "location", "retry_after"},
	KindBody:         {"status", "body", "retry_after"},
}

// Kinds returns the names of all kinds of faults, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// check holds what makes a fault usable.
func (f Fault) check() error {
	if _, ok := kinds[f.Kind]; !ok {
		return fmt.Errorf("unknown kind %q: valid are %s", f.Kind, strings.Join(Kinds(), ", "))
	}
	if f.Host != "" && !slices.Contains(hosts, f.Host) {
		return fmt.Errorf("unknown host %q: valid are %s", f.Host, strings.Join(hosts, ", "))
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("path %q is not a glob", f.Path)
	}
	if f.Skip < 0 || f.Times < 0 || f.After < 0 || f.Rate < 0 || f.Delay < 0 {
		return errors.New("numbers must not be negative")
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return fmt.Errorf("status %d is not within 200 to 599", f.Status)
	}
	return f.checkKind()
}

// checkKind holds what a kind cannot do without.
func (f Fault) checkKind() error {
	switch {
	case f.Kind == KindDelay && f.Delay == 0:
		return errors.New("kind delay needs delay, as 200ms")
	case f.Kind == KindSlow && f.Rate == 0:
		return errors.New("kind slow needs rate, in bytes a second")
	case f.Kind == KindRedirect && f.Location == "":
		return errors.New("kind redirect needs location, a URL or self")
	case f.Kind == KindShape && shapes[f.Shape] == nil:
		return fmt.Errorf("unknown shape %q: valid are %s", f.Shape, strings.Join(shapeNames(), ", "))
	case f.Kind == KindStatus && f.Shape != "" && !slices.Contains(wire.Shapes, f.Shape):
		return fmt.Errorf("unknown shape %q: valid are %s", f.Shape, strings.Join(wire.Shapes, ", "))
	}
	return nil
}

// matches tells whether a request is one that the fault is for.
func (f Fault) matches(host string, r *http.Request) bool {
	if f.Host != "" && f.Host != host {
		return false
	}
	if f.Kind == KindBadRange && r.Header.Get("Range") == "" {
		return false
	}
	return f.Path == "" || globMatch(f.Path, r.URL.Path)
}

// globMatch is path.Match without case and with nothing special about a slash:
// both sides get a byte for it that path.Match does not know.
func globMatch(pattern, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(name))
	return ok && err == nil
}

// FaultState is a fault as AddFault took it, with what became of it.
type FaultState struct {
	ID      int
	Fault   Fault
	Matched int // requests that came to it
	Hits    int // of these, the ones it was applied to
}

// AddFault puts a fault in place for the requests from now on, and returns a
// number for RemoveFault. Faults are tried in the order they were added, and
// the first that matches and is due applies; a request that it hit does not
// count for the later ones. A fault that ParseFault would refuse is a mistake
// in a program, and AddFault panics.
func (e *Emulator) AddFault(f Fault) (id int) {
	if err := f.check(); err != nil {
		panic("emulator: " + err.Error())
	}
	return e.faults.add(f)
}

// RemoveFault takes away one fault, if it is there.
func (e *Emulator) RemoveFault(id int) { e.faults.remove(id) }

// ClearFaults takes away all faults. Requests being served keep theirs.
func (e *Emulator) ClearFaults() { e.faults.clear() }

// Faults returns the faults in place, used up ones too, in their order.
func (e *Emulator) Faults() []FaultState { return e.faults.snapshot() }

type faultList struct {
	mu     sync.Mutex
	last   int // id
	faults []*FaultState
}

func (l *faultList) add(f Fault) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.faults = append(l.faults, &FaultState{ID: l.last, Fault: f})
	return l.last
}

func (l *faultList) remove(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = slices.DeleteFunc(l.faults, func(s *FaultState) bool { return s.ID == id })
}

func (l *faultList) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

func (l *faultList) snapshot() []FaultState {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]FaultState, len(l.faults))
	for i, s := range l.faults {
		all[i] = *s
	}
	return all
}

// pick returns the fault that applies to a request, and counts.
func (l *faultList) pick(host string, r *http.Request) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.faults {
		if !s.Fault.matches(host, r) {
			continue
		}
		s.Matched++
		if s.Matched > s.Fault.Skip && (s.Fault.Times == 0 || s.Hits < s.Fault.Times) {
			s.Hits++
			return s.Fault, true
		}
	}
	return Fault{}, false
}

// statusOr is the fault's status, or the kind's own.
func (f Fault) statusOr(status int) int { return cmp.Or(f.Status, status) }
