package syncer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest/layout"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

var manual = staging.Policy{Manual: true}

// hours is a window that is open in [from, to).
type hours struct{ from, to time.Time }

func (h hours) Contains(t time.Time) bool { return !t.Before(h.from) && t.Before(h.to) }
func (h hours) Next(t time.Time) time.Time {
	if t.Before(h.from) {
		return h.from
	}
	return time.Time{}
}

func always() staging.Policy {
	return staging.Policy{Window: hours{time.Now().Add(-time.Hour), time.Now().Add(time.Hour)}}
}

func never() staging.Policy {
	return staging.Policy{Window: hours{time.Now().Add(time.Hour), time.Now().Add(2 * time.Hour)}}
}

// policy sets when new revisions of all manifests go live.
func (w *world) policy(p staging.Policy) {
	w.Helper()
	for _, t := range w.cfg.Targets {
		w.target(t.Name, func(t *golive.Target) { t.Activate = p })
	}
}

func (w *world) activate(names ...string) (report.Sync, error) {
	return golive.Activate(context.Background(), w.syncer.Tree(), request.Activate{Names: names, Trigger: request.TriggerActivate})
}

// window activates what may go live by itself now.
func (w *world) window() report.Sync {
	w.Helper()
	result, err := golive.Activate(context.Background(), w.syncer.Tree(), request.Activate{Trigger: request.TriggerWindow})
	must(w, err)
	return result
}

// staged requires a release to be staged, "" for none, and the state of its manifest.
func (w *world) staged(name, release string, state report.State) {
	w.Helper()
	for _, m := range w.status().Manifests {
		if m.Name != name {
			continue
		}
		got := ""
		if m.Staged != nil {
			got = m.Staged.Release
		}
		if got != release || m.State != state {
			w.Errorf("%s: staged %q, state %s (%s), want %q, %s", name, got, m.State, m.Error, release, state)
		}
	}
}

// stagedOctober serves september of data and has october staged.
func stagedOctober(t testing.TB) *world {
	w := served(t)
	w.policy(manual)
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", september())
	w.staged("data", "2026.10", report.StateStaged)
	return w
}

func TestManualStagesUntilActivate(t *testing.T) {
	w := stagedOctober(t)
	if h := w.history().Entries[0]; len(h.Manifests) != 1 || h.Changed || !h.Manifests[0].NewlyStaged || h.Manifests[0].FilesDownloaded != 1 {
		t.Errorf("history %+v", h)
	}
	result, err := w.activate("data")
	must(t, err)
	w.expect(result, "data", report.Updated)
	w.serves("data", october())
	w.staged("data", "", report.StateInSync)
	if !result.Changed || result.Generation != 2 {
		t.Errorf("result %+v", result)
	}
	w.poll()
	if asked := w.asked("/"); len(asked) != 1 {
		t.Errorf("the poll after it asked %v", asked)
	}
	if result, err = w.activate(); err != nil || result.Changed {
		t.Errorf("again: %+v, %v", result, err)
	}
}

func TestOnlyTheRevisionThatWasSeenIsActivatedOrDiscarded(t *testing.T) {
	w := stagedOctober(t)
	seen := w.status().Manifests[0].Staged.Revision
	w.publish("data", "2026.11", september())
	w.demand()
	req := request.Activate{Names: []string{"data"}, Revision: seen, Trigger: request.TriggerActivate}
	for _, req.Discard = range []bool{false, true} {
		if _, err := golive.Activate(context.Background(), w.syncer.Tree(), req); err == nil || !strings.Contains(err.Error(), seen) {
			t.Errorf("discard %v: %v", req.Discard, err)
		}
		w.serves("data", september())
		w.staged("data", "2026.11", report.StateStaged)
	}
	req.Revision, req.Discard = w.status().Manifests[0].Staged.Revision, false
	_, err := golive.Activate(context.Background(), w.syncer.Tree(), req)
	must(t, err)
	w.staged("data", "", report.StateInSync)
}

func TestAPollWithStagedDataCostsOneRequest(t *testing.T) {
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprintf("first %v", first), func(t *testing.T) {
			w := start(t, "data")
			if !first {
				w = served(t)
			}
			w.policy(manual)
			w.publish("data", "2026.10", october())
			w.poll()
			for range 2 {
				w.expect(w.poll(), "data", report.Unchanged)
				if asked := w.asked("/"); len(asked) != 1 {
					t.Errorf("asked %v", asked)
				}
			}
			w.demand()
			if len(w.downloads()) > 0 {
				t.Errorf("downloads %v", w.downloads())
			}
			w.staged("data", "2026.10", report.StateStaged)
			if w.generation() != map[bool]int{false: 1, true: 0}[first] {
				t.Errorf("generation %d", w.generation())
			}
		})
	}
}

