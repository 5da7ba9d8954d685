package offer

import (
	"sync/atomic"
	"time"

	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
)

// Signing signs generations with the key of the configuration in force. The zero value
// signs nothing. Safe for concurrent use.
type Signing struct{ inForce atomic.Pointer[trust.Signer] }

// Use puts a key in force, nil for none.
func (s *Signing) Use(signer *trust.Signer) { s.inForce.Store(signer) }

// Sign returns a statement about a generation, "" without a key.
func (s *Signing) Sign(before string, number int, sum manifest.ObjectID, now time.Time) (string, error) {
	signer := s.inForce.Load()
	if signer == nil {
		return "", nil
	}
	return signer.Sign(before, number, sum, now)
}

// Trust returns the versions of the trust text, the first one first.
func (s *Signing) Trust() (texts [][]byte) {
	if signer := s.inForce.Load(); signer != nil {
		for _, text := range signer.Chain() {
			texts = append(texts, text.Bytes())
		}
	}
	return texts
}
