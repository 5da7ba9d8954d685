// Package outbox decides what hooks are told. It saves each event for each hook in the
// transaction that records what happened, so that neither is saved without the other.
//
// A manifest that went live is found by comparison: the state says what hooks were told of
// each manifest, and the disk says what is served. So an event that a crash prevented
// follows at the next start, and a lost state tells everything that is served again.
package outbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"syncd/internal/event"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// Subscriber is a hook as far as the outbox knows it.
type Subscriber struct {
	Hook      string // its ID
	Kinds     []event.Kind
	Manifests []string // empty for all
}

func (s Subscriber) wants(e event.Event) bool {
	return slices.Contains(s.Kinds, e.Kind) && (len(s.Manifests) == 0 || slices.Contains(s.Manifests, e.Data.Manifest))
}

// Watcher hears of changes of the outbox once they are durable. It must not block.
type Watcher interface {
	Added(hooks []string)    // there are new deliveries
	GaveUp(d store.Delivery) // because too many wait
}

// Config is what New needs.
type Config struct {
	Store   *store.Store
	DataDir string
	Watcher Watcher
}

// Outbox adds events. Safe for concurrent use.
type Outbox struct {
	cfg         Config
	host        string
	subscribers atomic.Pointer[[]Subscriber]
}

// New returns an Outbox without subscribers.
func New(cfg Config) *Outbox {
	o := &Outbox{cfg: cfg}
	o.host, _ = os.Hostname() // without a name the field is empty
	o.Subscribe(nil)
	return o
}

// Subscribe replaces the subscribers. Events from now on are for them.
func (o *Outbox) Subscribe(subscribers []Subscriber) { o.subscribers.Store(&subscribers) }

// News is what happened, beside what the served generation shows.
type News struct {
	Events []event.Event

	// Confirmed are manifests that a sync found up to date or updated. Failing are those
	// of them whose sync had failed before.
	Confirmed, Failing []string

	// Republished are manifests whose served release has other bytes now.
	Republished []string
}

// Commit saves changes with the events that follow from served and from news.
func (o *Outbox) Commit(changes store.Changes, served mirror.Generation, news News) error {
	var t *transaction
	changes.Outbox = func(box *store.Outbox) error {
		t = &transaction{outbox: o, box: box, served: served, news: news, now: time.Now().UTC()}
		return t.run()
	}
	if err := o.cfg.Store.Commit(changes); err != nil {
		return err
	}
	t.announce()
	return nil
}

// CatchUp tells what a crash or a lost state left untold. After a crash nobody knows why
// the bytes of a release changed, so it counts as republished.
func (o *Outbox) CatchUp(served mirror.Generation) error {
	told, err := o.cfg.Store.Told()
	if err != nil {
		return err
	}
	var republished []string
	changed := len(told) != len(served.Records)
	for name, record := range served.Records {
		t := told[name]
		if changed = changed || !isTold(t, record); t.Release == string(record.Release) {
			republished = append(republished, name)
		}
	}
	if !changed { // write nothing
		return nil
	}
	return o.Commit(store.Changes{}, served, News{Republished: republished})
}

// Damaged returns the event for damaged files of a manifest. path is that of one of them.
func (o *Outbox) Damaged(record mirror.Record, generation int, path, problem string) event.Event {
	data := o.data(record, generation)
	data.Path, data.Error = filepath.Join(data.Path, path), problem
	return event.New(event.Damaged, time.Now().UTC(), data)
}

// Problem returns the event for a release that failed or was refused while record, if any,
// stays served.
func (o *Outbox) Problem(kind event.Kind, manifest string, record mirror.Record, generation int, release, problem, reason string) event.Event {
	return event.New(kind, time.Now().UTC(), event.Data{
		Manifest: manifest, Release: release, Previous: record.Revision, Generation: generation,
		Host: o.host, Error: problem, Reason: reason,
	})
}

// data describes a served revision.
func (o *Outbox) data(record mirror.Record, generation int) event.Data {
	data := event.Data{
		Manifest: record.Manifest, Release: string(record.Release), Revision: record.Revision,
		Generation: generation, Host: o.host,
	}
	if record.Manifest != "" {
		data.Path = filepath.Join(o.cfg.DataDir, "revisions", record.Manifest, record.ID())
	}
	return data
}

// TellStale adds the event for each manifest that no sync has confirmed until limit, which
// gets the time of the last one that did.
func (o *Outbox) TellStale(served mirror.Generation, late func(manifest string, confirmed time.Time) bool) error {
	told, err := o.cfg.Store.Told()
	if err != nil {
		return err
	}
	states, err := o.cfg.Store.Manifests()
	if err != nil {
		return err
	}
	var stale []string
	for name, record := range served.Records {
		if !told[name].Stale && late(name, confirmedAt(record, states[name].SyncedAt)) {
			stale = append(stale, name)
		}
	}
	if len(stale) == 0 { // write nothing
		return nil
	}
	slices.Sort(stale)
	var t *transaction
	err = o.cfg.Store.Update(func(box *store.Outbox) error {
		t = &transaction{outbox: o, box: box, served: served, now: time.Now().UTC()}
		return t.tellStale(stale, states, late)
	})
	if err == nil {
		t.announce()
	}
	return err
}

// confirmedAt is when a manifest was last up to date. A lost state knows only when it was
// published.
func confirmedAt(record mirror.Record, synced time.Time) time.Time {
	if synced.IsZero() {
		return record.PublishedAt
	}
	return synced
}

// Retry makes the deliveries with an event's ID due again: those that were given up go to
// the end of the queue. An empty hook means all hooks. It returns the hooks.
func (o *Outbox) Retry(id, hook string) (hooks []string, err error) {
	return o.each(id, hook, func(box *store.Outbox, d store.Delivery) error {
		if d.GaveUp.IsZero() {
			return nil
		}
		again := store.Delivery{Hook: d.Hook, ID: d.ID, Event: d.Event, Manifest: d.Manifest, Body: d.Body, At: d.At, Since: time.Now().UTC()}
		_, err := box.Append(again)
		return errors.Join(err, box.Remove(d))
	})
}

// Drop removes the deliveries with an event's ID.
func (o *Outbox) Drop(id, hook string) (hooks []string, err error) {
	return o.each(id, hook, (*store.Outbox).Remove)
}

func (o *Outbox) each(id, hook string, change func(*store.Outbox, store.Delivery) error) (hooks []string, err error) {
	err = o.cfg.Store.Update(func(box *store.Outbox) error {
		hooks = nil
		all, err := box.Deliveries()
		for _, d := range all {
			if d.ID == id && (hook == "" || d.Hook == hook) {
				hooks, err = append(hooks, d.Hook), errors.Join(err, change(box, d))
			}
		}
		return err
	})
	return hooks, err
}
