package mirror

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

const year = 365 * 24 * time.Hour

// These tests set the times of generations, which has the same effect as setting the
// clock.

func TestAClockThatJumpsAheadPrunesNothingEarly(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2")
	setTime(t, m, 2, time.Now().Add(-year))
	keep := Retention{For: time.Hour}
	now := time.Now()
	next, err := m.Prune(keep, now)
	if diff := cmp.Diff([]string{"1: a1", "2: a2"}, shown(t, m)); diff != "" || err != nil {
		t.Errorf("a generation that left just now went: %v %s", err, diff)
	}
	if wait := next.Sub(now); wait <= 0 || wait > time.Hour {
		t.Errorf("the next goes in %v", wait)
	}
	if _, err := m.Prune(keep, next); err != nil {
		t.Fatal(err)
	}
	same(t, []string{"2: a2"}, shown(t, m))
}

func TestAClockThatWasAheadKeepsNothingForLongerThanRetainFor(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2", "a3")
	for n := 1; n <= 3; n++ {
		setTime(t, m, n, time.Now().Add(year))
	}
	m = recovered(t, m.dir)
	keep, now := Retention{For: time.Hour}, time.Now()
	for range 2 {
		next, err := m.Prune(keep, now)
		if err != nil || !next.Equal(now.Add(time.Hour)) {
			t.Errorf("the next goes at %v, want an hour after %v: %v", next, now, err)
		}
		same(t, []string{"1: a1", "2: a2", "3: a3"}, shown(t, m))
	}
	m = recovered(t, m.dir) // the next process counts on
	if _, err := m.Prune(keep, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	same(t, []string{"3: a3"}, shown(t, m))
}

func TestFreeableLeavesTimesFromTheFutureAsTheyAre(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2", "a3")
	future := time.Now().Add(year).Truncate(time.Second)
	for n := 1; n <= 3; n++ {
		setTime(t, m, n, future)
	}
	m = recovered(t, m.dir)
	now := time.Now()
	if freed, err := m.Freeable(Retention{For: time.Hour}, now); err != nil || !freed.Last.Equal(now.Add(time.Hour)) {
		t.Errorf("the last goes at %v, want an hour after %v: %v", freed.Last, now, err)
	}
	for n := 1; n <= 3; n++ {
		info, err := os.Stat(m.path("generations", generationName(n)))
		if err != nil || !info.ModTime().Equal(future) {
			t.Errorf("generation %d: its time became %v, %v", n, info.ModTime(), err)
		}
	}
	if freed, err := m.Freeable(Retention{For: time.Hour}, now.Add(time.Minute)); err != nil || !freed.Last.Equal(now.Add(time.Hour+time.Minute)) {
		t.Errorf("the first look was remembered: the last goes at %v, %v", freed.Last, err)
	}
}

func TestTheNextPruneTimeUsesTheMonotonicClock(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2")
	m = recovered(t, m.dir) // only the folder's time is known, which is the wall clock's
	next, err := m.Prune(Retention{For: time.Hour}, time.Now())
	if err != nil || next == next.Round(0) {
		t.Errorf("%v would move with the wall clock; %v", next, err)
	}
}

func TestTheTimeOfAGenerationIsThatOfItsSwap(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1")
	next, err := m.Generations.build(Change{Remove: []string{"a"}})
	must(t, err)
	setTime(t, m, next.Number, time.Now().Add(-time.Hour)) // so long took what came after
	next.PublishedAt = time.Now().Add(-time.Hour)
	before := time.Now()
	must(t, m.Generations.swapTo(next))
	info, err := os.Stat(m.path("generations", generationName(next.Number)))
	if err != nil || info.ModTime().Before(before.Add(-time.Second)) || m.Current().PublishedAt.Before(before) {
		t.Errorf("came at %v, in memory %v; the swap was after %v; %v", info.ModTime(), m.Current().PublishedAt, before, err)
	}
}

func TestTheOrderOfRevisionsIgnoresTheClock(t *testing.T) {
	m := newMirror(t)
	now := time.Now()
	for i, published := range []time.Time{now, now.Add(-year), now.Add(-year + time.Hour)} { // set back after the first
		release := manifest.Release("2026.0" + string(rune('1'+i)))
		record := recordOf(t, m, "a", release, files{"x": string(release)})
		record.PublishedAt = published
		mustPublish(t, m, record)
	}
	if _, err := m.Prune(Retention{Revisions: 1}, days(1)); err != nil {
		t.Fatal(err)
	}
	same(t, []string{"2: a2", "3: a3"}, shown(t, m))
}

func TestARevisionThatNoGenerationShowsIsOrderedByItsTime(t *testing.T) {
	m := newMirror(t)
	at := time.Now().Add(-year)
	publish := func(name, release string, others ...Record) {
		record := recordOf(t, m, name, manifest.Release(release), files{"x": name + release})
		at = at.Add(time.Hour)
		record.PublishedAt = at
		mustPublish(t, m, append(others, record)...)
	}
	publish("a", "2026.01")
	other := recordOf(t, m, "b", "2026.01", files{"x": "b"})
	publish("a", "2026.02", other) // the generation of this one goes with b
	mustChange(t, m, Change{Remove: []string{"b"}})
	publish("a", "2026.03")
	for _, step := range []struct {
		retain int
		want   []manifest.Release
	}{{2, []manifest.Release{"2026.03", "2026.02", "2026.01"}}, {1, []manifest.Release{"2026.03", "2026.02"}}} {
		for _, n := range []int{2, 3} { // left alone, a2 has its record only
			must(t, os.RemoveAll(m.path("generations", generationName(n))))
		}
		if _, err := m.Prune(Retention{Revisions: step.retain}, days(1)); err != nil {
			t.Fatal(err)
		}
		records, err := m.Records.Revisions("a")
		must(t, err)
		var got []manifest.Release
		for _, r := range records {
			got = append(got, r.Release)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("retain %d: %s", step.retain, diff)
		}
	}
}

func TestAnUnsyncedSwapIsRepeatedBeforeUse(t *testing.T) {
	if !asOrdinaryUser(t) {
		return
	}
	m := newMirror(t)
	publishAll(t, m, "a1", "a2")
	back := m.Current().Records["a"]
	publishAll(t, m, "a1")
	chmod := func(perm os.FileMode) {
		t.Helper()
		must(t, os.Chmod(m.dir, perm))
	}
	t.Cleanup(func() { os.Chmod(m.dir, 0o755) })
	chmod(0o311) // names can be made, and not synced
	if _, err := m.Publish(t.Context(), Change{Set: []Record{back}}); err == nil {
		t.Fatal("a swap that was not synced is said to be done")
	}
	if m.Current().Number != 4 {
		t.Fatalf("served is %d, want 4", m.Current().Number)
	}
	for range 2 {
		if err := m.Refresh(); err == nil {
			t.Error("a swap that may not last is taken for one that does")
		}
	}
	chmod(0o755)
	if err := m.Refresh(); err != nil {
		t.Error(err)
	}
	chmod(0o311) // what is done is not done again
	if err := m.Refresh(); err != nil {
		t.Error(err)
	}
	chmod(0o755)
	checkWhole(t, m)
}
