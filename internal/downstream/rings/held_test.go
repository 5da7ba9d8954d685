package rings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Hosts tell what they hold. The fleet says which of them still hold what was destroyed here,
// also after a restart.
func TestFleetShowsWhoStillHoldsADestroyedRelease(t *testing.T) {
	const (
		both  = takes + "; held=2; holds=2026.09-56789abcdef0+2026.10-0123456789ab"
		other = takes + "; held=2; holds=2026.09-ffffffffffff+2026.10-0123456789ab" // by other filters
		more  = takes + "; held=9; holds=2026.10-0123456789ab"
		clean = takes + "; held=1; holds=2026.10-0123456789ab"
	)
	w := newWorld(t, canary)
	for n, told := range []string{both, other, more, clean, takes} {
		w.poll("canary", n, told)
	}
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	w.restart(canary)
	w.destroyed = map[string][]destruction.Gone{"data": {{Release: "2026.09", Revision: "56789abcdef0", At: start}}}
	held := func(hosts ...string) []report.Destroyed {
		return []report.Destroyed{{Manifest: "data", Release: "2026.09", Revision: "56789abcdef0", At: start, Held: len(hosts), Untold: 1, Hosts: append([]string{}, hosts...)}}
	}
	got := w.Status()
	if diff := cmp.Diff(held("canary-0/h0"), got.Destroyed); diff != "" {
		t.Error(diff)
	}
	type holds struct {
		Holds     []manifest.Release
		More      int
		Destroyed []manifest.Release
	}
	want := []holds{
		{[]manifest.Release{"2026.10", "2026.09"}, 0, []manifest.Release{"2026.09"}}, {[]manifest.Release{"2026.10", "2026.09"}, 0, nil},
		{[]manifest.Release{"2026.10"}, 8, nil}, {[]manifest.Release{"2026.10"}, 0, nil}, {},
	}
	for i, f := range got.Followers {
		if diff := cmp.Diff(want[i], holds{f.Holds, f.HoldsMore, f.Destroyed}); diff != "" {
			t.Errorf("%s: %s", f.Host, diff)
		}
	}
	if page := w.Page(request.Fleet{Release: "2026.09"}); len(page.Followers) != 2 {
		t.Errorf("two hosts hold the release, got %+v", page.Followers)
	}

	w.destroyed["data"][0].Revision = "" // all of the release
	if got := w.Status().Destroyed; len(got) != 1 || got[0].Held != 2 {
		t.Errorf("two hosts hold a revision of the release, got %+v", got)
	}
	w.poll("canary", 0, takes+"; held=3; holds=2026.09-56789abcdef0+2026.09-ffffffffffff+2026.09-56789abcdef0")
	if got := w.Status().Destroyed; len(got) != 1 || got[0].Held != 2 {
		t.Errorf("a host counts once, got %+v", got)
	}
	for n := range 2 {
		w.poll("canary", n, clean)
	}
	if got := w.Status().Destroyed; len(got) != 1 || got[0].Held != 0 || got[0].Untold != 1 {
		t.Errorf("no host holds the release any more, got %+v", got)
	}
	w.time = start.Add(showGone + time.Hour)
	if got := w.Status().Destroyed; len(got) != 0 {
		t.Errorf("destroyed long ago, and held by no host: %+v", got)
	}
}
