package publisher

import (
	"context"
	"errors"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/manifest"
)

// A generation says which revisions a publisher destroyed. From then on, each publisher's
// collection deletes their objects and records, however old they are, but for what the
// present generation names. The record in the bucket says which objects these are, so it goes
// last: a collection that fails or is killed continues with it.

// justDestroyed is how long after a destruction a publisher takes nothing for granted that
// the present generation does not name: another one may be deleting it.
const justDestroyed = 24 * time.Hour

// destroysNow is true for a generation after a destruction that may not be over.
func destroysNow(present bucket.Generation) bool {
	for _, order := range present.Destruction {
		for _, g := range order.Gone {
			if time.Since(g.At) < justDestroyed {
				return true
			}
		}
	}
	return false
}

// owesDestruction is true if this host destroyed something, and no collection has ended well
// since. After a start, that is not known.
func (p *Publisher) owesDestruction() bool {
	for _, name := range p.cfg.Mirror.Current().Names() {
		for _, g := range p.cfg.orderOf(name).Gone {
			if g.At.UnixNano() > p.collectedAt.Load() && time.Since(g.At) < p.cfg.Grace+justDestroyed {
				return true
			}
		}
	}
	return false
}

// noteDestroyed notes what a destroyed revision of an earlier generation has in the bucket.
// A record that cannot be used is deleted alone.
func (c *collection) noteDestroyed(ctx context.Context, present bucket.Generation, m bucket.Manifest) error {
	if _, isKnown := c.destroyedRecords[m.Record()]; isKnown {
		return nil
	}
	var at time.Time
	for _, g := range present.Destruction[m.Name].Gone {
		if g.Is(m.Release, m.Revision) && g.At.After(at) {
			at = g.At
		}
	}
	c.destroyedRecords[m.Record()] = at
	record, err := c.store.ReadRecord(ctx, m)
	if errors.Is(err, texts.ErrUnusable) || errors.Is(err, objectstore.ErrNotThere) {
		return nil
	}
	for _, f := range record.Files {
		c.noteGone(f.Object, at)
	}
	for _, p := range bucket.PacksOf(record.Files) {
		c.noteGone(p.ID, at)
	}
	return errors.Join(err, c.check(present))
}

// noteGone notes an object or a pack of a destroyed revision.
func (c *collection) noteGone(id manifest.ObjectID, at time.Time) {
	if short := shortOf(id); at.After(c.destroyed[short]) {
		c.destroyed[short] = at
	}
}

// isDestroyed is true for an object, a pack, a patch or a record that was written before it was destroyed.
// One that a publisher wrote later is in use again.
func (c *collection) isDestroyed(name string, written time.Time) bool {
	record, isList := bucket.PatchListRecord(name)
	if !isList {
		record = name
	}
	at, found := c.destroyedRecords[record]
	if id, isContents := contentsIn(name); isContents {
		at, found = c.destroyed[shortOf(id)]
	}
	if before, after, isPatch := bucket.ParsePatchName(name); isPatch {
		at, found = c.destroyed[shortOf(after)]
		if gone, isGone := c.destroyed[shortOf(before)]; isGone && gone.After(at) {
			at, found = gone, true
		}
	}
	return found && c.server.MostAge(written) >= time.Since(at)
}

// errOtherGeneration says that a collection does not know what is in use now.
var errOtherGeneration = errors.New("another generation was published meanwhile")
