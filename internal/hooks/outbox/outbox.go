package outbox

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"syncd/internal/changes"
	"syncd/internal/hooks/event"
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
	Watcher Watcher // nil for none

	// Undone says why a served revision took the place of another one: what the consumer said
	// of that. "" if it did not go live for this. Nil for never.
	Undone func(manifest, id string) string
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

// News is the part of a change that the served generation does not show.
type News struct {
	Events []event.Event

	// Confirmed are manifests that a sync found up to date or updated. Failing are those
	// of them whose sync had failed before.
	Confirmed, Failing []string

	// Staged are the revisions that wait to go live, by manifest, as records without files.
	Staged map[string]mirror.Record

	// Republished are manifests whose served release has other bytes now.
	Republished []string

	// Changes say how revisions differ from those that they replace, as far as that is known.
	Changes map[Step]changes.Summary

	Trace string // of the work that the news is about, by package tracing; "" for none
}

// Step is what a manifest serves, or served, and what takes or may take its place: both by
// release and revision.
type Step struct{ Manifest, From, To string }

// changes returns what differs between two revisions, nil for nothing or when it is not known.
func (n News) changes(step Step) *changes.Summary {
	if s, known := n.Changes[step]; known && s.Any() {
		return &s
	}
	return nil
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

// CatchUp adds the events that a crash or a lost state prevented. isRepublished decides whether the
// provider changed the bytes of a release, whose revision before is given.
func (o *Outbox) CatchUp(served mirror.Generation, staged map[string]mirror.Record, isRepublished func(before string, now mirror.Record) bool) error {
	notified, err := o.cfg.Store.Notified()
	if err != nil {
		return err
	}
	if maps.EqualFunc(present(notified), notifiedOf(served, staged), isSame) { // write nothing
		return nil
	}
	news := News{Staged: staged}
	for name, record := range served.Records {
		then := notified[name]
		if then.Release == string(record.Release) && then.Revision != record.Revision && isRepublished(then.Revision, record) {
			news.Republished = append(news.Republished, name)
		}
	}
	return o.Commit(store.Changes{}, served, news)
}

// notifiedOf is the state of each manifest once no event is missing.
func notifiedOf(served mirror.Generation, staged map[string]mirror.Record) map[string]store.Notified {
	all := map[string]store.Notified{}
	for name, record := range served.Records {
		all[name] = store.Notified{Release: string(record.Release), Revision: record.Revision}
	}
	for name, record := range staged {
		n := all[name]
		n.Staged = record.ID()
		all[name] = n
	}
	return all
}

// isSame compares what hooks were notified of, for a manifest's revisions.
func isSame(a, b store.Notified) bool {
	a.Stale, a.Aged = b.Stale, b.Aged
	return a == b
}

// present leaves out the manifests that nothing is served or staged of.
func present(notified map[string]store.Notified) map[string]store.Notified {
	maps.DeleteFunc(notified, func(_ string, n store.Notified) bool { return n == store.Notified{Aged: n.Aged} })
	return notified
}

// Damaged returns the event for damaged files of a served manifest. path is that of one of
// them.
func (o *Outbox) Damaged(record mirror.Record, generation int, path, problem string) event.Event {
	data := o.data(record, generation)
	data.Path, data.Error = path, problem
	return event.New(event.Damaged, time.Now().UTC(), data)
}

// Destroyed returns the event for a revision that is gone, or for a release of which only parts
// were there.
func (o *Outbox) Destroyed(gone mirror.Record, generation int, cause string) event.Event {
	data := o.data(gone, generation)
	data.Path, data.Reason = "", cause
	return event.New(event.Destroyed, time.Now().UTC(), data)
}

// Problem returns the event for a release that failed or was refused while served, if any,
// stays in service. about has a revision only if that was complete.
func (o *Outbox) Problem(kind event.Kind, about, served mirror.Record, generation int, problem, reason string) event.Event {
	data := o.data(about, generation)
	data.Previous, data.Error, data.Reason = served.Revision, problem, reason
	return event.New(kind, time.Now().UTC(), data)
}

// Proven returns the event for a served manifest whose consumer works with what went live.
func (o *Outbox) Proven(served mirror.Record, previous string, generation int) event.Event {
	data := o.data(served, generation)
	data.Previous = previous
	return event.New(event.Proven, time.Now().UTC(), data)
}

// Waiting returns the event for a ring that waits too long for a release.
func (o *Outbox) Waiting(of mirror.Record, generation int, ring, why string) event.Event {
	data := o.data(of, generation)
	data.Ring, data.Error = ring, why
	return event.New(event.Waiting, time.Now().UTC(), data)
}

// Source returns the event for a served manifest that comes from another one of several sources.
// problem and reason are why the one before is not used; "" if it can be.
func (o *Outbox) Source(served mirror.Record, generation int, source, problem, reason string) event.Event {
	data := o.data(served, generation)
	data.Source, data.Error, data.Reason = source, problem, reason
	return event.New(event.Source, time.Now().UTC(), data)
}

// undone is Config.Undone.
func (o *Outbox) undone(record mirror.Record) string {
	if o.cfg.Undone == nil || record.Manifest == "" {
		return ""
	}
	return o.cfg.Undone(record.Manifest, record.ID())
}

// Recovered returns the event for a served manifest whose trouble is over.
func (o *Outbox) Recovered(served mirror.Record, generation int) event.Event {
	return event.New(event.Recovered, time.Now().UTC(), o.data(served, generation))
}

// Add adds an event that nothing else is saved with.
func (o *Outbox) Add(e event.Event) error {
	t := &transaction{outbox: o}
	err := o.cfg.Store.Update(func(box *store.Outbox) error {
		t.box, t.added, t.gaveUp = box, nil, nil
		return t.add(e)
	})
	if err == nil {
		t.announce()
	}
	return err
}

// data describes a revision, or a release without one.
func (o *Outbox) data(record mirror.Record, generation int) event.Data {
	data := event.Data{
		Manifest: record.Manifest, Release: string(record.Release), Revision: record.Revision,
		Generation: generation, Host: o.host,
	}
	if record.Revision != "" {
		data.Path = filepath.Join(o.cfg.DataDir, "revisions", record.Manifest, record.ID())
	}
	return data
}

// NotifyStale adds the event for each manifest that no sync has confirmed until limit, which
// gets the time of the last one that did.
func (o *Outbox) NotifyStale(served mirror.Generation, late func(manifest string, confirmed time.Time) bool) error {
	notified, err := o.cfg.Store.Notified()
	if err != nil {
		return err
	}
	states, err := o.cfg.Store.Manifests()
	if err != nil {
		return err
	}
	var stale []string
	for name, record := range served.Records {
		if !notified[name].Stale && late(name, confirmedAt(record, states[name].SyncedAt)) {
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
		return t.notifyStale(stale, states, late)
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

// Expire removes deliveries of hooks that are no subscribers any more, once they are older
// than patience. Until then the hook may come back.
func (o *Outbox) Expire(now time.Time, patience time.Duration) error {
	all, err := o.cfg.Store.Deliveries()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(d store.Delivery) bool {
		isSubscriber := slices.ContainsFunc(*o.subscribers.Load(), func(s Subscriber) bool { return s.Hook == d.Hook })
		return isSubscriber || now.Sub(d.Since) < patience
	})
	if len(all) == 0 { // write nothing
		return nil
	}
	return o.cfg.Store.Update(func(box *store.Outbox) (err error) {
		for _, d := range all {
			err = errors.Join(err, box.Remove(d))
		}
		return err
	})
}
