package publisher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/election"
	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// Ring is a ring of followers, and what it sees.
type Ring struct {
	Name   string
	Mirror Mirror
}

// publishRings publishes what each ring sees. A ring that fails holds up no other one. The outcome
// is that of the last ring, with the objects of all.
func (p *Publisher) publishRings(ctx context.Context, req Request) (done report.Upload, failed error) {
	var earlier report.Upload
	for _, l := range p.lines {
		of, err := l.publish(ctx, req)
		if errors.Is(err, election.ErrLost) {
			return of, err
		}
		if err != nil && len(p.lines) > 1 {
			err = fmt.Errorf("ring %s: %w", l.ring, err)
		}
		failed = errors.Join(failed, err)
		if done = of; l == p.main {
			break
		}
		earlier.Objects, earlier.Bytes = earlier.Objects+of.Objects, earlier.Bytes+of.Bytes
		earlier.Epoch, earlier.Began = max(earlier.Epoch, of.Epoch), max(earlier.Began, of.Began)
		if of.Result == report.Uploaded {
			earlier.Result, earlier.Replaced = of.Result, of.Replaced
		}
		if of.Generation > 0 {
			earlier.Generation, earlier.Publisher, earlier.PublishedAt, earlier.Served, earlier.Signed = of.Generation, of.Publisher, of.PublishedAt, of.Served, of.Signed
		}
	}
	if done.Generation == 0 { // the last ring sees nothing yet
		done.Generation, done.Publisher, done.PublishedAt, done.Served, done.Signed = earlier.Generation, earlier.Publisher, earlier.PublishedAt, earlier.Served, earlier.Signed
	}
	done.Objects, done.Bytes = done.Objects+earlier.Objects, done.Bytes+earlier.Bytes
	done.Epoch, done.Began = max(done.Epoch, earlier.Epoch), max(done.Began, earlier.Began)
	if done.Result == report.UploadUnchanged && earlier.Result == report.Uploaded {
		done.Result, done.Replaced = earlier.Result, earlier.Replaced
	}
	if failed != nil || req.DryRun {
		return done, failed
	}
	return done, p.copyMain(ctx, req.Check)
}

// isElsewhere is true for a revision that another ring keeps in the bucket: it need not be uploaded
// again when this ring begins.
func (l *line) isElsewhere(r mirror.Record) bool {
	return slices.ContainsFunc(l.lines, func(other *line) bool {
		m, found := other.present.Manifest(r.Manifest)
		return other != l && found && m.Record() == bucket.EntryOf(r).Record()
	})
}

// copied is the current.json that was copied last.
type copied struct {
	of        texts.ID
	statement string
	at        time.Time
}

// copyMain gives current.json also to followers that name the last ring, or a ring that is not
// configured any more.
func (p *Publisher) copyMain(ctx context.Context, isAsked bool) error {
	now := copied{p.main.stands, p.main.statement, time.Now()}
	if before := p.copied; !isAsked && before.of == now.of && before.statement == now.statement && now.at.Sub(before.at) < p.cfg.Recheck {
		return nil
	}
	rings, err := p.ringsInBucket(ctx)
	if err != nil || len(rings) == 0 {
		p.copied = now
		return err
	}
	text, _, err := p.store.ReadText(ctx, bucket.CurrentName)
	if errors.Is(err, objectstore.ErrNotThere) {
		return nil // the last ring sees nothing yet
	}
	for _, ring := range rings {
		if err == nil && !slices.ContainsFunc(p.lines, func(l *line) bool { return l != p.main && l.ring == ring }) {
			err = p.copyTo(ctx, bucket.RingCurrentName(ring), text)
		}
	}
	if err == nil {
		p.copied = now
	}
	return err
}

// copyTo writes a copy of current.json in the place of an earlier one.
func (p *Publisher) copyTo(ctx context.Context, name string, text []byte) error {
	there, found, err := p.store.ReadText(ctx, name)
	c := objectstore.Condition{ETag: found.ETag}
	if errors.Is(err, objectstore.ErrNotThere) {
		c, err = objectstore.Condition{Absent: true}, nil
	}
	if err != nil || bytes.Equal(there, text) {
		return err
	}
	_, err = p.store.Put(ctx, name, text, when(p.probed, c))
	if errors.Is(err, objectstore.ErrChanged) { // another publisher has copied it
		return nil
	}
	return err
}

// maxRings bounds the rings of a bucket. A configuration has fewer.
const maxRings = 64

// ringsInBucket are the configured rings, and those that the bucket has.
func (p *Publisher) ringsInBucket(ctx context.Context) (rings []string, err error) {
	for _, l := range p.lines {
		if l.ring != "" {
			rings = append(rings, l.ring)
		}
	}
	isMore := false
	err = p.store.ListAfter(ctx, bucket.Rings, "", func(o objectstore.Listed) bool {
		ring, ok := bucket.ParseRingCurrentName(o.Name)
		if ok && !slices.Contains(rings, ring) {
			isMore = len(rings) >= maxRings
			rings = append(rings, ring)
		}
		return !isMore
	})
	if isMore && err == nil {
		err = fmt.Errorf("the bucket has over %d rings: delete what no publisher wrote below %s", maxRings, bucket.Rings)
	}
	return rings, err
}
