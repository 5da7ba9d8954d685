package publisher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/contents"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/downstream/publisher/identity"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// line publishes what one ring sees, in the turn of its publisher. It writes a current.json of its
// own; generations, contents, the lease and the name of the publisher are those of all rings.
type line struct {
	*Publisher
	ring     string // "" without rings
	current  string // the name of its current.json
	mirror   Mirror // what the ring sees
	identity *identity.Identity
	patched  patched

	// Of the publication that runs.
	wish      string            // the result: published, or found there
	confirmed time.Time         // when
	stands    texts.ID          // the generation that it found or left there
	statement string            // about that, "" without signatures
	last      report.Upload     // the outcome of that
	present   bucket.Generation // that its current.json named last
	seen      sighting

	left atomic.Pointer[left] // only the publication that runs changes it
}

// needsPublication is false if the bucket was seen not long ago to show what the ring sees, and
// still does.
func (l *line) needsPublication(ctx context.Context) bool {
	return !l.isConfirmed() || l.cfg.isDue(l.statement, l.stands) || l.isReplaced(ctx)
}

// publish makes the bucket show what the ring sees.
func (l *line) publish(ctx context.Context, req Request) (done report.Upload, err error) {
	for range maxRounds {
		done, err = l.round(ctx, req)
		if !errors.Is(err, objectstore.ErrChanged) {
			break
		}
	}
	return done, err
}

// lookPatience is how long a publisher without news waits for the bucket.
const lookPatience = 15 * time.Second

// isReplaced is true if current.json names another generation than the one that this
// publisher left. A server that does not answer is no reason to fail, because there is
// nothing to publish.
func (l *line) isReplaced(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	at, err := l.store.Standing(ctx, l.current)
	return errors.Is(err, objectstore.ErrNotThere) || err == nil && (at.ID() != l.stands || l.cfg.Signer != nil && at.Statement != l.statement)
}

// isConfirmed is true when the bucket was seen not long ago to show what is served.
func (l *line) isConfirmed() bool {
	return l.wish != "" && l.wish == l.cfg.wishOf(l.mirror.Current()) && time.Since(l.confirmed) < l.cfg.Recheck
}

// round publishes once. objectstore.ErrChanged says that another publisher was faster.
func (l *line) round(ctx context.Context, req Request) (report.Upload, error) {
	served := l.mirror.Current()
	at, err := l.store.ReadCurrent(ctx, l.current, &l.cfg.Log)
	if err != nil {
		return report.Upload{}, err
	}
	if err := l.checkFence(ctx, at); err != nil {
		return report.Upload{}, err
	}
	if err := l.followTrust(ctx, at.Shown.Trust); err != nil {
		return report.Upload{}, err
	}
	if req.mend != nil {
		req.mend.Rename(&at.Present)
	}
	l.distrust(&at)
	l.present = at.Present
	l.statement = at.Statement
	done := report.Upload{Result: report.UploadUnchanged, Generation: at.Generation, Epoch: at.NextEpoch(), Began: at.BeganAt(), Publisher: at.Present.Publisher, PublishedAt: at.Present.PublishedAt}
	next, err := l.compose(served, at, req.Force)
	if err != nil {
		return report.Upload{}, err
	}
	if !req.Force && l.isTaken(at, next) {
		done.Superseded = true
		return done, nil
	}
	done.Kept = next.kept
	if (at.Generation == 0 || at.IsCut) && len(next.manifests) == 0 {
		if !req.DryRun {
			l.left.Store(&left{wish: l.cfg.wishOf(served)})
		}
		return done, nil
	}
	done.Superseded = len(next.kept) > 0 && !l.identity.Wrote(at.SHA256)
	if !req.Force && l.waits(at, next) {
		return l.confirm(served, at.ID(), done), nil
	}
	if err := l.checkRecords(ctx, at, &next); err != nil {
		return done, err
	}
	if !req.Force && next.isShown(at) && !l.isPutBack(at) {
		isTrustDue := l.cfg.Signer != nil && l.trustText() != at.Shown.Trust
		if at.Generation != 0 && (at.Fence != l.fenceFor(at) || l.cfg.isDue(at.Statement, at.ID()) || isTrustDue) && !req.DryRun {
			err = l.writeCurrent(ctx, at, at.ID(), bucket.Generation{Epoch: at.NextEpoch(), Began: at.BeganAt()})
		}
		if err == nil && !req.DryRun {
			done = l.confirm(served, at.ID(), done)
		}
		return done, err
	}
	done.Result, done.Superseded, done.Replaced = report.Uploaded, false, next.replaces
	since, isSeen := time.Now(), false
	if !req.DryRun { // which has no turn
		since, isSeen = l.seen.since(at.ID(), l.cfg.Recheck)
	}
	if done.Objects, done.Bytes, err = l.bring(ctx, next, at, isSeen, req.DryRun); err != nil || req.DryRun {
		return done, err
	}
	g, written, err := l.writeGeneration(ctx, at, next, req.Force)
	if err != nil {
		return done, err
	}
	l.seen, l.present = sighting{written, since}, g
	if req.mend != nil {
		req.mend.Published(l.current)
	}
	done.Generation, done.Epoch, done.Began, done.Publisher, done.PublishedAt = g.Number, g.Epoch, g.Began, g.Publisher, g.PublishedAt
	done = l.confirm(served, written, done)
	l.cfg.Log.Info().Ctx(ctx).Int("generation", done.Generation).Int("objects", done.Objects).Int64("bytes", done.Bytes).Str("replaced", done.Replaced).Msg("published to the bucket")
	return done, nil
}

