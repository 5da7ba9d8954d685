package verification

import (
	"bytes"
	"cmp"
	"context"
	"errors"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/trust"
)

// readTrust compares the versions of the trust text with this host's own. A follower with an
// earlier version finds no way without one of them.
func (v *Verification) readTrust(ctx context.Context) error {
	if v.Signer == nil {
		return nil
	}
	var newest *line // whose current.json names the newest version
	for _, l := range v.lines {
		if newest == nil || l.at.Shown.Trust.Version >= newest.at.Shown.Trust.Version {
			newest = l
		}
	}
	for _, text := range v.Signer.Chain() {
		name := bucket.TrustName(text.Version)
		if text.Version > newest.at.Shown.Trust.Version {
			return nil // followers are not told of it
		}
		there, _, err := v.Store.ReadText(ctx, name)
		isMissing := errors.Is(err, objectstore.ErrNotThere)
		if err != nil && !isMissing {
			return err
		}
		if !bytes.Equal(there, text.Bytes()) {
			v.find(&finding{name: name, trust: text.Bytes(), number: newest.at.Generation, isMissing: isMissing, err: cmp.Or(err, errors.New("it is another text than in sign.trust_file"))})
		}
	}
	return nil
}

// mendTrust writes a version of the trust text again. It does not replace that of another
// first version, which other publishers may have.
func (v *Verification) mendTrust(ctx context.Context, f *finding) error {
	there, _, err := v.Store.ReadText(ctx, f.name)
	if err != nil && !errors.Is(err, objectstore.ErrNotThere) {
		return err
	}
	if _, isDamaged := trust.ParseText(there); isDamaged == nil {
		return errOtherText
	}
	_, err = v.Store.Put(ctx, f.name, f.trust, objectstore.Anything)
	return err
}
