package syncer

import (
	"testing"

	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/syncer/source"
)

func TestFilesOfViewsTakeMemory(t *testing.T) {
	const limit = 1 << 30 * 9 / 10 // of the unit
	for views, least := range []int{500_000, 350_000, 250_000} {
		if room := roomFor(limit, views, false); room < least {
			t.Errorf("%d views: room for %d files, want %d", views, room, least)
		}
		if roomFor(limit, views, false) <= roomFor(limit, views+1, false) {
			t.Errorf("%d views take no memory", views+1)
		}
	}
	if room := roomFor(limit, 0, true); room < 250_000 || room >= roomFor(limit, 0, false) {
		t.Errorf("serving others: room for %d files", room)
	}
}

func TestManifestsTogetherKeepNoMoreFilesThanTheMemoryHolds(t *testing.T) {
	s := NewShared()
	jobOf := func(name string) *job { return &job{target: targetOf(name)} }
	a, b, c, again := jobOf("a"), jobOf("b"), jobOf("c"), jobOf("a")
	s.begin(&run{jobs: []*job{a, b, c}})
	s.begin(&run{jobs: []*job{again}})
	served := map[string]mirror.Record{"b": {Files: make([]mirror.File, 20_000)}}
	for _, step := range []struct {
		name         string
		of           *job
		files        int
		served       map[string]mirror.Record
		wantOthers   int
		wantAccepted bool
	}{
		{"a first list", a, 60_000, nil, 0, true},
		{"one that does not fit beside it", b, 40_001, nil, 60_000, false},
		{"a small one always fits", c, source.SmallList, nil, 60_000, true},
		{"one that just fits", b, 35_000, nil, 65_000, true},
		{"another sync's job of the same manifest counts once", again, 60_000, nil, 40_000, true},
		{"what is served counts, too, once", a, 90_000, served, 40_000, false},
	} {
		others, accepted := s.takeFiles(step.of, step.files, 100_000, step.served)
		if others != step.wantOthers || accepted != step.wantAccepted {
			t.Errorf("%s: %d others, accepted %t; want %d, %t", step.name, others, accepted, step.wantOthers, step.wantAccepted)
		}
	}
}

func targetOf(name string) golive.Target { return golive.Target{Target: manifest.Target{Name: name}} }

// noEntry answers no questions.
func noEntry() *source.Entry { return source.New(source.Config{}).Entry(source.Question{}) }
