package mirror

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

func TestRetention(t *testing.T) {
	rows := []struct {
		name      string
		published []string
		retain    int
		want      []string
	}{
		{"nothing published", nil, 2, []string{}},
		{"retain 0", []string{"a1", "a2", "a3"}, 0, []string{"3: a3"}},
		{"retain 1", []string{"a1", "a2", "a3"}, 1, []string{"2: a2", "3: a3"}},
		{"retain 2", []string{"a1", "a2", "a3", "a4"}, 2, []string{"2: a2", "3: a3", "4: a4"}},
		{"retain more than there is", []string{"a1", "a2"}, 9, []string{"1: a1", "2: a2"}},
		{"one generation for each view", []string{"a1", "a2", "a2", "a2"}, 2, []string{"1: a1", "4: a2"}},
		{"rollback toggles", []string{"a1", "a2", "a1", "a2", "a1", "a2", "a1"}, 1, []string{"6: a2", "7: a1"}},
		{"rollback counts by the last time served", []string{"a1", "a2", "a3", "a1"}, 1, []string{"3: a3", "4: a1"}},
		{"two manifests, one after the other", []string{"a1 b1", "a2 b1", "a2 b2"}, 1, []string{"1: a1 b1", "2: a2 b1", "3: a2 b2"}},
		{"two manifests, retain 0", []string{"a1 b1", "a2 b1", "a2 b2"}, 0, []string{"3: a2 b2"}},
		{"a removed manifest goes", []string{"a1 b1", "a1"}, 5, []string{"2: a1"}},
		{"an added manifest takes nothing away", []string{"a1", "a1 b1"}, 5, []string{"1: a1", "2: a1 b1"}},
		{"all removed", []string{"a1 b1", ""}, 5, []string{"2: "}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMirror(t)
			publishAll(t, m, row.published...)
			next, err := m.Prune(Retention{Revisions: row.retain}, days(1))
			if err != nil || !next.IsZero() {
				t.Errorf("again at %v, %v", next, err)
			}
			same(t, row.want, shown(t, m))
			checkWhole(t, m)
			checkNoOrphans(t, m, nil)
		})
	}
}

func TestARevisionIsRetainedWhenNoGenerationShowsItAnyMore(t *testing.T) {
	rows := []struct {
		name      string
		published []string
		manifest  string
		shown     []string
		revisions int
	}{
		{"beside a manifest that changes more often", []string{"a1 b1", "a1 b2", "a2 b2", "a3 b2"}, "b", []string{"3: a2 b2", "4: a3 b2"}, 2},
		{"after another manifest left", []string{"a1 b1", "a2 b1", "a2"}, "a", []string{"3: a2"}, 2},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMirror(t)
			publishAll(t, m, row.published...)
			for range 2 { // the second time it is the kept record that counts
				if _, err := m.Prune(Retention{Revisions: 1}, days(1)); err != nil {
					t.Fatal(err)
				}
				same(t, row.shown, shown(t, m))
			}
			records, err := m.Records.Revisions(row.manifest)
			if err != nil || len(records) != row.revisions {
				t.Fatalf("%d revisions on disk, want %d; %v", len(records), row.revisions, err)
			}
			mustPublish(t, m, records[1]) // it is whole
			checkWhole(t, m)
			checkNoOrphans(t, m, nil)
		})
	}
}

func TestNothingIsPrunedBeforeRetainForHasPassed(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2", "a3")
	at := time.Now().Add(-10 * time.Hour).Truncate(time.Second)
	for n, came := range map[int]time.Time{1: at, 2: at.Add(time.Hour), 3: at.Add(2 * time.Hour)} {
		setTime(t, m, n, came)
	}
	m = recovered(t, m.dir) // a process that has seen none of that
	steps := []struct {
		name string
		now  time.Time
		next time.Time
		want []string
	}{
		{"the first left an hour after it came", at.Add(2 * time.Hour), at.Add(3 * time.Hour), []string{"1: a1", "2: a2", "3: a3"}},
		{"just before", at.Add(3*time.Hour - time.Nanosecond), at.Add(3 * time.Hour), []string{"1: a1", "2: a2", "3: a3"}},
		{"the first is due", at.Add(3 * time.Hour), at.Add(4 * time.Hour), []string{"2: a2", "3: a3"}},
		{"a clock that went back counts anew", at.Add(-time.Hour), at.Add(time.Hour), []string{"2: a2", "3: a3"}},
		{"the second is due", at.Add(time.Hour), time.Time{}, []string{"3: a3"}},
	}
	for _, step := range steps {
		next, err := m.Prune(Retention{For: 2 * time.Hour}, step.now)
		if err != nil || !next.Equal(step.next) {
			t.Errorf("%s: again at %v, want %v; %v", step.name, next, step.next, err)
		}
		if diff := cmp.Diff(step.want, shown(t, m)); diff != "" {
			t.Errorf("%s: other generations stayed: %s", step.name, diff)
		}
		checkWhole(t, m)
		checkNoOrphans(t, m, nil)
	}
}

func TestADisplacedRevisionIsPrunedEarly(t *testing.T) {
	for retain, want := range map[int][]string{
		0: {"4: a4 b4"},
		1: {"4: a4 b4"},
		2: {"3: a3 b3", "4: a4 b4"},
		9: {"1: a1 b1", "2: a2 b2", "3: a3 b3", "4: a4 b4"},
	} {
		t.Run(fmt.Sprint(retain), func(t *testing.T) {
			m := newMirror(t)
			publishAll(t, m, "a1 b1", "a2 b2", "a3 b3", "a4 b4")
			keep := Retention{Revisions: retain, Displaced: map[string]bool{"a": true, "b": true}}
			if _, err := m.Prune(keep, days(1)); err != nil {
				t.Fatal(err)
			}
			same(t, want, shown(t, m))
			checkWhole(t, m)
			checkNoOrphans(t, m, nil)
		})
	}
}

func TestPruneKeepsUnservedObjectsWhileTheStateIsUnknown(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1", "a2")
	loose := adopt(t, m, "loose")
	if _, err := m.Prune(Retention{Unknown: true}, days(1)); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Objects.Find(loose.ID); !ok {
		t.Error("the loose object is gone")
	}
	if _, ok := m.Objects.Find(sumOf("a1")); ok {
		t.Error("the object of a generation that went stayed")
	}
	same(t, []string{"2: a2"}, shown(t, m))
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	checkNoOrphans(t, m, nil)
}

func TestPruneKeepsObjectsOfUnfinishedSyncs(t *testing.T) {
	m := newMirror(t)
	publishAll(t, m, "a1")
	held, loose := adopt(t, m, "held"), adopt(t, m, "loose")
	keep := map[manifest.ObjectID]bool{held.ID: true, sumOf("not there"): true}
	if _, err := m.Prune(Retention{Objects: keep}, days(1)); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Objects.Find(held.ID); !ok {
		t.Error("the held object is gone")
	}
	if _, ok := m.Objects.Find(loose.ID); ok {
		t.Error("the loose object stayed")
	}
	if _, err := m.Prune(Retention{}, days(1)); err != nil {
		t.Fatal(err)
	}
	checkNoOrphans(t, m, nil)
	checkWhole(t, m)
}
