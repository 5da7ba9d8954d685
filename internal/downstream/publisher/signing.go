package publisher

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/report"
)

// distrust leaves of a generation that no trusted key signed only what this host wrote
// itself: anybody who can write the bucket may have written the rest. The numbers beside a
// generation are not signed either: those inside it count.
func (l *line) distrust(at *texts.State) {
	s := l.cfg.Signer
	if s == nil {
		return
	}
	at.Epoch, at.Began = at.Present.Epoch, at.Present.Began
	isMisplaced := at.Present.Count == bucket.CountHost || !at.Present.IsFor(l.ring) // somebody put it there
	if !isMisplaced && len(s.SignersOf(at.Statement, at.Generation, at.SHA256)) > 0 {
		return
	}
	if at.Present.Number == 0 || !l.identity.Wrote(at.SHA256) {
		at.Present, at.Epoch, at.Began, at.IsCut = bucket.Generation{}, 0, 0, true
		if past := l.past.Load().Generation; at.Generation > past+texts.MaxGap {
			at.Generation = past // such a number would end the counting
		}
		return
	}
	g, whole := &at.Present, at.Present
	g.Manifests = slices.DeleteFunc(slices.Clone(g.Manifests), func(m bucket.Manifest) bool { return m.Publisher != "" })
	g.Destruction = maps.Clone(g.Destruction)
	maps.DeleteFunc(g.Destruction, func(_ string, o destruction.Order) bool { return o.Publisher != "" })
	at.IsCut = len(g.Manifests) < len(whole.Manifests) || len(g.Destruction) < len(whole.Destruction)
}

// waits is true when a generation would rest on the word of fewer keys than followers ask
// for. This host signs only what it has itself, or what enough keys have signed.
func (l *line) waits(at texts.State, n next) bool {
	if !l.isWeak(at) {
		return false
	}
	past := l.past.Load()
	return n.borrowed || past.Generation > 0 && at.Generation > past.Generation+texts.MaxGap || at.NextEpoch() > past.epochIn(at.BeganAt())+texts.MaxGap ||
		at.BeganAt() > time.Now().Add(trust.Skew).Unix()
}

// isWeak is true for another publisher's generation that too few keys have signed.
func (l *line) isWeak(at texts.State) bool {
	return l.cfg.Signer != nil && at.Generation > 0 && !l.identity.Wrote(at.SHA256) && l.cfg.Signer.Missing(at.Statement) > 0
}

// checkRecords looks into the records of another publisher that this host is about to sign:
// a revision names its files by 48 bits alone.
func (l *line) checkRecords(ctx context.Context, at texts.State, n *next) error {
	if !l.isWeak(at) {
		return nil
	}
	for _, own := range n.own {
		i := slices.IndexFunc(n.manifests, func(m bucket.Manifest) bool { return m.Name == own.Manifest })
		mine, err := withRecord(n.manifests[i], own)
		if err != nil || mine.RecordSHA256 == n.manifests[i].RecordSHA256 {
			if err != nil {
				return err
			}
			continue
		}
		theirs, err := l.store.ReadRecord(ctx, n.manifests[i])
		switch {
		case errors.Is(err, texts.ErrUnusable) || err == nil && !sameFiles(theirs, own):
			n.manifests[i] = mine
		case err != nil:
			return err
		}
	}
	return nil
}

// sameFiles is true for records with the same contents at the same paths.
func sameFiles(theirs record.Record, own mirror.Record) bool {
	return slices.EqualFunc(theirs.Files, own.Files, func(a, b record.File) bool {
		return a.Path == b.Path && a.Object == b.Object && a.Size == b.Size
	})
}

// IsDue is true when the bucket is to be looked at although nothing here is new: the statement
// about what is there is to be renewed, or lacks signatures, or a ring sees something else by now.
func (p *Publisher) IsDue() bool { return slices.ContainsFunc(p.lines, (*line).isDue) }

func (l *line) isDue() bool {
	last, s := l.left.Load(), l.cfg.Signer
	switch {
	case last == nil:
		return false
	case s != nil && last.id.Number > 0 && (s.Missing(last.statement) > 0 || l.cfg.isDue(last.statement, last.id)):
		return true
	}
	return l.ring != "" && last.wish != l.cfg.wishOf(l.mirror.Current())
}

