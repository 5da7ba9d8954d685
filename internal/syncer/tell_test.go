package syncer_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/hooks/event"
	"syncd/internal/manifest"
	"syncd/internal/mirror/staging"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// told removes and returns what waits for the hook of every event.
func (w *world) told() (all []event.Data, kinds []string) {
	w.Helper()
	for {
		d, found, err := w.cfg.Store.NextDelivery("all")
		must(w, err)
		if !found {
			return all, kinds
		}
		data, err := event.Parse(d.Body)
		must(w, err)
		all, kinds = append(all, data), append(kinds, d.Event)
		must(w, w.cfg.Store.Update(func(box *store.Outbox) error { return box.Remove(d) }))
	}
}

// wantTold fails the test unless exactly these events wait.
func (w *world) wantTold(want ...string) []event.Data {
	w.Helper()
	all, kinds := w.told()
	if !slices.Equal(kinds, want) {
		w.Fatalf("told %q, want %q", kinds, want)
	}
	return all
}

func TestASyncTellsWhatWentLive(t *testing.T) {
	w := start(t, "m", "n")
	w.publish("m", "2026.09", files{"a": "1"})
	w.publish("n", "2026.09", files{"b": "1"})
	w.poll()
	w.wantTold("activated", "activated")
	w.poll()
	w.demand()
	w.wantTold()
	w.publish("m", "2026.10", files{"a": "2"})
	before := w.cfg.Mirror.Current().Records["m"]
	w.poll()
	data := w.wantTold("activated")[0]
	record := w.cfg.Mirror.Current().Records["m"]
	want := event.Data{
		Manifest: "m", Release: "2026.10", Revision: record.Revision, Previous: before.Revision, Generation: 2,
		Path: filepath.Join(w.dir, "revisions", "m", record.ID()), Host: data.Host,
	}
	if data.Changes == nil || data.Changes.String() != "1 file changed" {
		t.Errorf("told the changes %v", data.Changes)
	}
	if data.Changes = nil; data != want {
		t.Errorf("told %+v, want %+v", data, want)
	}
	if text, err := os.ReadFile(filepath.Join(data.Path, "a")); err != nil || string(text) != "2" {
		t.Errorf("path has %q, %v", text, err)
	}
}

func TestARepublishedReleaseIsToldAndAnotherFilterIsNot(t *testing.T) {
	w := start(t, "m")
	w.publish("m", "2026.09", files{"a": "1", "b": "1"})
	w.poll()
	w.publish("m", "2026.09", files{"a": "1", "b": "2"})
	w.demand()
	w.wantTold("activated", "republished", "activated")
	w.target("m", func(t *golive.Target) { t.Filter = manifest.Filter{Include: []string{"a"}} })
	w.demand()
	w.wantTold("activated")
}

func TestARepublishedReleaseOfAGroupIsToldOfEachManifest(t *testing.T) {
	w := start(t, "a", "b")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.configure()
	for _, content := range []string{"1", "2"} {
		w.publish("a", "2026.09", files{"a": content})
		w.publish("b", "2026.09", files{"b": content})
		w.policy(manual)
		w.demand("a") // staged, and a mate of the next sync
		w.policy(staging.Policy{})
		w.told()
		w.demand("b")
	}
	var told []string
	all, kinds := w.told()
	for i, e := range all {
		told = append(told, e.Manifest+" "+kinds[i])
	}
	equal(t, "told", told, []string{"a republished", "a activated", "b republished", "b activated"})
}

// A crash came between the swap and its record.
func TestAStartTellsARepublishedReleaseAndNotAnotherFilter(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"other bytes":    {func(w *world) { w.publish("m", "2026.09", files{"a": "1", "b": "2"}) }, []string{"republished", "activated"}},
		"a further file": {func(w *world) { w.publish("m", "2026.09", files{"a": "1", "b": "1", "c": "1"}) }, []string{"republished", "activated"}},
		"another filter": {func(w *world) {
			w.target("m", func(t *golive.Target) { t.Filter = manifest.Filter{Include: []string{"a"}} })
		}, []string{"activated"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, "m")
			w.publish("m", "2026.09", files{"a": "1", "b": "1"})
			w.demand()
			w.told()
			state, err := os.ReadFile(filepath.Join(w.dir, "state", "syncd.db"))
			must(t, err)
			row.change(w)
			w.demand()
			w.close()
			must(t, os.WriteFile(filepath.Join(w.dir, "state", "syncd.db"), state, 0o600))
			w.open()
			must(t, w.syncer.Tree().CatchUp())
			w.wantTold(row.want...)
		})
	}
}

func TestAFailureIsToldOnceAndItsEndToo(t *testing.T) {
	w := start(t, "m")
	w.publish("m", "2026.09", files{"a": "1"})
	w.poll()
	w.told()
	w.publish("m", "2026.10", files{"a": "2"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/a"})
	w.demand()
	w.poll() // repeats the result
	w.demand()
	data := w.wantTold("refused")[0]
	if data.Release != "2026.10" || data.Revision != "" || data.Previous == "" || data.Reason != "hash_mismatch" || data.Error == "" {
		t.Errorf("told %+v", data)
	}
	w.provider.ClearFaults()
	w.demand()
	w.wantTold("activated", "recovered")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 403, Path: "/ManifestReleases/*"})
	w.demand()
	if data := w.wantTold("failed")[0]; data.Release != "" || data.Reason != "" || data.Error == "" {
		t.Errorf("told %+v", data)
	}
}

func TestARollbackIsTold(t *testing.T) {
	w := start(t, "m")
	for _, release := range []string{"2026.09", "2026.10"} {
		w.publish("m", release, files{"a": release})
		w.poll()
	}
	w.told()
	left := w.cfg.Mirror.Current().Records["m"].Revision
	_, err := rollback.Do(context.Background(), w.syncer.Tree(), request.Rollback{})
	must(t, err)
	if data := w.wantTold("rolled_back")[0]; data.Release != "2026.09" || data.Previous != left || data.Generation != 3 {
		t.Errorf("told %+v", data)
	}
	w.sync(request.Sync{Demand: true, Force: true})
	w.wantTold("activated")
}

func TestDamageIsToldBeforeItIsRepaired(t *testing.T) {
	w := start(t, "m", "n")
	w.publish("m", "2026.09", files{"a": "1", "b": "2"})
	w.publish("n", "2026.09", files{"c": "3"})
	w.poll()
	w.told()
	for _, path := range []string{"a", "b"} {
		full := filepath.Join(w.dir, "current", "m", path)
		must(t, os.Chmod(full, 0o644))
		must(t, os.WriteFile(full, []byte("damage"), 0o644))
		must(t, os.Chmod(full, 0o444))
	}
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 403, Host: emulator.HostDownload, Path: "*"})
	failed, err := w.syncer.Repair(context.Background(), request.Verify{})
	must(t, err)
	data := w.wantTold("damaged")[0]
	if data.Manifest != "m" || data.Release != "2026.09" || data.Revision == "" || filepath.Dir(data.Path) != filepath.Join(w.dir, "current", "m") || data.Error == "" {
		t.Errorf("told %+v", data)
	}
	w.provider.ClearFaults()
	result, err := w.syncer.Repair(context.Background(), request.Verify{})
	if err != nil || failed.OK() || !result.OK() {
		t.Errorf("%+v, then %+v, %v", failed, result, err)
	}
}
