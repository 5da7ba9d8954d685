package outbox

import (
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/disk/fsops"
	"syncd/internal/hooks/event"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// world is an outbox over a real state file, with a hook "all" for every event.
type world struct {
	*testing.T
	*Outbox
	store  *store.Store
	added  []string
	gaveUp int
}

func (w *world) Added(hooks []string)  { w.added = append(w.added, hooks...) }
func (w *world) GaveUp(store.Delivery) { w.gaveUp++ }

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := fsops.OpenDir(t.TempDir())
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	s, note, err := store.Open(dir, "syncd.db", time.Minute)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{T: t, store: s}
	w.Outbox = New(Config{Store: s, DataDir: "/data", Watcher: w})
	w.Subscribe([]Subscriber{{Hook: "all", Kinds: event.Kinds()}})
	return w
}

// serving is a generation with revisions, each as "manifest release revision".
func serving(number int, revisions ...string) mirror.Generation {
	g := mirror.Generation{Number: number, Records: map[string]mirror.Record{}}
	for _, text := range revisions {
		f := strings.Fields(text)
		record := mirror.Record{Manifest: f[0], Release: manifest.Release(f[1]), Revision: f[2], PublishedAt: time.Unix(1000, 0)}
		if len(f) > 3 {
			record.Held = &mirror.Hold{}
		}
		g.Records[f[0]] = record
	}
	return g
}

func (w *world) commit(g mirror.Generation, news News) {
	w.Helper()
	if err := w.Commit(store.Changes{}, g, news); err != nil {
		w.Fatal(err)
	}
}

