package generations

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"weak"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Record is the record of a revision, whose text followers get. All rings share it.
type Record struct {
	Revision *catalog.Revision
	Sum      manifest.ObjectID // of the text
	Size     int64             // of the text

	entry  bucket.Manifest // of a generation, if no operator holds it
	packs  []pack
	source string
	listed int
	isBare bool

	isGiven bool  // by the upstream
	err     error // why no follower would take it; nil for none

	reading sync.Mutex
	shared  weak.Pointer[record.Record] // while somebody reads it
}

// newRecord takes the size and the sum of the text of a revision's record.
func newRecord(revision *catalog.Revision, read record.Record) *Record {
	made, err := bucket.TextOf(read)
	r := &Record{Revision: revision, Sum: made.Sum, Size: made.Size, entry: bucket.EntryOf(read), source: read.Source, listed: read.Listed, isBare: made.IsBare, err: err}
	r.packs = packsIn(revision, read.Files)
	r.entry.Held, r.entry.RecordSHA256, r.entry.Packs = false, made.Sum, len(r.packs)
	return r
}

// has is true for the text of the same record.
func (r *Record) has(read record.Record) bool {
	return r.entry.Described == read.Described && r.source == read.Source && r.listed == read.Listed
}

// Read returns a record as others get it. The caller must not change it, and keeps it alive
// while it reads its files, so that many readers share one. The error is fs.ErrNotExist if the
// revision was pruned, or if more is known of it since.
func (g *Generations) Read(r *Record) (*record.Record, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if known := r.shared.Value(); known != nil {
		return known, nil
	}
	read, err := g.readNow(r)
	if err != nil {
		return nil, err
	}
	r.shared = weak.Make(&read)
	return &read, nil
}

func (g *Generations) readNow(r *Record) (record.Record, error) {
	if r.isGiven {
		return g.readGiven(r)
	}
	g.mu.Lock()
	served := g.servedLocked(g.cfg.Catalog.Snapshot())
	g.mu.Unlock()
	read, err := g.readFrom(served, r.Revision)
	if err == nil && !r.has(read) {
		err = fmt.Errorf("%w: more is known of the revision since its generation", fs.ErrNotExist)
	}
	if read = bucket.RecordOf(read); r.isBare {
		read = bucket.WithoutMetadata(read)
	}
	return read, err
}

// Writer returns what writes the text of a record. It is read before.
func (g *Generations) Writer(r *Record) (write func(io.Writer) error, err error) {
	if r.isGiven {
		return g.givenWriter(r)
	}
	read, err := g.Read(r)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		defer runtime.KeepAlive(read)
		return bucket.WriteRecord(w, *read)
	}, nil
}

// readFrom returns the record of a revision as the mirror has it.
func (g *Generations) readFrom(served map[string]record.Record, r *catalog.Revision) (record.Record, error) {
	if now := served[r.Manifest]; now.ID() == r.ID {
		return now, nil
	}
	read, err := g.cfg.Records.Revision(r.Manifest, r.ID)
	if err == nil && read.ID() != r.ID {
		err = errors.New("it is of another revision")
	}
	return read, err
}

// servedLocked are the records of what the catalog says is served. Taking them can read the
// disk.
func (g *Generations) servedLocked(snapshot *catalog.Snapshot) map[string]record.Record {
	if g.served == nil || g.servedAt != snapshot {
		g.served, g.servedAt = g.cfg.Mirror.Current().Records, snapshot
	}
	return g.served
}

// recordLocked returns the record of a revision, and its entry in a generation.
func (g *Generations) recordLocked(snapshot *catalog.Snapshot, revision *catalog.Revision) (*Record, bucket.Manifest, error) {
	known := g.records[revision]
	if known != nil && !snapshot.IsServed(revision) {
		return known, known.entry, nil
	}
	read, err := g.readFrom(g.servedLocked(snapshot), revision)
	if err != nil {
		return nil, bucket.Manifest{}, err
	}
	if known == nil || !known.has(read) {
		known = newRecord(revision, read)
		g.records[revision] = known
	}
	entry := known.entry
	entry.Held = snapshot.IsServed(revision) && bucket.EntryOf(read).Held // nobody holds what is not served
	return known, entry, nil
}

// forgetLocked drops the records of revisions that are gone.
func (g *Generations) forgetLocked(snapshot *catalog.Snapshot) {
	for r := range g.records {
		if snapshot.Find(r.Key()) != r {
			delete(g.records, r)
		}
	}
	for h := range g.held {
		if snapshot.Find(h.revision.Key()) != h.revision {
			delete(g.held, h)
		}
	}
	for h := range g.packs {
		if snapshot.Find(h.revision.Key()) != h.revision {
			delete(g.packs, h)
		}
	}
}
