package believer

import (
	"context"
	"crypto/sha256"
	"fmt"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest/refusal"
)

// checkForkLocked refuses another text of the newest version than the one that is known here. One
// that says the same is no other: keys can sign later, and anyone between can add a line that
// nobody can check, or leave out a signature too many. Such a text takes the place of the one
// that is known, so that it is asked for once.
func (b *Believer) checkForkLocked(ctx context.Context, named bucket.TrustText, fetch Fetch) error {
	newest := b.chain.Newest()
	data, err := fetch(ctx, named.Version)
	if err != nil {
		return fmt.Errorf("%s: %w", bucket.TrustName(named.Version), err)
	}
	chain, isSame := exchanged(b.chain, data)
	if !isSame || sha256.Sum256(data) != named.SHA256 {
		return refusal.New(refusal.BadTrust, "the upstream names another version %d of the trust text of %s than the one that is known here", newest.Version, newest.Origin)
	}
	b.chain = chain
	return b.keepLocked(b.belief)
}

// exchanged is the chain with another text of its newest version, if that says the same and has
// signatures enough. The first version stays, which is trusted by its fingerprint.
func exchanged(chain trust.Chain, data []byte) (trust.Chain, bool) {
	text, err := trust.ParseText(data)
	if err != nil || !text.Says(chain.Newest()) {
		return nil, false
	}
	if len(chain) == 1 {
		return chain, true
	}
	other, err := chain[:len(chain)-1].Add(text)
	return other, err == nil && len(other.Bytes()) <= trust.MaxChain
}
