package syncer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// rollback goes back and expects it to work.
func (w *world) rollback(req request.Rollback) report.Sync {
	w.Helper()
	result, err := rollback.Do(context.Background(), w.syncer.Tree(), req)
	must(w, err)
	return result
}

// november differs from october in c.txt.
func november() files {
	return files{"a.dat": "a of september", "b.dat": "b of october", "c.txt": "c of november", "d.lic": "d"}
}

// advanced is a world that served september, then october, then november.
func advanced(t *testing.T) *world {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	w.publish("data", "2026.11", november())
	w.expect(w.poll(), "data", report.Updated)
	return w
}

func (w *world) held(from string) {
	w.Helper()
	state := report.StateInSync
	if from != "" {
		state = report.StateHeld
	}
	m := w.status().Manifests[0]
	if m.State != state || m.HeldFrom != from {
		w.Errorf("state %s, held from %q; want %s, %q", m.State, m.HeldFrom, state, from)
	}
}

func TestRollbackGoesToThePreviousGenerationAndHoldsThere(t *testing.T) {
	w := advanced(t)
	result := w.rollback(request.Rollback{})
	m := w.expect(result, "data", report.Updated)
	equal(t, "report", []any{result.Generation, result.Changed, m.Release, m.FilesDownloaded}, []any{4, true, "2026.10", 0})
	w.serves("data", october())
	w.held("2026.11")
	for name, want := range map[string]float64{`syncd_manifest_state held`: 1, `syncd_manifest_state in_sync`: 0} {
		metric, state, _ := strings.Cut(name, " ")
		equal(t, name, w.metric(metric, "manifest=data", "state="+state), want)
	}
	equal(t, "months behind", w.metric("syncd_releases_behind", "manifest=data"), 1.0)
	for range 2 {
		w.expect(w.poll(), "data", report.Unchanged)
		w.expect(w.demand(), "data", report.Unchanged)
	}
	w.restart()
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", october())
	w.held("2026.11")
}

func TestRollbackToANamedGeneration(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{Generation: 1})
	w.serves("data", september())
	w.held("2026.11")
}

func TestRollbackTwiceToggles(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	w.rollback(request.Rollback{})
	w.serves("data", november())
	w.held("")
	w.rollback(request.Rollback{})
	w.serves("data", october())
	w.held("2026.11")
}

func TestRollbackOfARepublishedReleaseToggles(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.09", october())
	w.expect(w.demand(), "data", report.Updated)
	w.rollback(request.Rollback{})
	w.serves("data", september())
	w.held("2026.09")
	w.expect(w.demand(), "data", report.Unchanged)
	w.rollback(request.Rollback{})
	w.serves("data", october())
	w.held("")
}

func TestAManifestThatWentBackTwiceIsHeldFromTheNewestThatItLeft(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{Generation: 1})
	w.rollback(request.Rollback{Generation: 2}) // forward, and still behind november
	w.serves("data", october())
	w.held("2026.11")
	w.expect(w.demand(), "data", report.Unchanged)
	w.rollback(request.Rollback{Generation: 4}) // the newest that shows september
	w.held("2026.11")
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", september())
}

func TestRollbackOfOneManifestLeavesTheOthers(t *testing.T) {
	w := start(t, "data", "bins")
	w.publish("data", "2026.09", september())
	w.publish("bins", "2026.09", files{"x": "1"})
	w.demand()
	w.publish("data", "2026.10", october())
	w.publish("bins", "2026.10", files{"x": "2"})
	w.demand()
	result := w.rollback(request.Rollback{Manifests: []string{"bins"}})
	if len(result.Manifests) != 1 {
		t.Errorf("report %+v", result)
	}
	w.serves("bins", files{"x": "1"})
	w.serves("data", october())
	w.held("")
	if _, err := rollback.Do(context.Background(), w.syncer.Tree(), request.Rollback{Manifests: []string{"nosuch"}}); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("an unknown manifest: %v", err)
	}
}

func TestAHoldEndsWithANewerRelease(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	december := files{"a.dat": "a of december", "b.dat": "b of october", "c.txt": "c"}
	w.publish("data", "2026.12", december)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", december)
	w.held("")
}

func TestAHoldFromAReleaseThatCannotExistYetEndsWithTheNextPlausibleOne(t *testing.T) {
	w := served(t)
	w.cfg.Built = time.Now().Add(time.Hour) // a clock that is older than the program refuses nothing
	w.configure()
	w.publish("data", "9999.12", november())
	w.expect(w.poll(), "data", report.Updated)
	w.cfg.Built = time.Time{}
	w.configure()
	w.rollback(request.Rollback{})
	w.held("9999.12")
	w.expect(w.poll(), "data", report.Refused)
	w.provider.RemoveRelease("data", "9999.12")
	w.expect(w.demand(), "data", report.Unchanged)
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	w.held("")
}