func TestStagedDataSurvivesRestartPruningAndALostState(t *testing.T) {
	w := stagedOctober(t)
	w.cfg.Retain, w.cfg.RetainFor = 0, 0
	w.restart()
	w.demand()
	w.loseState()
	w.demand() // prunes
	w.restart()
	w.staged("data", "2026.10", report.StateStaged)
	w.provider.Close()
	_, err := w.activate()
	must(t, err)
	w.serves("data", october())
}

func TestANewerStagedRevisionReplacesAnOlderOne(t *testing.T) {
	w := stagedOctober(t)
	w.cfg.Retain, w.cfg.RetainFor = 0, 0
	w.configure()
	w.publish("data", "2026.11", files{"a.dat": "november", "b.dat": "november"})
	w.poll()
	w.staged("data", "2026.11", report.StateStaged)
	if trees, _ := filepath.Glob(filepath.Join(w.dir, "revisions/data/*")); len(trees) != 2 {
		t.Errorf("revisions %v", trees)
	}
	// The same release with other bytes.
	w.publish("data", "2026.11", files{"a.dat": "november", "b.dat": "corrected"})
	w.demand()
	_, err := w.activate()
	must(t, err)
	w.serves("data", files{"a.dat": "november", "b.dat": "corrected"})
}

func TestAWithdrawnReleaseIsNotStagedAnyLonger(t *testing.T) {
	w := stagedOctober(t)
	w.provider.RemoveRelease("data", "2026.10")
	w.poll()
	w.staged("data", "", report.StateInSync)
}

func TestDiscardDropsWhatIsStaged(t *testing.T) {
	w := stagedOctober(t)
	w.cfg.Retain, w.cfg.RetainFor = 0, 0
	w.configure()
	result, err := golive.Activate(context.Background(), w.syncer.Tree(), request.Activate{Discard: true, Trigger: request.TriggerDiscard})
	must(t, err)
	w.expect(result, "data", report.Unchanged)
	w.staged("data", "", report.StateInSync)
	w.expect(w.poll(), "data", report.Unchanged)
	w.staged("data", "", report.StateInSync)
	if n := len(w.objects()); n != 4 {
		t.Errorf("%d objects, want 4", n)
	}
	w.demand()
	w.staged("data", "2026.10", report.StateStaged)
}

func TestAWindowPublishesWhenItIsOpen(t *testing.T) {
	w := served(t)
	w.policy(never())
	w.publish("data", "2026.10", october())
	w.poll()
	w.staged("data", "2026.10", report.StateStaged)
	if result := w.window(); result.Changed || w.syncer.Tree().HasDue(time.Now()) || w.syncer.Tree().DueAt(time.Now()).Before(time.Now()) {
		t.Errorf("outside the window: %+v", result)
	}
	w.restart()
	w.policy(always())
	if !w.syncer.Tree().HasDue(time.Now()) {
		t.Error("not due")
	}
	w.expect(w.window(), "data", report.Updated)
	w.serves("data", october())
	// A sync in the window publishes, too.
	w.policy(never())
	w.publish("data", "2026.11", september())
	w.poll()
	w.serves("data", october())
	w.policy(always())
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
	if w.state("data").Served == "" || w.history().Entries[0].Generation != w.generation() {
		t.Errorf("state %+v", w.state("data"))
	}
}

