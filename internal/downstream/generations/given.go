package generations

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/downstream/relay"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Relay has the signed texts of an upstream. Safe for concurrent use.
type Relay interface {
	// Texts returns those that are believed, the newest first. It is false on a host that passes
	// nothing on, because it signs by itself or believes without signatures.
	Texts() (all []relay.Text, passesOn bool)
	// Record opens the text of a record.
	Record(sum manifest.ObjectID) (*os.File, error)
}

// ErrNone says that there is no generation to pass on yet.
var ErrNone = errors.New("the upstream gave no signed generation that followers of this host may see")

// passOnLocked puts a generation of the upstream in the place of a ring's newest one: the newest
// that this host holds whole. When that one's statement has expired, the newest goes on all the
// same, and followers miss what this host lacks. A ring never gets a generation with a release
// that it does not see.
func (g *Generations) passOnLocked(r *ring, texts []relay.Text, snapshot *catalog.Snapshot, now time.Time) error {
	var chosen, first *Edition
	var current, firstCurrent []byte
	for _, t := range texts {
		e, isWhole, isVisible := g.givenLocked(t, r.name, snapshot)
		if !isVisible {
			continue
		}
		if first == nil {
			first, firstCurrent = e, t.CurrentText
		}
		wasTold := r.told == e.Sum // nothing goes back to an older one
		if isWhole || wasTold {
			if !hasExpired(t.Current.Statement, now) {
				chosen, current = e, t.CurrentText
			}
			break
		}
	}
	if chosen == nil {
		chosen, current = first, firstCurrent
	}
	if chosen == nil {
		r.newest, r.given = nil, nil // what the ring had is hidden from it now
		return ErrNone
	}
	if r.newest != nil && r.newest.Sum != chosen.Sum {
		r.retire()
	}
	r.newest, r.given = chosen, current
	g.noteToldLocked(r)
	return nil
}

// noteToldLocked keeps which generation of the upstream a ring was told, so that nothing goes back
// after a restart: followers would refuse that as the work of somebody between.
func (g *Generations) noteToldLocked(r *ring) {
	if r.told == r.newest.Sum {
		return
	}
	r.told = r.newest.Sum
	err := g.cfg.Store.SetGeneration(toldKey+r.name, saved{Told: r.told})
	g.warn("saving which generation followers were told failed; after a restart they may be told an earlier one", r.name, err)
}

// hasExpired is true for a statement that a follower would refuse, by a clock that is right.
func hasExpired(statement string, now time.Time) bool {
	s, err := trust.ParseStatement([]byte(statement))
	return err != nil || now.After(s.Expires)
}

// givenLocked is a generation of the upstream as this host can pass it on to a ring. It is
// whole if this host has all that it wants of it, and visible if the ring sees that.
func (g *Generations) givenLocked(t relay.Text, name string, snapshot *catalog.Snapshot) (e *Edition, isWhole, isVisible bool) {
	e = &Edition{Generation: t.Generation, Sum: sha256.Sum256(t.Text), Text: t.Text, records: map[string]*Record{}, revisions: map[string]bool{}}
	sees := g.seesOf(name)
	isWhole = true
	for _, m := range t.Generation.Manifests {
		revisions := snapshot.Revisions(m.Name)
		if len(revisions) == 0 {
			continue // this host does not mirror it
		}
		own := revisions[0]
		at := slices.IndexFunc(revisions, func(r *catalog.Revision) bool { return g.holdsLocked(r, m) })
		if at >= 0 {
			own = revisions[at]
		}
		if sees != nil && !sees(g.asSeen(m, own, at >= 0)) {
			return nil, false, false
		}
		isWhole = isWhole && at >= 0
		for _, r := range revisions {
			e.revisions[r.Key()] = sees == nil || sees(r)
		}
		if size, err := g.sizeOf(m); err == nil {
			e.records[m.Record()] = &Record{Revision: own, Sum: m.RecordSHA256, Size: size, entry: m, packs: g.givenPacksLocked(own, m), isGiven: true}
		}
	}
	return e, isWhole, true
}

// asSeen is what a ring is asked about for an entry of the upstream. A release that this host
// does not have counts as one that goes live now: a ring with a delay does not see it yet.
func (g *Generations) asSeen(m bucket.Manifest, own *catalog.Revision, isHeld bool) *catalog.Revision {
	if isHeld {
		return own
	}
	return &catalog.Revision{Manifest: own.Manifest, Release: m.Release, ID: string(m.Release) + "-" + m.Revision, LiveAt: g.cfg.Now()}
}

// sizeOf is the size of the kept text of a record.
func (g *Generations) sizeOf(m bucket.Manifest) (int64, error) {
	text, err := g.cfg.Relay.Record(m.RecordSHA256)
	if err != nil {
		return 0, err
	}
	defer text.Close()
	info, err := text.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// held is a revision of this host, and the record of the upstream that it may be made of.
type held struct {
	revision *catalog.Revision
	record   manifest.ObjectID
}

// holdsLocked is true if a revision of this host is what it wants of a manifest of the upstream:
// the same, or a part of it by filters.
func (g *Generations) holdsLocked(r *catalog.Revision, m bucket.Manifest) bool {
	if r.Release != m.Release {
		return false
	}
	key := held{r, m.RecordSHA256}
	known, found := g.held[key]
	if !found {
		known = r.Content() == m.Revision || g.isPart(r, m)
		g.held[key] = known
	}
	return known
}

// isPart is true if all files of a revision are in a record of the upstream.
func (g *Generations) isPart(r *catalog.Revision, m bucket.Manifest) bool {
	text, err := g.cfg.Relay.Record(m.RecordSHA256)
	if err != nil {
		return false
	}
	defer text.Close()
	read, err := bucket.ReadRecord(m, text)
	if err != nil {
		return false
	}
	named := map[manifest.Reference]manifest.ObjectID{}
	for _, f := range read.Files {
		named[f.Reference] = f.Object
	}
	for f := range r.Files() {
		if named[f.Reference()] != f.Object() {
			return false
		}
	}
	return true
}

// givenWriter writes the kept text of a record.
func (g *Generations) givenWriter(r *Record) (func(io.Writer) error, error) {
	if _, err := g.sizeOf(r.entry); err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		text, err := g.cfg.Relay.Record(r.Sum)
		if err != nil {
			return err
		}
		defer text.Close()
		_, err = io.Copy(w, io.LimitReader(text, r.Size))
		return err
	}, nil
}

// readGiven reads the kept text of a record.
func (g *Generations) readGiven(r *Record) (record.Record, error) {
	text, err := g.cfg.Relay.Record(r.Sum)
	if err != nil {
		return record.Record{}, err
	}
	defer text.Close()
	return bucket.ReadRecord(r.entry, text)
}

// given returns what can be passed on.
func (g *Generations) given() (texts []relay.Text, passesOn bool) {
	if g.cfg.Relay == nil {
		return nil, false
	}
	return g.cfg.Relay.Texts()
}
