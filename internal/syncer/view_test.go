package syncer_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// view adds a view of manifests to the configuration.
func (w *world) view(v layout.View) {
	w.Helper()
	w.cfg.Views = []golive.ViewTarget{{View: v, ReadMaps: func() (map[string]*layout.Map, error) { return v.Maps, nil }}}
	w.configure()
}

func ref(arranged layout.Layout, names ...string) layout.View {
	return layout.View{Name: "ref", Manifests: names, Layout: arranged}
}

func TestAViewFollowsItsManifestsInOneSwap(t *testing.T) {
	w := start(t, "one", "two")
	w.view(ref(layout.Provider, "one", "two"))
	w.publish("one", "2026.09", files{"a": "a1"})
	w.publish("two", "2026.09", files{"b": "b1"})
	w.demand()
	w.serves("ref", files{"one/data/a": "a1", "two/data/b": "b1"})
	w.publish("one", "2026.10", files{"a": "a2"})
	result := w.demand()
	equal(t, "generation", result.Generation, 2)
	w.serves("ref", files{"one/data/a": "a2", "two/data/b": "b1"})
	if _, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{}); err != nil {
		t.Fatal(err)
	}
	w.serves("ref", files{"one/data/a": "a1", "two/data/b": "b1"})
}

func TestAChangedLayoutMakesANewViewAndDownloadsNothing(t *testing.T) {
	w := start(t, "one")
	w.publish("one", "2026.09", files{"a": "a1"})
	w.demand()
	m, err := layout.ParseMap([]byte("a|DATA|ANY|ANY|ANY|x/y\n"))
	must(t, err)
	byMap := ref(layout.ByMap, "one")
	byMap.Maps = map[string]*layout.Map{"one": m}
	hashed := ref(layout.Flat, "one")
	hashed.HashFiles = true
	sum := manifest.ObjectID(sha256.Sum256([]byte("a1"))).String()
	for i, step := range []struct {
		view layout.View
		want files
	}{
		{ref(layout.Provider, "one"), files{"one/data/a": "a1"}},
		{byMap, files{"x/y": "a1"}},
		{ref(layout.Native, "one"), files{"a": "a1"}},
		{hashed, files{"a": "a1", "a.hash": sum}},
	} {
		w.view(step.view)
		result := w.poll()
		w.serves("ref", step.want)
		if result.Generation != i+2 || !result.Changed || !result.OK() || len(w.provider.Requests()) != 1 {
			t.Errorf("result %+v after %d requests", result, len(w.provider.Requests()))
		}
		if again := w.poll(); again.Changed {
			t.Errorf("without a change: %+v", again)
		}
	}
	w.loseState()
	if result := w.demand(); result.Changed || len(w.downloads()) > 0 {
		t.Errorf("after a lost state: %+v, downloads %s", result, w.downloads())
	}
}

func TestFilesThatClashInAViewAreRefusedBeforeAnyDownload(t *testing.T) {
	w := start(t, "one", "two")
	w.view(ref(layout.Flat, "one", "two"))
	w.publish("one", "2026.09", files{"same": "1"})
	w.publish("two", "2026.09", files{"Same": "2"})
	check := func(result report.Sync, refused ...string) {
		t.Helper()
		var got []string
		for _, m := range result.Manifests {
			if m.Reason == "path_clash" && strings.Contains(m.Error, "Data/2026.09/same of one and ") || strings.Contains(m.Error, " and Data/2026.09/same of one") {
				got = append(got, m.Name)
			}
		}
		equal(t, "refused", got, refused)
		if names := w.downloads(); len(names) > 0 {
			t.Errorf("downloads of %s", names)
		}
	}
	result := w.demand()
	check(result, "one", "two")
	w.publish("two", "2026.09", files{"other": "2"})
	w.demand()
	w.serves("ref", files{"same": "1", "other": "2"})
	w.publish("two", "2026.10", files{"same": "3"})
	result = w.demand()
	check(result, "two")
	w.serves("ref", files{"same": "1", "other": "2"})
}

func TestAViewThatClashesByItsConfigurationStaysAsItIs(t *testing.T) {
	w := start(t, "one", "two")
	w.view(ref(layout.Provider, "one", "two"))
	w.publish("one", "2026.09", files{"same": "1"})
	w.publish("two", "2026.09", files{"Same": "2"})
	w.demand()
	w.view(ref(layout.Flat, "one", "two"))
	result := w.poll()
	if len(result.Views) != 1 || result.Views[0].Reason != "path_clash" || result.Views[0].Result != report.Refused || result.OK() {
		t.Errorf("%+v", result)
	}
	w.serves("ref", files{"one/data/same": "1", "two/data/Same": "2"})
	w.publish("one", "2026.10", files{"same": "3", "more": "4"})
	if result = w.poll(); result.Manifests[0].Reason != "path_clash" {
		t.Errorf("%+v", result)
	}
}