func TestAGroupGoesLiveTogether(t *testing.T) {
	w := start(t, "a", "b", "alone")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.configure()
	for _, name := range []string{"a", "b", "alone"} {
		w.publish(name, "2026.09", september())
	}
	w.expect(w.demand("a"), "a", report.Unchanged)
	w.staged("a", "2026.09", report.StateStaged)
	if w.generation() != 0 {
		t.Error("half a group is served")
	}
	if _, err := w.activate("a"); err == nil || !strings.Contains(err.Error(), "b has no data yet") {
		t.Errorf("activate: %v", err)
	}
	result := w.demand()
	if w.generation() != 1 || len(result.Manifests) != 3 {
		t.Errorf("generation %d, %+v", w.generation(), result)
	}
	for _, name := range []string{"a", "b", "alone"} {
		w.expect(result, name, report.Updated)
		w.serves(name, september())
	}

	// One is ready long before the other, which an earlier sync did not have.
	w.publish("a", "2026.10", october())
	w.publish("alone", "2026.10", october())
	result = w.poll()
	w.expect(result, "a", report.Unchanged)
	w.expect(result, "alone", report.Updated)
	w.staged("a", "2026.10", report.StateStaged)
	w.publish("b", "2026.10", october())
	before := w.generation()
	w.expect(w.demand("b"), "b", report.Updated)
	w.serves("a", october())
	w.serves("b", october())
	if w.generation() != before+1 {
		t.Errorf("generation %d after %d: half a group was served", w.generation(), before)
	}
	w.staged("a", "", report.StateInSync)
	if names := fmt.Sprint(w.history().Entries[0].Manifests); !strings.Contains(names, "{a ") {
		t.Errorf("the history lacks a: %s", names)
	}

	// One is republished, the other is up to date with the same release.
	w.publish("a", "2026.10", files{"a.dat": "corrected", "b.dat": "b", "c.txt": "c"})
	w.expect(w.demand(), "a", report.Updated)
}

func TestAGroupWithDifferentReleasesWaits(t *testing.T) {
	w := start(t, "a", "b")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.configure()
	w.publish("a", "2026.09", files{"a": "september"})
	w.publish("b", "2026.10", files{"b": "october"})
	w.demand()
	if w.generation() != 0 {
		t.Error("mixed releases are served")
	}
	w.publish("a", "2026.10", files{"a": "october"})
	w.demand()
	w.serves("a", files{"a": "october"})
	w.serves("b", files{"b": "october"})
}

func TestAGroupWithAViewThatClashesStaysWhole(t *testing.T) {
	w := start(t, "a", "b", "c")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.view(layout.View{Name: "v", Manifests: []string{"b", "c"}, Layout: layout.Flat})
	w.publish("a", "2026.09", files{"a": "1"})
	w.publish("b", "2026.09", files{"b": "1"})
	w.publish("c", "2026.09", files{"c": "1"})
	w.demand()
	w.policy(manual)
	w.publish("a", "2026.10", files{"a": "2"})
	w.publish("b", "2026.10", files{"both": "2"})
	w.demand("a", "b")
	w.policy(staging.Policy{})
	w.cfg.Groups = nil
	w.target("b", func(t *golive.Target) { t.Activate = manual })
	w.publish("c", "2026.10", files{"both": "3"})
	w.demand("c") // it clashes with nothing that is served
	w.serves("c", files{"both": "3"})
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.target("b", func(t *golive.Target) { t.Activate = staging.Policy{} })
	before := w.tree("a")
	if _, err := w.activate("g"); err == nil || !strings.Contains(err.Error(), "view v") {
		t.Errorf("activate: %v", err)
	}
	w.poll()
	w.serves("b", files{"b": "1"})
	w.serves("a", before)
}

func TestActivateDoesNotWaitForADownload(t *testing.T) {
	w := stagedOctober(t)
	hold := w.gate("e.dat")
	w.publish("data", "2026.11", files{"a.dat": "a of september", "b.dat": "x", "e.dat": "new"})
	running := w.background()
	w.downloading("data")
	_, err := w.activate("data")
	must(t, err)
	w.serves("data", october())
	close(hold)
	running.wait()
	w.staged("data", "2026.11", report.StateStaged)
	w.serves("data", october())
}

func TestStagedFilesAreNotAmongThoseOfARollback(t *testing.T) {
	w := stagedOctober(t)
	if _, err := rollback.Do(context.Background(), w.syncer.Tree(), request.Rollback{}); err == nil {
		t.Error("went to a staged revision")
	}
	w.serves("data", september())
}

func TestADamagedStagedRevisionIsStagedAgain(t *testing.T) {
	w := stagedOctober(t)
	trees, err := filepath.Glob(filepath.Join(w.dir, "revisions/data/2026.10-*"))
	if err != nil || len(trees) != 1 {
		t.Fatal(trees, err)
	}
	must(t, os.RemoveAll(trees[0]))
	if _, err := w.activate("data"); err != nil {
		t.Log(err)
	}
	w.serves("data", september())
	w.restart()
	w.demand()
	w.staged("data", "2026.10", report.StateStaged)
	if _, err := w.activate("data"); err != nil {
		t.Error(err)
	}
	w.serves("data", october())
}