// left is a generation and the statement about it, as a publication left them in the bucket.
type left struct {
	id        texts.ID
	statement string
	wish      string // of the publication
}

// isDue is true when the statement about a generation is to be renewed, or lacks the
// signature of this host.
func (c *Config) isDue(statement string, of texts.ID) bool {
	s := c.Signer
	if s == nil || of.Number == 0 {
		return false
	}
	signed, err := s.Sign(statement, of.Number, of.Sum, time.Now())
	return err != nil || signed != statement
}

// sign puts a statement about a generation into current.json. A statement that lacks
// signatures waits beside the one that followers believe.
func (l *line) sign(ctx context.Context, at texts.State, current *bucket.Current) error {
	s := l.cfg.Signer
	if s == nil {
		return nil
	}
	now := time.Now()
	statement, err := s.Sign(at.Statement, current.Generation, current.SHA256, now)
	if err != nil {
		return err
	}
	trustText := l.trustText()
	if trustText != at.Shown.Trust {
		if err := l.writeTrust(ctx); err != nil {
			return err
		}
	}
	if s.Missing(statement) > 0 && s.IsBelieved(at.Shown.Statement, at.Shown.Generation, at.Shown.SHA256, now) {
		current.Next = bucket.Next{Generation: current.Generation, SHA256: current.SHA256, Statement: statement}
		current.Generation, current.SHA256, current.Epoch, current.Began, statement = at.Shown.Generation, at.Shown.SHA256, at.Shown.Epoch, at.Shown.Began, at.Shown.Statement
	}
	current.Statement, current.Trust = statement, trustText
	return nil
}

// followTrust lets this host count signatures by the version of the trust text that
// current.json names, as followers do. Another publisher may have named a newer one than
// this host's file has. It counts if this host's own leads to it: otherwise followers with
// this host's trust file would find no way.
func (p *Publisher) followTrust(ctx context.Context, named bucket.TrustText) error {
	s := p.cfg.Signer
	if s == nil {
		return nil
	}
	chain := slices.Clip(s.Chain())
	if chain.Newest().Version >= named.Version {
		return nil
	}
	for chain.Newest().Version < named.Version {
		text, _, err := p.store.ReadText(ctx, bucket.TrustName(chain.Newest().Version+1))
		if err != nil && !errors.Is(err, objectstore.ErrNotThere) {
			return err
		}
		if err == nil {
			chain, err = chain.AddText(text)
		}
		if err != nil {
			return nil //nolint:nilerr // its own chain does not lead there
		}
	}
	if sha256.Sum256(chain.Newest().Bytes()) != named.SHA256 {
		return nil
	}
	if err := s.Follow(chain); err != nil {
		return fmt.Errorf("%w, which another publisher has put into the bucket: copy its trust file to sign.trust_file, and name a key of that in sign.key_file", err)
	}
	return nil
}

// trustText is the version of the trust text that current.json is to name.
func (p *Publisher) trustText() bucket.TrustText {
	newest := p.cfg.Signer.Chain().Newest()
	return bucket.TrustText{Version: newest.Version, SHA256: sha256.Sum256(newest.Bytes())}
}

// writeTrust writes the versions of this host's trust text.
func (p *Publisher) writeTrust(ctx context.Context) error {
	for _, text := range p.cfg.Signer.Chain() {
		name := bucket.TrustName(text.Version)
		err := p.writeNew(ctx, name, text.Bytes())
		if errors.Is(err, objectstore.ErrChanged) {
			err = fmt.Errorf("%s in the bucket is another text than in sign.trust_file: compare both with `syncd trust show`, and delete the wrong one", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// signedBy says who signed a generation.
func (c *Config) signedBy(statement string, of texts.ID) *report.Signed {
	s := c.Signer
	if s == nil || of.Number == 0 {
		return nil
	}
	signed := &report.Signed{Origin: s.Chain().Newest().Origin, By: []string{}, Missing: s.Chain().Newest().Threshold, Trust: s.Chain().Newest().Version}
	known, err := trust.ParseStatement([]byte(statement))
	if err != nil || (texts.ID{Number: known.Generation, Sum: known.SHA256}) != of {
		return signed
	}
	for _, k := range s.SignersOf(statement, of.Number, of.Sum) {
		signed.By = append(signed.By, k.Name())
	}
	signed.Missing, signed.Expires = s.Missing(statement), known.Expires
	return signed
}
