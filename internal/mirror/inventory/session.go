package inventory

import (
	"context"
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// Session is the inventory during one sync. It remembers the objects that this sync
// has read, proven and added. Safe for concurrent use, except Release.
type Session struct {
	inventory *Inventory

	loadProofs sync.Once
	saved      map[string]*store.Proofs // of earlier syncs, by manifest; written by loadProofs only

	readingBack sync.Mutex // held while objects are read back, so that none is read twice

	buildIndex sync.Once
	mu         sync.Mutex // guards what follows; never held while a file is read
	objects    index      // filled by buildIndex
	proven     map[manifest.ObjectID]store.Proof
	damaged    map[manifest.ObjectID]bool // objects whose content does not match their name
	replaced   []manifest.ObjectID        // objects that were damaged and are whole now

	intake intake
}

// NewSession returns a Session for one sync.
func (v *Inventory) NewSession() *Session {
	return &Session{
		inventory: v,
		objects:   index{}, proven: map[manifest.ObjectID]store.Proof{}, damaged: map[manifest.ObjectID]bool{},
	}
}

// Release frees the saved proofs when the sync needs no more of them.
func (s *Session) Release() { s.saved = nil }

// Has is true when an object that should have the expected content is on disk. It
// reads no content; Plan proves what it reuses.
func (s *Session) Has(ctx context.Context, expected manifest.Digest) bool {
	_, found := s.find(ctx, expected)
	return found
}

// Query asks which contents of a manifest are on disk.
type Query struct {
	Manifest string // for the log and the count of damage
	Files    []manifest.File
	Served   mirror.Record                    // the zero value when nothing is served
	Proven   *manifest.Table[manifest.Object] // by an earlier plan of this sync
	GoesBack bool                             // to a release that may have lain on the disk for long

	served map[manifest.ObjectID]bool // with GoesBack
}

// mustRead is true for a content that goes live again, and that nobody has read since.
// A content that is served already does not become worse by going live.
func (q Query) mustRead(id manifest.ObjectID) bool { return q.GoesBack && !q.served[id] }

// Plan splits the files into those whose content is on disk and proven, and those
// that are missing. It reads back the objects whose files do not match their proofs;
// damaged ones are missing. The error is the context's.
func (s *Session) Plan(ctx context.Context, q Query) (manifest.Plan, error) {
	if q.GoesBack {
		q.served = make(map[manifest.ObjectID]bool, len(q.Served.Files))
		for _, f := range q.Served.Files {
			q.served[f.Object] = true
		}
	}
	plan, unproven := s.plan(ctx, q)
	if len(unproven) == 0 {
		return plan, nil
	}
	if err := s.readBack(ctx, q, unproven); err != nil {
		return manifest.Plan{}, err
	}
	plan, _ = s.plan(ctx, q) // the damaged objects are known now
	return plan, nil
}

// plan also returns the objects that must be read back before they are reused.
func (s *Session) plan(ctx context.Context, q Query) (plan manifest.Plan, unproven []manifest.Object) {
	mayHave := s.inventory.cfg.Mirror.Objects.MayHave() // spares a first sync a look for each file
	plan = manifest.NewPlan(q.Files, func(f manifest.File) (manifest.Object, bool) {
		if object, known := q.Proven.Get(f.Expected); known {
			return object, true
		}
		if id, named := f.Expected.ObjectID(); named && !mayHave(id) {
			return manifest.Object{}, false
		}
		object, found := s.find(ctx, f.Expected)
		if !found {
			object, found = s.rehash(ctx, q.Served, f)
		}
		if !found {
			return manifest.Object{}, false
		}
		standing := s.standing(object.ID, q.mustRead(object.ID))
		if standing == isUnproven {
			unproven = append(unproven, object)
		}
		return object, standing != isDamaged
	})
	return plan, unproven
}

// find returns the object that should have the expected content.
func (s *Session) find(ctx context.Context, expected manifest.Digest) (manifest.Object, bool) {
	if id, ok := expected.ObjectID(); ok {
		return s.inventory.cfg.Mirror.Objects.Find(id)
	}
	s.buildIndex.Do(func() { s.indexObjects(ctx) })
	s.mu.Lock()
	id, known := s.objects[expected]
	s.mu.Unlock()
	if !known {
		return manifest.Object{}, false
	}
	return s.inventory.cfg.Mirror.Objects.Find(id)
}

func (s *Session) indexObjects(ctx context.Context) {
	objects, err := s.inventory.index(ctx, s.inventory.cfg.Algorithm)
	if err != nil {
		s.inventory.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("not all objects on disk are known; some may be downloaded again")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = objects
}

// rehash reads the object that is served at the file's path when the record has
// its digest in another algorithm: reading the disk is cheaper than a download. A
// SHA-256 needs no reading, because it names its object.
func (s *Session) rehash(ctx context.Context, served mirror.Record, f manifest.File) (manifest.Object, bool) {
	file, found := served.File(f.Path)
	if _, named := f.Expected.ObjectID(); named || !found || file.Expected.Algorithm == f.Expected.Algorithm {
		return manifest.Object{}, false
	}
	m := s.inventory.cfg.Mirror
	info, found := m.Objects.Info(file.Object) // before reading, so that a change meanwhile shows
	if !found {
		return manifest.Object{}, false
	}
	object, err := m.Objects.Check(ctx, file.Object, f.Expected)
	if err != nil || object.ID != file.Object {
		return manifest.Object{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven[object.ID] = store.ProofOf(info)
	s.objects[f.Expected] = object.ID
	return object, true
}
