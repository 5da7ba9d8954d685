package syncer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/downstream/rings"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// told is what the state knows of the upstream's order for data.
func (w *world) ordered() *destruction.Told {
	w.Helper()
	states, err := w.cfg.Store.Manifests()
	must(w, err)
	return states["data"].Destruction
}

func (w *world) wantOrder(what string, want *destruction.Told) {
	w.Helper()
	if diff := cmp.Diff(want, w.ordered()); diff != "" {
		w.Errorf("%s: %s", what, diff)
	}
}

func TestTheUpstreamsOrderIsKept(t *testing.T) {
	w := start(t, "data")
	u := w.behindUpstream()
	says := func(text string) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.destroy = text
	}
	poll := func() { w.syncer.Sync(t.Context(), request.Sync{}) }
	of := func(o destruction.Order) *destruction.Told { return &destruction.Told{Source: w.cfg.Source, Order: o} }

	says("after=90")
	w.publish("data", "2026.10", files{"a": "1"})
	poll()
	w.wantOrder("the first poll", of(destruction.Order{Seconds: 90}))
	says("after=60; destroyed=2026.09")
	poll()
	both := of(destruction.Order{Seconds: 60, Gone: []destruction.Gone{{Release: "2026.09"}}})
	w.wantOrder("a poll without news", both)
	w.restart()
	w.wantOrder("after a restart", both)
	u.fail.Store(true)
	poll()
	w.wantOrder("without an answer", both)
	u.fail.Store(false)
	for _, bad := range []string{"after=-1", "after=9999999999999", "after=0s", "destroyed=*", "destroyed=../../etc"} {
		says(bad)
		poll()
		w.wantOrder(bad, nil)
	}
	says("after=60")
	poll()
	says("")
	poll()
	w.wantOrder("taken back", nil)
}

// The order of a bucket is that of its present generation. An older one, which the store gives
// again, orders nothing.
func TestTheBucketsOrderIsKept(t *testing.T) {
	w := follow(t, "data")
	order := destruction.Order{Seconds: 90, Gone: []destruction.Gone{{Release: "2026.08"}}}
	want := &destruction.Told{Source: w.cfg.Source, Order: order}
	w.store.Destruction = map[string]destruction.Order{"data": order, "other": {Seconds: 1}}
	w.put(5, of("2026.09", september()))
	w.expect(w.poll(), "data", report.Updated)
	w.wantOrder("the first poll", want)
	w.store.Destruction = map[string]destruction.Order{"data": {Seconds: 1}}
	w.put(4, of("2026.09", september()))
	w.poll()
	w.wantOrder("an old generation", want)
	w.store.Destruction = nil
	w.put(6, of("2026.09", september()))
	w.poll()
	w.wantOrder("taken back", nil)
}

// A provider that is no syncd gives no orders, whatever headers it sends.
func TestAProviderGivesNoOrders(t *testing.T) {
	w := start(t, "data")
	u := w.behindUpstream()
	u.names = "2"
	u.destroy = "after=1"
	w.publish("data", "2026.10", files{"a": "1"})
	w.syncer.Sync(t.Context(), request.Sync{})
	w.wantOrder("from a provider", nil)
	if rings.HeaderDestroy != "Syncd-Destroy" {
		t.Error("another name of the header")
	}
}
