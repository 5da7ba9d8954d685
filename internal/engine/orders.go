package engine

import (
	"sync"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror/destroy"
)

// orders are what followers of this host must destroy, whether they take their data from here
// or from a bucket. Safe for concurrent use.
type orders struct {
	*base
	public *destroy.Public

	mu   sync.Mutex // guards what follows
	told map[string]*destruction.Told
	read time.Time
}

// toldFor is how long what the upstream ordered is remembered: each poll of a follower asks.
const toldFor = 5 * time.Second

func newOrders(b *base) *orders { return &orders{base: b, public: destroy.NewPublic(b.mirror)} }

// of returns what followers must destroy of a manifest: after the shorter of this host's time
// and that of its own upstream, and what was destroyed here.
func (o *orders) of(name string) destruction.Order {
	order := destruction.Order{Gone: o.public.Gone(name)}
	cfg := o.Config()
	for _, m := range cfg.Manifests {
		if m.Name == name {
			order.Seconds = destruction.SecondsOf(m.DestroyAfter)
		}
	}
	told := o.upstream()[name]
	if told != nil && told.Source == transport.PublicURL(cfg.Source.URL) && told.Seconds > 0 && (order.Seconds == 0 || told.Seconds < order.Seconds) {
		order.Seconds = told.Seconds
	}
	return order
}

// upstream returns what the upstream of this host ordered, by manifest.
func (o *orders) upstream() map[string]*destruction.Told {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.read) < toldFor {
		return o.told
	}
	states, err := o.store.Manifests()
	if err != nil {
		o.options.Log.Warn().Err(err).Msg("reading what the upstream wants destroyed failed; followers are told what was known before")
		return o.told
	}
	o.told, o.read = map[string]*destruction.Told{}, time.Now()
	for name, state := range states {
		o.told[name] = state.Destruction
	}
	return o.told
}

// gone returns the newest destroyed revisions of everything that is served.
func (o *orders) gone() map[string][]destruction.Gone {
	gone := map[string][]destruction.Gone{}
	for _, name := range o.mirror.Current().Names() {
		if list := o.public.Gone(name); len(list) > 0 {
			gone[name] = list
		}
	}
	return gone
}