func TestAViewAppearsWhenAllItsManifestsHaveData(t *testing.T) {
	w := start(t, "one", "two")
	w.view(ref(layout.Provider, "one", "two"))
	w.publish("one", "2026.09", files{"a": "1"})
	w.publish("two", "2026.09", files{"b": "2"})
	fault := w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Path: "/Manifest/2026.09/two", Status: 404})
	result := w.demand()
	if result.Generation != 1 || w.tree("ref") != nil {
		t.Errorf("%+v shows %v", result, w.tree("ref"))
	}
	w.provider.RemoveFault(fault)
	w.demand()
	w.serves("ref", files{"one/data/a": "1", "two/data/b": "2"})
}

func TestAViewThatLeavesStaysUnlessRemovedIsDrop(t *testing.T) {
	w := start(t, "one")
	w.view(ref(layout.Provider, "one"))
	w.publish("one", "2026.09", files{"a": "1"})
	w.demand()
	w.cfg.Views = nil
	w.configure()
	w.publish("one", "2026.10", files{"a": "2"})
	w.demand()
	w.serves("ref", files{"one/data/a": "1"})
	w.cfg.DropRemoved = true
	w.configure()
	if result := w.demand(); !result.Changed || w.tree("ref") != nil {
		t.Errorf("%+v shows %v", result, w.tree("ref"))
	}
}

func TestAnUnreadableMapLeavesTheViewAsItIs(t *testing.T) {
	w := start(t, "one")
	w.view(ref(layout.Provider, "one"))
	w.publish("one", "2026.09", files{"a": "1"})
	w.demand()
	w.cfg.Views[0].ReadMaps = func() (map[string]*layout.Map, error) { return nil, errors.New("no such file") }
	w.configure()
	w.publish("one", "2026.10", files{"a": "2"})
	result := w.demand()
	if result.OK() || result.Manifests[0].Result != report.Updated || result.Views[0].Result != report.Failed {
		t.Errorf("%+v", result)
	}
	w.serves("ref", files{"one/data/a": "1"})
}

func TestARollbackTellsThatAViewWithAnUnreadableMapStays(t *testing.T) {
	w := start(t, "one")
	w.view(ref(layout.Provider, "one"))
	for _, content := range []string{"1", "2"} {
		w.publish("one", "2026.0"+content, files{"a": content})
		w.demand()
	}
	states := func() [2]float64 {
		return [2]float64{w.metric("syncd_view_state", "view=ref", "state=failed"), w.metric("syncd_view_state", "view=ref", "state=in_sync")}
	}
	w.cfg.Views[0].ReadMaps = func() (map[string]*layout.Map, error) { return nil, errors.New("no such file") }
	w.configure()
	result, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{})
	must(t, err)
	if result.OK() || !strings.Contains(result.Views[0].Error, "no such file") {
		t.Errorf("%+v", result)
	}
	w.serves("one", files{"a": "1"})
	w.serves("ref", files{"one/data/a": "2"})
	equal(t, "failed, in_sync", states(), [2]float64{1, 0})
	w.view(ref(layout.Provider, "one"))
	if result := w.rollback(request.Rollback{}); !result.OK() { // forward again
		t.Errorf("%+v", result)
	}
	equal(t, "failed, in_sync", states(), [2]float64{0, 1})
}

func TestARollbackTakesAViewThatLeftTheConfigurationAlong(t *testing.T) {
	w := start(t, "one")
	w.view(ref(layout.Provider, "one"))
	w.publish("one", "2026.09", files{"a": "1"})
	w.demand()
	w.publish("one", "2026.10", files{"a": "bad", "new": "bad"})
	w.demand()
	w.cfg.Views = nil
	w.configure()
	w.rollback(request.Rollback{})
	w.serves("one", files{"a": "1"})
	w.serves("ref", files{"one/data/a": "1"})
	w.rollback(request.Rollback{}) // forward again
	w.serves("ref", files{"one/data/a": "bad", "one/data/new": "bad"})
}

func TestARollbackLeavesAViewThatNeverShowedTheReleaseAsItIs(t *testing.T) {
	w := start(t, "one")
	w.view(ref(layout.Provider, "one"))
	w.publish("one", "2026.09", files{"a": "1"})
	w.demand()
	w.cfg.Views = nil
	w.configure()
	for i, release := range []string{"2026.10", "2026.11"} {
		w.publish("one", release, files{"a": strings.Repeat("later", i+1)})
		w.demand()
	}
	w.rollback(request.Rollback{})
	w.serves("one", files{"a": "later"})
	w.serves("ref", files{"one/data/a": "1"})
	if strings.Contains(w.log.String(), "shows what the rollback left") {
		t.Errorf("a warning about a view that never showed the release:\n%s", &w.log)
	}
}
