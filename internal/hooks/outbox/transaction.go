package outbox

import (
	"maps"
	"slices"
	"time"

	"syncd/internal/hooks/event"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// transaction adds the events of one change of the state.
type transaction struct {
	outbox *Outbox
	box    *store.Outbox
	served mirror.Generation
	news   News
	now    time.Time

	added  []string
	gaveUp []store.Delivery
}

func (t *transaction) run() error {
	notified, err := t.box.Notified()
	if err != nil {
		return err
	}
	for _, e := range t.news.Events {
		if err := t.add(e); err != nil {
			return err
		}
	}
	now := notifiedOf(t.served, t.news.Staged)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if err := t.compare(name, notified[name], now[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(notified)) {
		if _, known := now[name]; !known { // hooks know its age
			if err := t.box.SetNotified(name, store.Notified{Aged: notified[name].Aged}); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare tells what is new about a served or staged manifest.
func (t *transaction) compare(name string, before, now store.Notified) error {
	now.Aged = before.Aged
	now.Stale = before.Stale && !slices.Contains(t.news.Confirmed, name)
	record := t.served.Records[name]
	for _, kind := range t.kindsOf(record, before, now) {
		data := t.outbox.data(record, t.served.Number)
		if kind != event.Recovered {
			data.Previous = before.Revision
		}
		if kind == event.Activated {
			data.Changes = t.news.changes(Step{name, before.Release + "-" + before.Revision, record.ID()})
		}
		if kind == event.RolledBack {
			if why := t.outbox.undone(record); why != "" {
				data.Cause, data.Reason, data.Error = string(refusal.Probe), string(refusal.Probe), why
			}
		}
		if err := t.add(event.New(kind, t.now, data)); err != nil {
			return err
		}
	}
	if now.Staged != "" && now.Staged != before.Staged {
		data := t.outbox.data(t.news.Staged[name], t.served.Number)
		data.Previous, data.Changes = record.Revision, t.news.changes(Step{name, record.ID(), now.Staged})
		if err := t.add(event.New(event.Staged, t.now, data)); err != nil {
			return err
		}
	}
	if now == before {
		return nil
	}
	return t.box.SetNotified(name, now)
}

// kindsOf are the events of a served manifest. A record with a hold came into service by a
// rollback.
func (t *transaction) kindsOf(record mirror.Record, before, now store.Notified) (kinds []event.Kind) {
	isNew := record.Manifest != "" && (before.Release != now.Release || before.Revision != now.Revision)
	switch {
	case isNew && (record.Held != nil || t.outbox.undone(record) != "") && before.Revision != "":
		kinds = append(kinds, event.RolledBack)
	case isNew:
		if before.Release == now.Release && slices.Contains(t.news.Republished, record.Manifest) {
			kinds = append(kinds, event.Republished)
		}
		kinds = append(kinds, event.Activated)
	}
	if record.Manifest != "" && (before.Stale && !now.Stale) || slices.Contains(t.news.Failing, record.Manifest) {
		kinds = append(kinds, event.Recovered)
	}
	return kinds
}

// notifyStale looks again: a sync may have confirmed a manifest since.
func (t *transaction) notifyStale(names []string, states map[string]store.Manifest, late func(string, time.Time) bool) error {
	notified, err := t.box.Notified()
	if err != nil {
		return err
	}
	for _, name := range names {
		synced, err := t.box.SyncedAt(name)
		if err != nil {
			return err
		}
		record, now := t.served.Records[name], notified[name]
		if now.Stale || !late(name, confirmedAt(record, synced)) {
			continue
		}
		data := t.outbox.data(record, t.served.Number)
		if failure := states[name].Failure; failure != nil {
			data.Error, data.Reason = failure.Error, failure.Reason
		}
		now.Stale = true
		if err := t.add(event.New(event.Stale, t.now, data)); err != nil {
			return err
		}
		if err := t.box.SetNotified(name, now); err != nil {
			return err
		}
	}
	return nil
}

// add adds a delivery for each hook that wants the event.
func (t *transaction) add(e event.Event) error {
	body, err := e.Body()
	if err != nil {
		return err
	}
	for _, s := range *t.outbox.subscribers.Load() {
		if !s.wants(e) {
			continue
		}
		gaveUp, err := t.box.Append(store.Delivery{
			Hook: s.Hook, ID: e.ID, Event: string(e.Kind), Manifest: e.Data.Manifest, Body: body, At: e.At, Since: e.At, Trace: t.news.Trace,
		})
		if err != nil {
			return err
		}
		t.added, t.gaveUp = append(t.added, s.Hook), append(t.gaveUp, gaveUp...)
	}
	return nil
}

// announce tells the hooks' workers, after the transaction is durable.
func (t *transaction) announce() {
	if t.outbox.cfg.Watcher == nil {
		return
	}
	for _, d := range t.gaveUp {
		t.outbox.cfg.Watcher.GaveUp(d)
	}
	if len(t.added) > 0 {
		t.outbox.cfg.Watcher.Added(t.added)
	}
}
