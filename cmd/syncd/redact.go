package main

import (
	"io"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/terminal"
)

// secrets are the Customer IDs that this process has read. A reload may bring
// another one; the old one stays secret.
type secrets struct {
	mu        sync.Mutex
	known     map[string]bool
	redactors []transport.Redactor
}

func (s *secrets) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" || s.known[id] {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[id] = true
	s.redactors = append(s.redactors, transport.NewRedactor(id))
}

func (s *secrets) redact(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.redactors {
		b = r.Bytes(b)
	}
	return b
}

// redactingWriter is the last guard in front of stdout and stderr: errors and
// bodies are redacted where they arise, and whatever slips through ends here.
// Each Write is looked at by itself, so callers write whole lines.
type redactingWriter struct {
	w       io.Writer
	secrets *secrets
}

func (r *redactingWriter) Write(p []byte) (int, error) {
	if _, err := r.w.Write(r.secrets.redact(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (r *redactingWriter) isTerminal() bool { return terminal.Is(r.w) }