func TestAHoldEndsWithOtherDigestsForTheReleaseThatWasLeft(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	mended := november()
	mended["c.txt"] = "c of november, mended"
	w.publish("data", "2026.11", mended)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", mended)
	w.held("")
}

func TestAHoldEndsByForce(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	w.expect(w.force(), "data", report.Updated)
	equal(t, "downloads", len(w.downloads()), 0)
	w.serves("data", november())
	w.held("")
}

func TestAHoldEndsWithAnotherConfiguredRelease(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	w.target("data", func(t *golive.Target) { t.Release = "2026.11" })
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", november())
	w.held("")
}

func TestAHoldIsNotADowngradeWhenTheProviderWithdrawsTheRelease(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	w.provider.RemoveRelease("data", "2026.11")
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", october())
}

func TestFiltersThatChangeDuringAHoldDoNotEndIt(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	w.target("data", func(t *golive.Target) { t.Filter.Include = []string{"*.dat"} })
	w.expect(w.poll(), "data", report.Unchanged)
	w.serves("data", october())
	w.held("2026.11")
	if !strings.Contains(w.log.String(), "--force") {
		t.Errorf("no warning:\n%s", &w.log)
	}
}

func TestRollbackWithNothingToGoBackTo(t *testing.T) {
	w := served(t)
	for _, req := range []request.Rollback{{}, {Generation: 1}, {Generation: 99}} {
		_, err := rollback.Do(context.Background(), w.syncer.Tree(), req)
		if err == nil {
			t.Errorf("rollback %+v succeeded, want an error", req)
		}
	}
	equal(t, "generation", w.generation(), 1)
	w.serves("data", september())
}

func TestARollbackIsInTheHistory(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{})
	entry := w.history().Entries[0]
	if entry.Trigger != "rollback" || entry.Generation != 4 || !entry.OnDisk {
		t.Errorf("newest entry %+v", entry)
	}
}

// rot changes an object without a trace, as a disk does.
func (w *world) rot(content string) {
	w.Helper()
	w.overwrite(w.objectPath(idOf(content)), strings.ToUpper(content), false)
}

// A file that rotted while it lay on the disk does not go live by a rollback. A pin fetches
// it again.
func TestARottenRevisionDoesNotGoLiveAgain(t *testing.T) {
	for name, by := range map[string]request.Rollback{"the one before": {}, "a named generation": {Generation: 2}, "some manifests": {Manifests: []string{"data"}}} {
		t.Run(name, func(t *testing.T) {
			w := advanced(t)
			w.rot(october()["c.txt"])
			_, err := rollback.Do(context.Background(), w.syncer.Tree(), by)
			if err == nil || !strings.Contains(err.Error(), "c.txt of data 2026.10 is damaged on the disk: `syncd pin data 2026.10`") {
				t.Errorf("rollback: %v", err)
			}
			w.serves("data", november())
			equal(t, "generation", w.generation(), 3)
			equal(t, "damage", w.metric("syncd_verify_failures_total", "manifest=data"), 1.0)
			w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerPin})
			w.downloads()
			w.expect(w.demand(), "data", report.Updated)
			equal(t, "downloads", w.downloads(), []string{"c.txt"})
			w.serves("data", october())
		})
	}
}

// A rollback reads what is not served, unless a scrub has read it lately.
func TestARollbackReadsWhatAScrubHasNotRead(t *testing.T) {
	const reads = "reading files before they go live again"
	tests := []struct {
		name  string
		scrub func(now time.Time) store.Scrub
		read  bool
	}{
		{"no scrub", func(time.Time) store.Scrub { return store.Scrub{} }, true},
		{"after a scrub", func(now time.Time) store.Scrub { return store.Scrub{StartedAt: now, FinishedAt: now} }, false},
		{"while it runs", func(now time.Time) store.Scrub { return store.Scrub{StartedAt: now} }, true},
		{"a scrub before it was served", func(now time.Time) store.Scrub {
			return store.Scrub{StartedAt: now.Add(-time.Hour), FinishedAt: now}
		}, true},
		{"a clock that was ahead", func(now time.Time) store.Scrub {
			return store.Scrub{StartedAt: now.Add(48 * time.Hour), FinishedAt: now.Add(49 * time.Hour)}
		}, true},
		{"damage that is left", func(now time.Time) store.Scrub {
			return store.Scrub{StartedAt: now, FinishedAt: now, Left: []store.ScrubDamage{{Object: idOf(october()["c.txt"])}}}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := advanced(t)
			must(t, w.cfg.Store.SetScrub(tt.scrub(time.Now())))
			w.log.Reset()
			w.rollback(request.Rollback{})
			w.serves("data", october())
			if log := w.log.String(); strings.Contains(log, reads) != tt.read || tt.read && !strings.Contains(log, `"files":1,`) {
				t.Error(log)
			}
		})
	}
}
