package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"syncd/internal/refusal"
)

// Kind is what a caller needs to know about a failure to decide what to do.
type Kind int

const (
	// Transient faults may be gone at the next try: network errors, timeouts,
	// 408, 425, 429, 5xx and short bodies.
	Transient Kind = iota
	// NotFound is status 404 or 410.
	NotFound
	// Licence is status 401 or 403: the Customer ID is wrong, expired or not
	// entitled. Error.Type tells which.
	Licence
	// Rejected is every other final answer.
	Rejected
	// Malformed is an answer that is too large or of the wrong shape; the cause
	// is a refusal.
	Malformed
)

// Error is a failed request. Its text, its fields and its causes hold neither
// the query of the request nor the Customer ID.
type Error struct {
	Kind       Kind
	Endpoint   string        // the name that metrics use, e.g. "Manifest"
	Path       string        // below the base, without query
	Status     int           // 0 when there was no answer
	Type       string        // the provider's own word, e.g. "expiredLicense"
	Message    string        // the provider's text
	Body       []byte        // of an error answer, as far as it was read
	RetryAfter time.Duration // what the provider asked for; 0 when nothing
	Err        error         // the cause, when there was no answer or a wrong one

	origin string // that answered, for Retry
}

// Error prints ENDPOINT PATH: STATUS: DETAILS: CAUSE, without what is empty.
func (e *Error) Error() string {
	parts := []string{e.Endpoint + " " + e.Path}
	if e.Status != 0 && e.Err == nil {
		parts = append(parts, fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status)))
	}
	details := []string{e.Type, strings.TrimSuffix(e.Message, ".")}
	if strings.Contains(e.Type, ":") { // a link to an explanation of the status: the least useful part
		slices.Reverse(details)
	}
	parts = append(parts, details...)
	if e.Err != nil {
		parts = append(parts, cmp.Or(strings.TrimSpace(e.Err.Error()), "no reason given"))
	}
	text := joinNonEmpty(parts, ": ")
	if e.Kind == Licence {
		text += "; check the Customer ID and its licence"
	}
	return text
}

// joinNonEmpty leaves out the parts that would print as nothing.
func joinNonEmpty(parts []string, separator string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}

func (e *Error) Unwrap() error { return e.Err }

// IsTransient is the one decision about trying again: true when the same request
// may succeed later.
func IsTransient(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Kind == Transient
}

// CoolingDown says that the provider asked not to be called before Until.
type CoolingDown struct {
	Origin string
	Until  time.Time
}

func (e *CoolingDown) Error() string {
	return fmt.Sprintf("%s asked to wait until %s (Retry-After)", e.Origin, e.Until.UTC().Format(time.RFC3339))
}

// errTooSlow ends a short exchange that took as long as all its tries may.
var errTooSlow = errors.New("too slow: the answer was not complete within retry.max_elapsed")

// errStalled ends a transfer that moved no byte for the stall timeout.
var errStalled = errors.New("stalled: no byte arrived for the stall timeout")

// kindOfStatus sorts the statuses that are no success.
func kindOfStatus(status int) Kind {
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		return NotFound
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Licence
	case status >= 500, slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, status):
		return Transient
	}
	return Rejected
}

// kindOfFailure sorts failures without an answer. A certificate that does not
// verify will not do so a second later.
func kindOfFailure(err error) Kind {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	switch {
	case refusal.ReasonOf(err) != "":
		return Malformed
	case errors.As(err, &verification), errors.As(err, &authority), errors.As(err, &hostname):
		return Rejected
	}
	return Transient
}

// publicError shows a text without the Customer ID. The chain below can be asked
// (errors.Is) but not reached, for its texts hold what this one leaves out.
type publicError struct {
	text string
	err  error
}

func (e *publicError) Error() string        { return e.text }
func (e *publicError) Is(target error) bool { return errors.Is(e.err, target) }

// maxCause bounds the text of a cause: net/http quotes whole lines of a server.
const maxCause = 1000

// Error returns err with the Customer ID removed from its text and from those of
// its causes. What has to go takes its causes along, but for a refusal's reason;
// *url.Error, which prints whole URLs, is left out.
func (r Redactor) Error(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	if err == nil || !r.inChain(err) && len(err.Error()) <= maxCause {
		return err
	}
	var public error = &publicError{text: clip(r.String(err.Error()), maxCause), err: err}
	if reason := refusal.ReasonOf(err); reason != "" {
		public = &refusal.Error{Reason: reason, Err: public}
	}
	return public
}

// inChain is true when err or a cause of it shows the Customer ID.
func (r Redactor) inChain(err error) bool {
	if err == nil || r.Contains(err.Error()) {
		return err != nil
	}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		return r.inChain(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapper.Unwrap(), r.inChain)
	}
	return false
}

// problem is either of the two shapes of an error body in wire/releases.md.
type problem struct {
	Type    string                     `json:"type"`
	Title   string                     `json:"title"`
	Message string                     `json:"message"`
	Errors  map[string]json.RawMessage `json:"errors"` // a list of texts each, or one
	TraceID string                     `json:"traceId"`
}

// maxDetail bounds what of a provider's text goes into an error.
const maxDetail = 300

// parseProblem reads the type and the text of an error body, as far as it has
// any. What is decoded is looked at again for the Customer ID.
func parseProblem(body []byte, redact Redactor) (kind, message string) {
	var p problem
	var otherType *json.UnmarshalTypeError // a member that is not what it should be; the rest may be
	if err := json.Unmarshal(redact.Bytes(body), &p); err != nil && !errors.As(err, &otherType) {
		return "", ""
	}
	texts := []string{p.Message, p.Title}
	for _, field := range slices.Sorted(maps.Keys(p.Errors)) {
		text := fieldText(p.Errors[field])
		texts = slices.DeleteFunc(texts, func(s string) bool { return s == text }) // a 404 repeats its title as the text of a field
		texts = append(texts, joinNonEmpty([]string{field, text}, ": "))
	}
	if p.TraceID != "" {
		texts = append(texts, "trace "+p.TraceID) // what the provider's support asks for
	}
	return Printable(redact.String(p.Type)), Printable(redact.String(joinNonEmpty(texts, "; ")))
}

// fieldText reads what is wrong with a field.
func fieldText(raw json.RawMessage) string {
	var list []string
	var one string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	return string(raw)
}

// Printable makes a provider's text fit for one line of a log.
func Printable(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
	return clip(s, maxDetail)
}

func clip(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// contextError prefers the reason why a context ended.
func contextError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
