package secrets

import (
	"os"
	"slices"

	"syncd/internal/clients/signature"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/host/command"
)

// Secrets are those of a configuration. Safe for concurrent use.
type Secrets struct {
	ids    redactors
	usesS3 bool
}

// Of returns the secrets of a configuration, whose sources have these Customer IDs.
func Of(cfg *config.Config, ids ...config.Secret) *Secrets {
	s := &Secrets{usesS3: cfg.UsesS3()}
	for _, id := range ids {
		s.ids = append(s.ids, transport.NewRedactor(id.Reveal()))
	}
	return s
}

// Clean removes the Customer IDs from a text.
func (s *Secrets) Clean(text string) string {
	for _, r := range s.ids {
		text = r.String(text)
	}
	return text
}

// Environ is the environment of gates, probes and hooks: that of this process without secrets,
// in whatever spelling.
func (s *Secrets) Environ() []string {
	hidden := slices.Clone(s.ids)
	if s.usesS3 {
		for _, key := range signature.Secrets() {
			hidden = append(hidden, transport.NewRedactor(key))
		}
	}
	return command.Environ(os.Environ(), hidden.areIn)
}

// redactors find one secret each.
type redactors []transport.Redactor

func (all redactors) areIn(text string) bool {
	return slices.ContainsFunc(all, func(r transport.Redactor) bool { return r.Contains(text) })
}
