package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest/refusal"
)

// Kind sorts failures by what a caller can do about them.
type Kind int

const (
	// Transient faults are worth a retry: network errors, timeouts, short bodies,
	// and the statuses 408, 425, 429 and 5xx.
	Transient Kind = iota
	// NotFound is status 404 or 410.
	NotFound
	// Licence is status 401 or 403: the Customer ID is wrong, expired or not valid
	// for this product. Error.Type says which: invalidLicense, expiredLicense or
	// invalidProduct (docs/wire/releases.md, "Errors").
	Licence
	// Rejected is every other failure that a retry does not change.
	Rejected
	// Malformed is a response that is too large, insecure or of the wrong shape. The
	// cause is a refusal.
	Malformed
)

// Error is a failed request. Its text, fields and causes hold neither the query of
// the request nor the Customer ID.
type Error struct {
	Kind       Kind
	Endpoint   string        // the name that metrics use, e.g. "Manifest"
	Path       string        // below the base, without query
	Status     int           // 0 when no response came
	Type       string        // the provider's error type, e.g. "expiredLicense"
	Message    string        // the provider's text
	Body       []byte        // of an error response, up to 64 KiB, redacted
	RetryAfter time.Duration // the wait that the provider asked for, or 0
	IsUpstream bool          // as Response has it
	Err        error         // the cause, when no response came or a malformed one

	origin string // of the server that responded, for Retry
	signed bool   // the request had a signature instead of a Customer ID
}

// Error prints ENDPOINT PATH: STATUS: DETAILS: CAUSE, without what is empty.
func (e *Error) Error() string {
	parts := []string{e.Endpoint + " " + e.Path}
	if e.Status != 0 && e.Err == nil {
		parts = append(parts, fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status)))
	}
	message := strings.TrimSuffix(e.Message, ".")
	if message == http.StatusText(e.Status) {
		message = ""
	}
	details := []string{e.Type, message}
	if strings.Contains(e.Type, ":") { // a link that explains the status is the least useful part
		slices.Reverse(details)
	}
	parts = append(parts, details...)
	if e.Err != nil {
		parts = append(parts, causeText(e.Err))
	}
	text := joinNonEmpty(parts, ": ")
	switch {
	case e.Kind == Licence && e.signed:
		text += "; check the credentials, what they allow, and the clock"
	case e.Kind == Licence:
		text += "; check the Customer ID and its licence"
	case e.Type == "NoSuchKey" && e.Endpoint == "Current":
		text += "; nothing is published there: run `syncd sync` on the publisher, or correct the prefix"
	case e.Type == "NoSuchBucket":
		text += "; correct the name of the bucket, or make it"
	case e.Type == "invalidManifest":
		text += "; `syncd manifests` lists all"
	case e.Type == "invalidRelease":
		text += "; `syncd releases MANIFEST` lists all"
	}
	return text
}

// causeText replaces the texts of bare EOFs, which only Go programmers know.
func causeText(err error) string {
	text := strings.TrimSpace(err.Error())
	switch text {
	case "":
		return "no reason given"
	case io.EOF.Error():
		return "the server closed the connection without a response"
	case io.ErrUnexpectedEOF.Error():
		return "the response ended before it was complete"
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

// IsTransient is true when the same request may succeed later. Every retry depends
// on it.
func IsTransient(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Kind == Transient
}

// StatusOf returns the HTTP status of a failed request; 0 if no answer came.
func StatusOf(err error) int {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Status
	}
	return 0
}

// IsUnanswered is true when a request failed because no answer came, or not all of it.
func IsUnanswered(err error) bool { return IsTransient(err) && StatusOf(err) == 0 }

// CoolingDown is the error of a request that was not sent, because the provider asked
// not to be called before Until.
type CoolingDown struct {
	Origin string
	Until  time.Time
}

func (e *CoolingDown) Error() string {
	return fmt.Sprintf("%s asked to wait until %s (Retry-After)", e.Origin, e.Until.UTC().Format(time.RFC3339))
}

// errTooSlow ends an exchange that arrives byte by byte for longer than its retry budget.
var errTooSlow = errors.New("too slow: the response was not complete within retry.max_elapsed")

// errStalled ends a transfer that moved no byte for the stall timeout.
var errStalled = errors.New("stalled: no byte arrived within stall_timeout")

// errNoTimeLeft ends an attempt without an answer when the retry budget ends.
var errNoTimeLeft = errors.New("no answer came within retry.max_elapsed")

// errNoneAnswers ends an attempt whose server says goodbye on each new connection.
var errNoneAnswers = errors.New("the server ended each new connection without an answer")

var errNoCertificate = errors.New("the server does not accept the client's certificate: check client_cert and client_key")

// certificateAlerts are the TLS alerts of a server that wants another client certificate.
// crypto/tls has no types for them.
var certificateAlerts = []string{
	"tls: bad certificate", "tls: unsupported certificate", "tls: revoked certificate", "tls: expired certificate",
	"tls: unknown certificate", "tls: unknown certificate authority", "tls: access denied", "tls: certificate required",
}

// explainTLS adds to an error of TLS what the operator can check: an alert about the
// client's certificate, and a server without TLS.
func explainTLS(host string, err error) error {
	var alert *net.OpError
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fmt.Errorf("%s does not speak TLS there: check scheme and port of its address (%w)", host, err)
	}
	if errors.As(err, &alert) && alert.Op == "remote error" && slices.Contains(certificateAlerts, alert.Err.Error()) {
		return fmt.Errorf("%w (%w)", errNoCertificate, alert.Err)
	}
	return err
}

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

// kindOfFailure returns the kind of a failure that is no status. An invalid
// certificate is not worth a retry.
func kindOfFailure(err error) Kind {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var proxy *ProxyError
	switch {
	case refusal.ReasonOf(err) != "":
		return Malformed
	case errors.As(err, &verification), errors.As(err, &authority), errors.As(err, &hostname):
		return Rejected
	case errors.As(err, &proxy) && kindOfStatus(proxy.Status) != Transient, errors.Is(err, errNoCertificate):
		return Rejected
	}
	return Transient
}

// publicError prints a redacted text. errors.Is sees its causes, but Unwrap does not
// return them, because their texts hold the Customer ID.
type publicError struct {
	text string
	err  error
}

func (e *publicError) Error() string        { return e.text }
func (e *publicError) Is(target error) bool { return errors.Is(e.err, target) }

// maxCause limits the text of a cause in bytes: net/http quotes whole lines of a server.
const maxCause = 1000

// Error returns err without the Customer ID in its text and in the texts of its causes.
// An error that must be redacted loses its causes, except for errors.Is and the reason
// of a refusal. *url.Error prints whole URLs, so its cause replaces it.
func (r Redactor) Error(err error) error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
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

// inChain is true when err or one of its causes prints the Customer ID.
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

// contextError returns the cause of an ended context, and otherwise err.
func contextError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
