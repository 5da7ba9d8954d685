package publisher

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/texts"
)

// maxNumbers bounds the search for a free number.
const maxNumbers = 100

// writeGeneration writes a generation and lets current.json name it. Its number and its
// epoch are above those that this host knows, also where the bucket lost them.
func (l *line) writeGeneration(ctx context.Context, at texts.State, n next, beginsEpoch bool) (g bucket.Generation, written texts.ID, err error) {
	if at.Present.Publisher == l.identity.Name() && !l.identity.Wrote(at.SHA256) {
		l.forgetName()
	}
	past := l.past.Load()
	began := l.beganOf(at)
	g = bucket.Generation{
		Previous: at.Generation, Fence: l.fenceFor(at), Began: began, Epoch: max(at.NextEpoch(), past.epochIn(began)), Count: bucket.CountBucket, Publisher: l.identity.Name(),
		PublishedAt: time.Now().UTC().Truncate(time.Second), Version: l.cfg.Version, Ring: l.ring, LastRing: l.ring != "" && l == l.main, Manifests: n.manifests, Destruction: n.destruction,
	}
	if beginsEpoch { // the same one for all rings
		g.Epoch = max(cmp.Or(l.epoch, g.Epoch+1), at.NextEpoch()+1)
	}
	if g.Epoch > bucket.MaxEpoch {
		return g, written, fmt.Errorf("%s has epoch %d, and there is none after it: delete it to begin again, and run `syncd sync --force` on the followers", l.current, at.NextEpoch())
	}
	least := at.Generation
	if past.Generation < least+texts.MaxGap {
		least = max(least, past.Generation)
	}
	first, err := l.store.FreeNumber(ctx, max(least, l.newest)+1)
	if err != nil {
		return g, written, err
	}
	for g.Number = first; g.Number < first+maxNumbers; g.Number++ {
		err := l.writeNew(ctx, bucket.GenerationName(g.Number), g.Text())
		if errors.Is(err, objectstore.ErrChanged) { // another publisher's, or one that was never finished
			continue
		}
		if err != nil {
			return g, written, err
		}
		written = texts.ID{Number: g.Number, Sum: sha256.Sum256(g.Text())}
		if err := l.store.See(ctx, bucket.GenerationName(g.Number), int64(len(g.Text())), written.Sum); err != nil {
			return g, written, err
		}
		if l.newest = g.Number; beginsEpoch {
			l.epoch = g.Epoch
		}
		if err := l.identity.Remember(written.Sum); err != nil {
			l.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("keeping what this host published failed; after the next start it counts as another publisher's")
		}
		return g, written, l.writeCurrent(ctx, at, written, g)
	}
	return g, written, fmt.Errorf("%d generations after %d are in the bucket and in no list of it: try again later", maxNumbers, first)
}

// forgetName takes another name, because another host of the same image or backup has this
// one.
func (l *line) forgetName() {
	shared := l.identity.Name()
	if err := l.identity.Renew(); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("keeping the publisher's name failed; after the next start it has another one")
	}
	l.cfg.Log.Warn().Str("publisher", l.identity.Name()).Msgf("another host publishes to this bucket as %s: this one has a new name", shared)
}

// writeNew writes a text that is not there yet. objectstore.ErrChanged says that another one is.
func (p *Publisher) writeNew(ctx context.Context, name string, text []byte) error {
	_, err := p.store.Put(ctx, name, text, when(p.probed, objectstore.Condition{Absent: true}))
	return p.store.Settle(ctx, name, text, err)
}

// writeCurrent lets current.json name a generation, in the place of the one that was read.
func (l *line) writeCurrent(ctx context.Context, at texts.State, to texts.ID, of bucket.Generation) error {
	c := objectstore.Condition{ETag: at.ETag}
	if at.ETag == "" {
		c = objectstore.Condition{Absent: true}
	}
	current := bucket.Current{
		Generation: to.Number, SHA256: to.Sum, Fence: l.fenceFor(at), Epoch: of.Epoch, Began: of.Began, Count: bucket.CountBucket, Publisher: l.identity.Name(), PublishedAt: time.Now().UTC(),
	}
	if err := l.sign(ctx, at, &current); err != nil {
		return err
	}
	_, err := l.store.Put(ctx, l.current, current.Text(), when(l.probed, c))
	if err = l.store.Settle(ctx, l.current, current.Text(), err); err == nil {
		l.statement = texts.ReadState(current, "").Statement
	}
	return err
}

// when is a condition, if the server knows conditions; nil if that was not tried.
func when(isKnown *bool, c objectstore.Condition) objectstore.Condition {
	if isKnown != nil && !*isKnown {
		return objectstore.Anything
	}
	return c
}
