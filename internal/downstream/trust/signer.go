package trust

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"

	"syncd/internal/manifest"
)

// MinValid is the shortest time for which a publisher may sign.
const MinValid = time.Minute

// Signer signs the generations of a publisher with one key. Safe for concurrent use.
type Signer struct {
	key     *PrivateKey
	inForce atomic.Pointer[Chain]
	valid   time.Duration
}

// NewSigner returns a signer. The newest version of the chain must name the key, because
// followers do not count others.
func NewSigner(key *PrivateKey, chain Chain, valid time.Duration) (*Signer, error) {
	s := &Signer{key: key, valid: valid}
	if err := s.Follow(chain); err != nil {
		return nil, fmt.Errorf("%w: add it with `syncd trust add`", err)
	}
	if first := chain.Root().Version; first != 1 {
		return nil, fmt.Errorf("the trust file of a publisher must begin with version 1, which followers may have, and not with %d", first)
	}
	if valid < MinValid {
		return nil, fmt.Errorf("statements would be valid for %s, at least %s is needed", valid, MinValid)
	}
	return s, nil
}

// Follow makes the signer count the keys of a chain that the one in force leads to: another
// publisher's operator has made a newer version, and followers count by that.
func (s *Signer) Follow(chain Chain) error {
	newest := chain.Newest()
	if _, found := newest.Key(s.key.public.text); !found {
		return fmt.Errorf("key %s is not in the trust text of %s (version %d)", s.key.public.Name(), newest.Origin, newest.Version)
	}
	s.inForce.Store(&chain)
	return nil
}

// Chain is the versions of the trust text, which followers need.
func (s *Signer) Chain() Chain { return *s.inForce.Load() }

// Valid is how long a statement holds.
func (s *Signer) Valid() time.Duration { return s.valid }

// Key is the public half of the key.
func (s *Signer) Key() Key { return s.key.public }

// Missing is how many more keys must sign a statement before followers believe it.
func (s *Signer) Missing(statement string) int {
	newest := s.Chain().Newest()
	return max(0, newest.Threshold-len(newest.SignersOf([]byte(statement))))
}

// SignersOf returns the keys that signed a statement about a generation; none for a
// statement about another one.
func (s *Signer) SignersOf(statement string, number int, sum manifest.ObjectID) []Key {
	known, err := ParseStatement([]byte(statement))
	if err != nil || known.Origin != s.Chain().Newest().Origin || known.Generation != number || known.SHA256 != sum {
		return nil
	}
	return s.Chain().Newest().SignersOf([]byte(statement))
}

// IsBelieved is true for a statement about a generation that followers believe at now.
func (s *Signer) IsBelieved(statement string, number int, sum manifest.ObjectID, now time.Time) bool {
	known, _, err := s.Chain().Newest().Believe([]byte(statement))
	return err == nil && known.Generation == number && known.SHA256 == sum && now.Before(known.Expires)
}

// Sign returns a statement about a generation. It keeps before while that is about the same
// generation and not due for renewal, and adds the signature of this key where it is
// missing. Otherwise it makes a new statement. before may be "".
func (s *Signer) Sign(before string, number int, sum manifest.ObjectID, now time.Time) (string, error) {
	newest := s.Chain().Newest()
	if !now.Before(newest.Expires) {
		return "", fmt.Errorf("the trust text of %s (version %d) has expired at %s: make the next version with `syncd trust add --expires`",
			newest.Origin, newest.Version, newest.Expires.Format(time.RFC3339))
	}
	signers := newest.SignersOf([]byte(before))
	if len(signers) > 0 && s.keeps(before, number, sum, now) {
		isSigner := slices.ContainsFunc(signers, func(k Key) bool { return k.text == s.key.public.text })
		if isSigner || len(signers) >= newest.Threshold {
			return before, nil
		}
		return s.join(before, signers)
	}
	now = now.UTC().Truncate(time.Second)
	text, err := Statement{newest.Origin, number, sum, now, now.Add(s.valid)}.Sign(s.key)
	return string(text), err
}

// keeps is true for a statement about a generation in which a quarter of its time has not
// passed. One that lasts longer than this host's own would is not signed.
func (s *Signer) keeps(before string, number int, sum manifest.ObjectID, now time.Time) bool {
	known, err := ParseStatement([]byte(before))
	return err == nil && known.Origin == s.Chain().Newest().Origin && known.Generation == number && known.SHA256 == sum &&
		!known.Issued.After(now.Add(Skew)) && !known.Expires.After(now.Add(s.valid+Skew)) &&
		now.Before(known.RenewAt())
}

// RenewAt is when a statement is due for renewal: after a quarter of its time.
func (s Statement) RenewAt() time.Time { return s.Issued.Add(s.Expires.Sub(s.Issued) / 4) }

// join adds this key's signature to those of other keys that are right.
func (s *Signer) join(before string, signers []Key) (string, error) {
	var right []note.Signature
	for _, k := range signers {
		all := signaturesOf([]byte(before))
		i := slices.IndexFunc(all, func(sig note.Signature) bool { return sig.Name == k.Name() && sig.Hash == k.verifier.KeyHash() })
		right = append(right, all[i])
	}
	text, err := note.Sign(&note.Note{Text: bodyOf([]byte(before)), UnverifiedSigs: right}, s.key.signer)
	return string(text), err
}