// take removes and returns what waits for a hook, each as "event manifest release previous".
func (w *world) take(hook string) (got []string) {
	w.Helper()
	for {
		d, found, err := w.store.NextDelivery(hook)
		if err != nil {
			w.Fatal(err)
		}
		if !found {
			return got
		}
		data, err := event.Parse(d.Body)
		if err != nil || d.Manifest != data.Manifest {
			w.Fatalf("%+v, %v", data, err)
		}
		got = append(got, strings.TrimSpace(d.Event+" "+data.Manifest+" "+data.Release+" "+data.Previous))
		if err := w.store.Update(func(box *store.Outbox) error { return box.Remove(d) }); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) want(want ...string) {
	w.Helper()
	if got := w.take("all"); !slices.Equal(got, want) {
		w.Errorf("told %q, want %q", got, want)
	}
}

// always counts each release with other bytes as republished.
func always(string, mirror.Record) bool { return true }

func TestEachChangeOfWhatIsServedIsToldOnce(t *testing.T) {
	w := newWorld(t)
	w.commit(serving(1, "m 2026.09 a"), News{})
	w.want("activated m 2026.09")
	w.commit(serving(1, "m 2026.09 a"), News{Confirmed: []string{"m"}})
	w.want()
	w.commit(serving(2, "m 2026.10 b", "n 2026.10 x"), News{})
	w.want("activated m 2026.10 a", "activated n 2026.10")
	w.commit(serving(3, "m 2026.09 a held", "n 2026.10 x"), News{})
	w.want("rolled_back m 2026.09 b")
	w.commit(serving(4, "m 2026.09 a"), News{}) // the hold ended
	w.want()
	w.commit(serving(5, "m 2026.09 c"), News{Republished: []string{"m"}})
	w.want("republished m 2026.09 a", "activated m 2026.09 a")
	w.commit(serving(6, "m 2026.09 d"), News{}) // another filter
	w.want("activated m 2026.09 c")
}

func TestAManifestThatIsForgottenAndComesBackIsToldAgain(t *testing.T) {
	w := newWorld(t)
	w.commit(serving(1, "m 2026.09 a", "n 2026.09 x"), News{})
	w.commit(serving(2, "n 2026.09 x"), News{})
	w.commit(serving(3, "m 2026.09 a", "n 2026.09 x"), News{})
	w.want("activated m 2026.09", "activated n 2026.09", "activated m 2026.09")
}

func TestAStartTellsWhatACrashLeftUntold(t *testing.T) {
	w := newWorld(t)
	w.commit(serving(1, "m 2026.09 a", "n 2026.09 x", "o 2026.09 y"), News{})
	w.take("all")
	must(t, w.CatchUp(serving(2, "m 2026.10 b", "n 2026.09 z", "o 2026.08 y held"), nil, always))
	w.want("activated m 2026.10 a", "republished n 2026.09 x", "activated n 2026.09 x", "rolled_back o 2026.08 y")
	w.added = nil
	if err := w.CatchUp(serving(2, "m 2026.10 b", "n 2026.09 z", "o 2026.08 y held"), nil, always); err != nil || len(w.added) > 0 {
		t.Errorf("told again: %v, %v", w.added, err)
	}
}

func TestALostStateTellsWhatIsServedAgain(t *testing.T) {
	w := newWorld(t)
	must(t, w.CatchUp(serving(7, "m 2026.10 b", "n 2026.09 z held"), nil, always))
	w.want("activated m 2026.10", "activated n 2026.09")
}

func TestAFailedTransactionTellsNothing(t *testing.T) {
	w := newWorld(t)
	w.store.Close()
	if err := w.Commit(store.Changes{}, serving(1, "m 2026.09 a"), News{}); err == nil || len(w.added) > 0 {
		t.Errorf("%v, %v", err, w.added)
	}
}

func TestAHookGetsOnlyItsEventsAndManifests(t *testing.T) {
	w := newWorld(t)
	w.Subscribe([]Subscriber{
		{Hook: "all", Kinds: event.Kinds()},
		{Hook: "swaps", Kinds: []event.Kind{event.Activated, event.RolledBack}, Manifests: []string{"n"}},
		{Hook: "problems", Kinds: []event.Kind{event.Failed}},
	})
	problem := w.Problem(event.Failed, mirror.Record{Manifest: "n", Release: "2026.10"}, mirror.Record{}, 1, "no route", "")
	w.commit(serving(1, "m 2026.09 a", "n 2026.09 x"), News{Events: []event.Event{problem}})
	for hook, want := range map[string][]string{
		"all": {"failed n 2026.10", "activated m 2026.09", "activated n 2026.09"}, "swaps": {"activated n 2026.09"}, "problems": {"failed n 2026.10"},
	} {
		if got := w.take(hook); !slices.Equal(got, want) {
			t.Errorf("%s got %q, want %q", hook, got, want)
		}
	}
	if !slices.Equal(w.added, []string{"all", "problems", "all", "all", "swaps"}) {
		t.Errorf("workers that were told: %q", w.added)
	}
}

func TestStaleIsToldOnceAndRecoveredAfterIt(t *testing.T) {
	w := newWorld(t)
	g := serving(1, "m 2026.09 a", "n 2026.09 x")
	w.commit(g, News{})
	w.take("all")
	late := func(name string, confirmed time.Time) bool { return name == "m" && confirmed.Equal(time.Unix(1000, 0)) }
	for range 2 {
		must(t, w.NotifyStale(g, late))
	}
	w.want("stale m 2026.09")
	w.commit(g, News{Confirmed: []string{"n"}})
	w.want()
	w.commit(g, News{Confirmed: []string{"m"}})
	w.want("recovered m 2026.09")
	w.commit(g, News{Confirmed: []string{"m"}})
	w.want()
}

func TestRecoveredFollowsAFailure(t *testing.T) {
	w := newWorld(t)
	w.commit(serving(1, "m 2026.09 a"), News{})
	w.take("all")
	w.commit(serving(2, "m 2026.10 b"), News{Confirmed: []string{"m"}, Failing: []string{"m"}})
	w.want("activated m 2026.10 a", "recovered m 2026.10")
}

func TestADeliveryCanBeTriedAgainOrDropped(t *testing.T) {
	w := newWorld(t)
	w.Subscribe([]Subscriber{{Hook: "a", Kinds: event.Kinds()}, {Hook: "b", Kinds: event.Kinds()}})
	w.commit(serving(1, "m 2026.09 x"), News{})
	w.commit(serving(2, "m 2026.10 y"), News{})
	d, _, _ := w.store.NextDelivery("a")
	d.GaveUp, d.Attempts, d.Error = time.Now(), 3, "down"
	must(t, w.store.Update(func(box *store.Outbox) error { return box.GiveUp(d) }))
	if hooks, err := w.Retry(d.ID, "a"); err != nil || !slices.Equal(hooks, []string{"a"}) {
		t.Errorf("retry: %v, %v", hooks, err)
	}
	if got := w.take("a"); !slices.Equal(got, []string{"activated m 2026.10 x", "activated m 2026.09"}) {
		t.Errorf("a gets %q", got)
	}
	if hooks, err := w.Drop(d.ID, ""); err != nil || !slices.Equal(hooks, []string{"b"}) {
		t.Errorf("drop: %v, %v", hooks, err)
	}
	if got := w.take("b"); !slices.Equal(got, []string{"activated m 2026.10 x"}) {
		t.Errorf("b gets %q", got)
	}
	if hooks, err := w.Retry("evt_none", ""); err != nil || len(hooks) > 0 {
		t.Errorf("unknown: %v, %v", hooks, err)
	}
}

func TestAHookThatIsGoneForYearsFillsNoDisk(t *testing.T) {
	w := newWorld(t)
	for i := range 24 {
		var events []event.Event
		for range 50 {
			events = append(events, w.Problem(event.Failed, mirror.Record{Manifest: "m"}, mirror.Record{}, i, strings.Repeat("x", 100), ""))
		}
		w.commit(serving(1), News{Events: events})
	}
	all, err := w.store.Deliveries()
	if err != nil || len(all) > store.MaxPending+200 || w.gaveUp != 1200-store.MaxPending {
		t.Errorf("%d deliveries, %d given up, %v", len(all), w.gaveUp, err)
	}
}

func TestDeliveriesOfAFormerHookExpire(t *testing.T) {
	w := newWorld(t)
	w.Subscribe([]Subscriber{{Hook: "stays", Kinds: event.Kinds()}, {Hook: "leaves", Kinds: event.Kinds()}})
	w.commit(serving(1, "m 2026.09 x"), News{})
	w.Subscribe([]Subscriber{{Hook: "stays", Kinds: event.Kinds()}})
	for _, row := range []struct {
		age  time.Duration
		left []string
	}{{23 * time.Hour, []string{"leaves", "stays"}}, {25 * time.Hour, []string{"stays"}}} {
		must(t, w.Expire(time.Now().Add(row.age), 24*time.Hour))
		all, err := w.store.Deliveries()
		var left []string
		for _, d := range all {
			left = append(left, d.Hook)
		}
		if err != nil || !slices.Equal(left, row.left) {
			t.Errorf("after %s: %q, %v", row.age, left, err)
		}
	}
}

func TestAStagedRevisionIsToldOnceAndWhenItGoesLive(t *testing.T) {
	w := newWorld(t)
	w.commit(serving(1, "m 2026.09 a"), News{})
	w.take("all")
	staged := serving(0, "m 2026.10 b", "n 2026.10 x").Records
	for range 2 {
		w.commit(serving(1, "m 2026.09 a"), News{Staged: staged})
	}
	w.want("staged m 2026.10 a", "staged n 2026.10")
	must(t, w.CatchUp(serving(1, "m 2026.09 a"), staged, always))
	w.want()
	w.commit(serving(2, "m 2026.10 b", "n 2026.10 x"), News{})
	w.want("activated m 2026.10 a", "activated n 2026.10")
	must(t, w.CatchUp(serving(2, "m 2026.10 b", "n 2026.10 x"), serving(0, "m 2026.11 c").Records, always))
	w.want("staged m 2026.11 b")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
