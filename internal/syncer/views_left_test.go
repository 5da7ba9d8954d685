package syncer_test

import (
	"slices"
	"testing"

	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest/layout"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// leave removes manifests from the configuration, and from the view ref with all others.
func (w *world) leave(arranged layout.Layout, names ...string) {
	w.Helper()
	w.cfg.Targets = slices.DeleteFunc(w.cfg.Targets, func(t golive.Target) bool { return slices.Contains(names, t.Name) })
	w.view(ref(arranged, w.cfg.Targets.Names()...))
}

// twoInAView serves two manifests, and a view of all.
func twoInAView(t *testing.T, arranged layout.Layout) *world {
	w := start(t, "one", "two")
	w.view(ref(arranged, "one", "two"))
	w.publish("one", "2026.09", files{"a": "a1"})
	w.publish("two", "2026.09", files{"b": "b1"})
	w.demand()
	return w
}

func (w *world) viewState(want report.State) {
	w.Helper()
	for _, v := range w.status().Views {
		if v.Name == "ref" && v.State != want {
			w.Errorf("state %s (%s), want %s", v.State, v.Explanation, want)
		}
	}
}

func TestAManifestThatLeavesStaysInItsViewUntilItIsForgotten(t *testing.T) {
	w := twoInAView(t, layout.Provider)
	w.leave(layout.Provider, "two")
	if result := w.demand(); result.Changed {
		t.Errorf("%+v", result)
	}
	w.serves("ref", files{"one/data/a": "a1", "two/data/b": "b1"})
	w.viewState(report.StateInSync)
	w.publish("one", "2026.10", files{"a": "a2"})
	w.demand()
	w.serves("ref", files{"one/data/a": "a2", "two/data/b": "b1"})
	w.loseState()
	w.demand()
	if _, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{}); err != nil {
		t.Fatal(err)
	}
	w.serves("ref", files{"one/data/a": "a1", "two/data/b": "b1"})
	w.viewState(report.StateInSync)
	result, err := golive.Forget(t.Context(), w.syncer.Tree(), request.Forget{Names: []string{"two"}})
	if err != nil || !result.OK() {
		t.Errorf("%+v, %v", result, err)
	}
	w.serves("ref", files{"one/data/a": "a1"})
	w.viewState(report.StateInSync)
}

func TestAManifestThatLeavesGoesFromItsViewWithRemovedDrop(t *testing.T) {
	w := twoInAView(t, layout.Provider)
	w.cfg.DropRemoved = true
	w.leave(layout.Provider, "two")
	w.demand()
	w.serves("ref", files{"one/data/a": "a1"})
}

func TestARenamedManifestTakesThePlaceOfTheOldOneInAView(t *testing.T) {
	w := twoInAView(t, layout.Flat)
	w.cfg.Targets = append(w.cfg.Targets, golive.Target{})
	i := len(w.cfg.Targets) - 1
	w.cfg.Targets[i] = w.cfg.Targets[0]
	w.cfg.Targets[i].Name = "new"
	w.leave(layout.Flat, "two")
	w.demand() // the provider does not have it yet
	w.serves("ref", files{"a": "a1", "b": "b1"})
	w.publish("new", "2026.10", files{"b": "b2"})
	w.demand()
	w.serves("ref", files{"a": "a1", "b": "b2"})
	w.viewState(report.StateInSync)
}
