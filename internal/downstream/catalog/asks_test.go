package catalog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

func TestWhatFollowersUseStaysOnDisk(t *testing.T) {
	w := start(t)
	old, _ := twoReleases(w)
	w.ask("addr_data", "2026.09")
	w.prune()
	equal(t, "the old release", w.content(september), "a of september")
	equal(t, "releases", w.releases("addr_data"), "2026.09 2026.10")
	until := w.catalog.Kept(time.Now())[old.Key()].Until
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
		removed = w.catalog.Retire(stays, nil, now)
		equal(t, "while it is on disk", w.content(september), "")
		return removed
	})
	w.must(err)
	if _, err := w.catalog.Open(f); err == nil || !removed {
		t.Error("it is on disk")
	}
	if earlier, _ := snapshot.Manifest("addr_data", "2026.09", nil); earlier.ID != old.ID() || w.catalog.Asked(t.Context(), earlier, "db01") {
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
		return w.catalog.Retire(stays, nil, now)
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
	if n := testing.AllocsPerRun(100, func() { w.catalog.Asked(context.Background(), r, "db01") }); n > 2 {
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
		return w.catalog.Retire(stays, nil, now)
	})
	w.must(err)
	equal(t, "releases", w.releases("addr_data"), "2026.10")
	w.publish(w.record("Addr_Data", old.Release, files{september: "a of september", shared: "shared"}))
	equal(t, "when it is live again", w.content(september), "a of september")
	w.publish(w.record("Addr_Data", "2026.11", files{"Data/2026.11/a.dat": "november"}))
	equal(t, "afterwards", w.releases("addr_data"), "2026.09 2026.11") // a rollback left the other one
}

// claims has the turn of each release that followers use.
func (w *world) claims() map[string]int {
	turns := map[string]int{}
	for key, claim := range w.catalog.Kept(time.Now()) {
		turns[key[len("Addr_Data/"):][:7]] = claim.Turn
	}
	return turns
}

// An id that asked about each release pinned them all, until the disk was full.
func TestAnIDPushesOutOnlyWhatItAskedAboutItself(t *testing.T) {
	w := start(t)
	months := []string{"2026.06", "2026.07", "2026.08", "2026.09", "2026.10"}
	for _, month := range months {
		file := manifest.Reference("Data/" + month + "/a.dat")
		w.publish(w.record("Addr_Data", manifest.Release(month), files{string(file): strings.Repeat(month, 100)}))
	}
	asked := func(follower, release string) bool {
		r, err := w.catalog.Snapshot().Manifest("addr_data", release, nil)
		w.must(err)
		return w.catalog.Asked(t.Context(), r, follower)
	}
	asked("good", "2026.06")
	for _, month := range months {
		asked("evil", month)
		time.Sleep(time.Millisecond) // so that one is later than the other
	}
	equal(t, "turns", w.claims(), map[string]int{"2026.06": 0, "2026.07": 3, "2026.08": 2, "2026.09": 1, "2026.10": 0})
	w.catalog.SetKeepMax(1500) // two of 700 bytes
	w.prune()
	equal(t, "releases", w.releases("addr_data"), "2026.06 2026.09 2026.10")

	w.restart() // the state knows who asked
	w.catalog.KeepOnly(map[string]string{"good": ""})
	w.catalog.SetKeepMax(0)
	w.prune()
	equal(t, "releases after the id was removed", w.releases("addr_data"), "2026.06 2026.10")
	w.catalog.KeepOnly(nil)
	w.prune()
	equal(t, "releases after all ids were removed", w.releases("addr_data"), "2026.10")
}

// A follower that asks again and again about what is to go cannot hold up pruning.
func TestWhatGivesWayCannotHoldUpPruning(t *testing.T) {
	w := start(t)
	twoReleases(w)
	w.ask("addr_data", "2026.09")
	now := time.Now()
	known := w.catalog.Kept(now)
	retired := false
	_, err := w.mirror.Prune(mirror.Retention{Asked: known, AskedBytes: 1, Retire: func(stays func(string) bool) bool {
		w.ask("addr_data", "2026.09")
		retired = w.catalog.Retire(stays, known, now)
		return retired
	}}, now)
	w.must(err)
	equal(t, "content", w.content(september), "")
	if !retired {
		t.Error("a question held up pruning")
	}
}
