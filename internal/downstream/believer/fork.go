package believer

import (
	"context"
	"crypto/sha256"
	"fmt"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest/refusal"
)

// namedLocked refuses another text of the newest version than the one that is known here. One
// that says the same is no other: keys can sign later, and anyone between can add a line that
// nobody can check, or leave out a signature too many. With a generation that is believed, such a
// text takes the place of the known one: it is asked for once, and passed on with what names it.
func (b *Believer) namedLocked(ctx context.Context, named bucket.TrustText, fetch Fetch) (trust.Chain, error) {
	newest := b.chain.Newest()
	data, err := fetch(ctx, named.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bucket.TrustName(named.Version), err)
	}
	chain, isSame := exchanged(b.chain, data)
	if !isSame || sha256.Sum256(data) != named.SHA256 {
		return nil, refusal.New(refusal.BadTrust, "the upstream names another version %d of the trust text of %s than the one that is known here", newest.Version, newest.Origin)
	}
	return chain, nil
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
