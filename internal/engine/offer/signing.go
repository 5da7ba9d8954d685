package offer

import (
	"sync/atomic"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/generations"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/report"
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

// Signed tells who signed the newest of all generations, nil without a key.
func (s *Signing) Signed(all func() (*generations.Generations, error)) *report.Signed {
	signer := s.inForce.Load()
	if signer == nil {
		return nil
	}
	newest := signer.Chain().Newest()
	signed := &report.Signed{Origin: newest.Origin, By: []string{}, Missing: newest.Threshold, Trust: newest.Version}
	editions, err := all()
	if err != nil {
		return signed
	}
	text, _, err := editions.Current("")
	if err != nil {
		return signed
	}
	current, err := bucket.ParseCurrent(text)
	if err != nil {
		return signed
	}
	statement, err := trust.ParseStatement([]byte(current.Statement))
	if err != nil {
		return signed
	}
	for _, k := range signer.SignersOf(current.Statement, current.Generation, current.SHA256) {
		signed.By = append(signed.By, k.Name())
	}
	signed.Missing, signed.Expires = signer.Missing(current.Statement), statement.Expires
	return signed
}
