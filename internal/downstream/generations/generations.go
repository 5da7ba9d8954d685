package generations

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror/record"
)

// Store keeps the newest generation of each ring over restarts. What SetGeneration saves is
// durable when it returns nil.
type Store interface {
	Generations(each func(ring string, value json.RawMessage) error) error
	SetGeneration(ring string, value any) error
}

// Catalog knows what is live here. Safe for concurrent use.
type Catalog interface {
	Snapshot() *catalog.Snapshot
}

// Config is what New needs. The functions may be called at the same time.
type Config struct {
	Catalog Catalog
	Mirror  catalog.Mirror
	Records catalog.Records
	Store   Store
	// Sees returns what followers of a ring see. It may be nil: everything.
	Sees func(ring string) catalog.Sees
	// SeesWithout returns what followers see of a host without rings, nil for everything. It may
	// be nil: always everything.
	SeesWithout func() catalog.Sees
	// Decisions changes with each decision about what followers see, so that it acts at once. It
	// may be nil.
	Decisions func() int
	// Order returns what followers must destroy of a manifest. It may be nil.
	Order func(manifest string) destruction.Order

	// Relay has the texts that are passed on. It may be nil.
	Relay Relay

	Publisher string // the name of this host
	Version   string // of syncd

	// Sign returns a statement about a generation: before, if that may go on. Nil signs nothing.
	Sign func(before string, number int, sum manifest.ObjectID, now time.Time) (statement string, err error)
	// Trust returns the versions of the trust text, the first one first. It may be nil.
	Trust func() (texts [][]byte)

	Warn func(message string, err error)
	Now  func() time.Time // nil for the clock
}

// Generations are what rings see. Safe for concurrent use.
type Generations struct {
	cfg Config

	mu     sync.Mutex // guards what follows; held while a generation is composed and saved
	last   int        // the highest number of all
	rings  map[string]*ring
	warned map[string]bool

	held     map[held]bool   // see holdsLocked
	packs    map[held][]pack // see givenPacksLocked
	records  map[*catalog.Revision]*Record
	served   map[string]record.Record // of the snapshot servedAt
	servedAt *catalog.Snapshot
}

// Edition is a generation as a ring sees it. It does not change.
type Edition struct {
	bucket.Generation // its Number and its Ring among others
	Sum               manifest.ObjectID
	Text              []byte

	records   map[string]*Record // by name
	revisions map[string]bool    // whose contents can be had, by their keys
}

// ring is what is known of a ring.
type ring struct {
	name      string
	newest    *Edition
	before    []*Edition        // earlier ones, the newest last
	statement string            // about the newest
	given     []byte            // the upstream's current.json, if that one's generation is passed on
	told      manifest.ObjectID // the SHA-256 of the upstream's generation that was passed on last
	current   []byte            // the text of current.json; nil before the first question
	etag      string

	snapshot *catalog.Snapshot // that newest shows
	lookedAt time.Time         // whether it does
	lookCost time.Duration
	decided  int // the Decisions that it shows
}

const (
	// keptBefore is how many earlier generations a follower finds that is in the middle of one.
	keptBefore = 3
	// restAfterLook is how many times as long as a look at what is live took, the generation is
	// taken to be right while the catalog stays: many followers may poll.
	restAfterLook = 50
	// longestRest is the most of that: a stop and a reload must act soon, also after the first
	// look, which reads every record.
	longestRest = 5 * time.Second
)

// New returns the generations with what was saved before. An error says that this could not
// be read.
func New(cfg Config) (*Generations, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g := &Generations{cfg: cfg, rings: map[string]*ring{}, records: map[*catalog.Revision]*Record{}, held: map[held]bool{}, packs: map[held][]pack{}, warned: map[string]bool{}}
	return g, g.load()
}

// Of returns the newest generation of a ring, "" for everything that is live here.
func (g *Generations) Of(name string) (*Edition, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.lookLocked(name)
	if err != nil {
		return nil, err
	}
	return r.newest, nil
}

// Current returns the text of current.json and its ETag.
func (g *Generations) Current(name string) (text []byte, etag string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.lookLocked(name)
	if err != nil {
		return nil, "", err
	}
	if r.current == nil {
		g.writeCurrentLocked(r)
	}
	return r.current, r.etag, nil
}

// Text returns the text of a generation, while a follower of the ring may be in the middle of it.
func (g *Generations) Text(name string, number int) (*Edition, bool) {
	for _, e := range g.kept(name) {
		if e.Number == number {
			return e, true
		}
	}
	return nil, false
}

// Record finds the record with a name among those of the ring's generations.
func (g *Generations) Record(name, record string) (*Record, bool) {
	for _, e := range g.kept(name) {
		if r := e.records[record]; r != nil && g.cfg.Catalog.Snapshot().Find(r.Revision.Key()) != nil {
			return r, true
		}
	}
	return nil, false
}

// Object finds a file with a content among those of the ring's generations.
func (g *Generations) Object(name string, id manifest.ObjectID) (catalog.File, bool) {
	kept := g.kept(name)
	return g.cfg.Catalog.Snapshot().Object(id, func(r *catalog.Revision) bool {
		for _, e := range kept {
			if e.revisions[r.Key()] {
				return true
			}
		}
		return false
	})
}

// Trust returns a version of the trust text.
func (g *Generations) Trust(version int) (text []byte, found bool) {
	texts := g.trust()
	if version < 1 || version > len(texts) {
		return nil, false
	}
	return texts[version-1], true
}

func (g *Generations) trust() [][]byte {
	if g.cfg.Trust == nil {
		return nil
	}
	return g.cfg.Trust()
}

// kept are the generations of a ring that can be read, the newest first.
func (g *Generations) kept(name string) (kept []*Edition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.lookLocked(name)
	if err != nil {
		return nil
	}
	kept = append(kept, r.newest)
	for i := range r.before {
		kept = append(kept, r.before[len(r.before)-1-i])
	}
	return kept
}

// writeCurrentLocked makes the text of current.json.
func (g *Generations) writeCurrentLocked(r *ring) {
	r.current = r.given
	if r.given == nil {
		r.current = g.currentOf(r)
	}
	sum := sha256.Sum256(r.current)
	r.etag = fmt.Sprintf(`"%x"`, sum[:12])
}

// currentOf is what this host says of a ring's newest generation.
func (g *Generations) currentOf(r *ring) []byte {
	e := r.newest
	current := bucket.Current{Generation: e.Number, SHA256: e.Sum, Publisher: e.Publisher, PublishedAt: e.PublishedAt, Statement: r.statement}
	if texts := g.trust(); len(texts) > 0 {
		current.Trust = bucket.TrustText{Version: len(texts), SHA256: sha256.Sum256(texts[len(texts)-1])}
	}
	return current.Text()
}

// retire keeps the newest generation for followers in the middle of it.
func (r *ring) retire() {
	r.before = append(r.before, r.newest)
	r.before = r.before[max(len(r.before)-keptBefore, 0):]
}
