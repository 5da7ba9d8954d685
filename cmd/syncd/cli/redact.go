package cli

import (
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"syncd/internal/clients/transport"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// Secrets are the Customer IDs that this process has read. After a reload with
// another one, the old one stays secret. Safe for concurrent use.
type Secrets struct {
	Warn func(message string)

	mu        sync.Mutex
	known     map[string]bool
	redactors []transport.Redactor
}

// shortID warns about a Customer ID with fewer than safeID characters.
const (
	safeID  = 8
	shortID = "the Customer ID has fewer than 8 characters: names and numbers hold it by accident, so it is removed from texts only; ask the provider for a longer one"
)

// Add makes an ID secret. It warns about a short one.
func (s *Secrets) Add(id string) {
	if s.Learn(id) && utf8.RuneCountInString(id) < safeID {
		s.Warn(shortID)
	}
}

// Learn is Add without the warning. It is false for an ID that is known.
func (s *Secrets) Learn(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" || s.known[id] {
		return false
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[id] = true
	s.redactors = append(s.redactors, transport.NewRedactor(id))
	return true
}

// redact removes the secrets from output, which is full of names and numbers.
func (s *Secrets) redact(b []byte) []byte { return s.each(b, transport.Redactor.ForNames) }

// redactText removes the secrets from a text of others.
func (s *Secrets) redactText(b []byte) []byte {
	return s.each(b, func(r transport.Redactor) transport.Redactor { return r })
}

func (s *Secrets) each(b []byte, variant func(transport.Redactor) transport.Redactor) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.redactors {
		b = variant(r).Bytes(b)
	}
	return b
}

// Writer removes secrets from stdout and stderr, and makes visible what would control the
// terminal or hide. Errors and bodies are redacted where they arise; this is the second
// line of defence. It looks at each Write by itself, so callers write whole lines.
type Writer struct {
	w      io.Writer
	redact func([]byte) []byte
	getenv func(string) string
}

// Write implements io.Writer.
func (r *Writer) Write(p []byte) (int, error) {
	if _, err := r.w.Write(report.Visible(r.redact(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteData writes what is no text for people, such as the answer of a service.
func (r *Writer) WriteData(p []byte) error {
	_, err := r.w.Write(r.redact(p))
	return err
}

// Plain writes bytes as they are, such as a bundle, which holds no secret.
func (r *Writer) Plain() io.Writer { return r.w }

// IsTerminal is true if a person reads along.
func (r *Writer) IsTerminal() bool { return terminal.Is(r.w) }

// Width implements terminal.Screen.
func (r *Writer) Width() int { return terminal.WidthOf(r.w) }

// HasColour implements terminal.Screen.
func (r *Writer) HasColour() bool {
	return r.IsTerminal() && r.getenv("NO_COLOR") == "" && r.getenv("TERM") != "dumb"
}

// Clean implements terminal.Screen.
func (r *Writer) Clean(text string) string { return report.VisibleLine(string(r.redact([]byte(text)))) }

// WriteStyled implements terminal.Screen.
func (r *Writer) WriteStyled(text string) error { return r.WriteData([]byte(text)) }

// LibraryLog passes on the lines that libraries such as net/http write by package log,
// where they quote a server's bytes. It drops lines beyond the limit, because a server
// can cause thousands in a second.
type LibraryLog struct {
	write  func(line []byte)
	redact func([]byte) []byte
	limit  *rate.Limiter
}

// NewLibraryLog returns a LibraryLog that writes lines without secrets.
func NewLibraryLog(s *Secrets, write func(line []byte)) LibraryLog {
	return LibraryLog{write: write, redact: s.redactText, limit: rate.NewLimiter(rate.Every(10*time.Second), 10)}
}

// Write implements io.Writer.
func (l LibraryLog) Write(line []byte) (int, error) {
	if l.limit.Allow() {
		l.write(l.redact(line))
	}
	return len(line), nil
}
