package main

import (
	"io"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/terminal"
)

// secrets are the Customer IDs that this process has read. After a reload with
// another one, the old one stays secret. Safe for concurrent use.
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

// redactingWriter removes secrets from stdout and stderr. Errors and bodies are
// redacted where they arise; this is the second line of defence. It looks at each
// Write by itself, so callers write whole lines.
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
