package orders

import (
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/store"
)

// Config is what New needs; every field is required.
type Config struct {
	Mirror    *mirror.Mirror
	Manifests func() (map[string]store.Manifest, error) // with what the upstream ordered
	Config    func() *config.Config                     // in force
	Warn      func(message string, err error)
}

// Orders are what followers of this host must destroy, whether they take their data from here
// or from a bucket. Safe for concurrent use.
type Orders struct {
	cfg    Config
	public *destroy.Public

	mu     sync.Mutex // guards what follows
	states map[string]store.Manifest
	read   time.Time
}

// toldFor is how long what the upstream ordered is remembered: each poll of a follower asks.
const toldFor = 5 * time.Second

// New returns the orders of a data directory.
func New(cfg Config) *Orders { return &Orders{cfg: cfg, public: destroy.NewPublic(cfg.Mirror)} }

// Of returns what followers must destroy of a manifest: after the shorter of this host's time
// and that of its own upstream, and what was destroyed here.
func (o *Orders) Of(name string) destruction.Order {
	order, cfg := destruction.Order{Gone: o.public.Gone(name)}, o.cfg.Config()
	for _, m := range cfg.Manifests {
		if m.Name == name {
			order.Seconds = destruction.SecondsOf(m.DestroyAfter)
		}
	}
	told := o.upstream()[name].Told(cfg.SourceURLs()...)
	if told != nil && told.Seconds > 0 && (order.Seconds == 0 || told.Seconds < order.Seconds) {
		order.Seconds = told.Seconds
	}
	return order
}

// upstream returns the manifests with what the upstream of this host ordered.
func (o *Orders) upstream() map[string]store.Manifest {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.read) < toldFor {
		return o.states
	}
	states, err := o.cfg.Manifests()
	if err != nil {
		o.cfg.Warn("reading what the upstream wants destroyed failed; followers are told what was known before", err)
		return o.states
	}
	o.states, o.read = states, time.Now()
	return o.states
}

// Gone returns the newest destroyed revisions of everything that is served.
func (o *Orders) Gone() map[string][]destruction.Gone { return goneOf(o.cfg.Mirror, o.public) }

// Gone is Orders.Gone when no engine is running.
func Gone(m *mirror.Mirror) map[string][]destruction.Gone { return goneOf(m, destroy.NewPublic(m)) }

func goneOf(m *mirror.Mirror, public *destroy.Public) map[string][]destruction.Gone {
	gone := map[string][]destruction.Gone{}
	for _, name := range m.Current().Names() {
		if list := public.Gone(name); len(list) > 0 {
			gone[name] = list
		}
	}
	return gone
}