// bring brings into the bucket what the next generation needs of this host. It returns how many
// objects were not there, and their bytes.
func (l *line) bring(ctx context.Context, n next, at texts.State, isSeen, dryRun bool) (int, int64, error) {
	u := contents.New(l.contents())
	u.DryRun, u.IsSeen, u.IsWary, u.IsKept = dryRun, isSeen, destroysNow(at.Present), l.isElsewhere
	return u.Bring(ctx, n.own, n.manifests, at.Present)
}

// sighting is a generation of which this publisher looked for everything in the bucket, and
// had no error since.
type sighting struct {
	generation texts.ID
	at         time.Time // of the first look
}

// since returns when the contents of a generation were looked for. It is false, and returns
// the present time, if they have to be looked for again: the bucket may have lost some.
func (s sighting) since(generation texts.ID, recheck time.Duration) (time.Time, bool) {
	if s.generation == generation && time.Since(s.at) < recheck {
		return s.at, true
	}
	return time.Now(), false
}

// isTaken is true if the operator of another publisher took the place, which this one had.
// With an election, the lease decides. A publisher whose signature is asked for besides that
// of the other one gives it, if it would show the same: nobody else could end the wait.
func (l *line) isTaken(at texts.State, n next) bool {
	past := l.past.Load()
	isOther := l.election == nil && past.Wrote && at.NextEpoch() > past.epochIn(at.BeganAt()) && !l.identity.Wrote(at.SHA256)
	signsToo := l.cfg.Signer != nil && l.cfg.Signer.Chain().Newest().Threshold > 1
	return isOther && !(signsToo && n.isShown(at))
}

// isShown is true when the generation in the bucket is the next one already.
func (n next) isShown(at texts.State) bool {
	return !at.IsCut && bucket.SameManifests(n.manifests, at.Present.Manifests) && bucket.SameOrders(n.destruction, at.Present.Destruction)
}

// isPutBack is true if somebody put an earlier generation in the place of a later one, or one of
// the last ring in the place of another ring's. Followers that believe signatures may refuse its
// number, also if both show the same.
func (l *line) isPutBack(at texts.State) bool {
	isOther := l != l.main && at.Present.Ring != l.ring
	return l.cfg.Signer != nil && (isOther || l.identity.WroteLater(at.SHA256))
}

// confirm remembers what the bucket shows.
func (l *line) confirm(served mirror.Generation, id texts.ID, done report.Upload) report.Upload {
	if !done.Superseded {
		done.Served = served.Number
	}
	done.Signed = l.cfg.signedBy(l.statement, id)
	l.wish, l.confirmed, l.stands, l.last = l.cfg.wishOf(served), time.Now(), id, done
	l.left.Store(&left{id, l.statement, l.wish})
	l.last.Result, l.last.Objects, l.last.Bytes, l.last.Replaced = report.UploadUnchanged, 0, 0, ""
	past := l.past.Load().after(done)
	if l != l.main {
		past.Generation = l.past.Load().Generation
	}
	l.past.Store(past)
	return done
}

// checkFence refuses to write where another publisher has a newer lease, or has one and
// this host takes part in no election.
func (l *line) checkFence(ctx context.Context, at texts.State) error {
	if l.election != nil {
		if at.Fence > l.election.Fence() && l.election.MayUpload() == nil {
			if lease, err := texts.LookAt(ctx, l.store, bucket.LeaseName, bucket.ParseLease); err == nil && lease.Fence > l.election.Fence() {
				return election.ErrLost // another publisher's operator took it
			}
			return fmt.Errorf("%s has fence %d, the lease of this publisher %d: delete %s to begin a new election", l.current, at.Fence, l.election.Fence(), bucket.LeaseName)
		}
		return nil
	}
	if at.Fence == 0 {
		return nil
	}
	text, _, err := l.store.ReadText(ctx, bucket.LeaseName)
	if errors.Is(err, objectstore.ErrNotThere) {
		return nil
	}
	if err != nil {
		return err
	}
	if lease, err := bucket.ParseLease(text); err == nil && lease.Holder != "" {
		return fmt.Errorf("publisher %q of this bucket takes part in an election: set election here, too, or delete %s if this is the only publisher left", lease.Holder, bucket.LeaseName)
	}
	return nil
}
