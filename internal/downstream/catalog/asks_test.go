package catalog_test

import (
	"context"
	"testing"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
)

func TestWhatFollowersUseStaysOnDisk(t *testing.T) {
	w := start(t)
	old, _ := twoReleases(w)
	w.ask("addr_data", "2026.09")
	w.prune()
	equal(t, "the old release", w.content(september), "a of september")
	equal(t, "releases", w.releases("addr_data"), "2026.09 2026.10")
	until := w.catalog.Kept(time.Now())[old.Key()]
	if left := time.Until(until); left < 59*time.Minute || left > time.Hour {
		t.Errorf("it is kept for %s", left)
	}
}

func TestWhatNobodyUsesLeavesTheCatalogBeforeTheDisk(t *testing.T) {
	w := start(t)
	old, _ := twoReleases(w)
	snapshot := w.catalog.Snapshot()
	f, _ := w.file(september, nil)
	now := time.Now()
	removed := false
	_, err := w.mirrorPrune(now, func(stays func(string) bool) bool {
		removed = w.catalog.Retire(stays, now)
		equal(t, "while it is on disk", w.content(september), "")
		return removed
	})
	w.must(err)
	if _, err := w.catalog.Open(f); err == nil || !removed {
		t.Error("it is on disk")
	}
	if earlier, _ := snapshot.Manifest("addr_data", "2026.09", nil); earlier.ID != old.ID() || w.catalog.Asked(t.Context(), earlier) {
		t.Error("a follower with an earlier snapshot is promised a revision that was removed")
	}
	equal(t, "the shared file", w.content(shared), "shared")
}

func TestAQuestionDuringPruningKeepsTheRevision(t *testing.T) {
	w := start(t)
	twoReleases(w)
	now := time.Now()
	_, err := w.mirrorPrune(now, func(stays func(string) bool) bool {
		w.ask("addr_data", "2026.09")
		return w.catalog.Retire(stays, now)
	})
	w.must(err)
	w.prune()
	equal(t, "content", w.content(september), "a of september")
	w.ask("addr_data", "2026.09")
}

func TestARestartKnowsWhatFollowersUse(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.ask("addr_data", "2026.09")
	w.restart()
	w.prune()
	equal(t, "content", w.content(september), "a of september")
}

func TestAKeptReleaseGoesWhenItsTimeIsOver(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.ask("addr_data", "2026.09")
	w.prune()
	equal(t, "before", w.content(september), "a of september")
	w.keep = 200 * time.Millisecond
	w.restart()
	for deadline := time.Now().Add(30 * time.Second); len(w.catalog.Kept(time.Now())) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is kept for ever")
		}
	}
	w.prune()
	equal(t, "after", w.content(september), "")
	equal(t, "releases", w.releases("addr_data"), "2026.10")
}

func TestARepeatedQuestionWritesNothing(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.ask("addr_data", "latest")
	saved, err := w.store.Asked()
	w.must(err)
	for range 1000 {
		w.ask("addr_data", "latest")
	}
	again, err := w.store.Asked()
	w.must(err)
	equal(t, "the state", again, saved)
	r, _ := w.catalog.Snapshot().Manifest("addr_data", "latest", nil)
	if n := testing.AllocsPerRun(100, func() { w.catalog.Asked(context.Background(), r) }); n > 2 {
		t.Errorf("%v allocations for a question", n)
	}
}

func TestWithoutKeepNothingIsKept(t *testing.T) {
	w := start(t)
	w.keep = 0
	w.restart()
	twoReleases(w)
	w.ask("addr_data", "2026.09")
	w.prune()
	equal(t, "content", w.content(september), "")
}

func TestWhatARingNeedsStays(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.catalog.SetNeeded(func(s *catalog.Snapshot) (needed []*catalog.Revision) {
		r, _ := s.Manifest("addr_data", "latest", func(r *catalog.Revision) bool { return r.Release < manifest.Release("2026.10") })
		return []*catalog.Revision{r}
	})
	w.prune()
	equal(t, "content", w.content(september), "a of september")
}

func TestWhatFollowersUseWasLive(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.ask("addr_data", "2026.09")
	w.forgetful = true
	w.restart()
	equal(t, "releases", w.releases("addr_data"), "2026.09 2026.10")
}

func TestWhatIsBeingRemovedDoesNotComeBack(t *testing.T) {
	w := start(t)
	old, _ := twoReleases(w)
	now := time.Now()
	_, err := w.mirrorPrune(now, func(stays func(string) bool) bool {
		defer w.catalog.Refresh() // something was staged meanwhile
		return w.catalog.Retire(stays, now)
	})
	w.must(err)
	equal(t, "releases", w.releases("addr_data"), "2026.10")
	w.publish(w.record("Addr_Data", old.Release, files{september: "a of september", shared: "shared"}))
	equal(t, "when it is live again", w.content(september), "a of september")
	w.publish(w.record("Addr_Data", "2026.11", files{"Data/2026.11/a.dat": "november"}))
	equal(t, "afterwards", w.releases("addr_data"), "2026.09 2026.10 2026.11")
}
