package rings

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// served is a catalog: the releases of each manifest.
type served map[string][]Served

func (s served) Served(name string) (string, []Served) {
	name = strings.ToLower(name)
	return name, s[name]
}

func (s served) Destroyed() map[string][]destruction.Gone { return nil }

func (s served) Manifests() (names []string) {
	for name := range s {
		names = append(names, name)
	}
	return names
}

// release is a release with the only bytes that it ever had.
func release(month manifest.Release, liveAt time.Time) Served {
	return Served{Version{Release: month, Revision: "0123456789ab"}, liveAt}
}

// world is a Fleet over a real state file, with a clock that the test sets.
type world struct {
	*Fleet
	t     *testing.T
	path  string
	time  time.Time
	store *store.Store
	most  int // hosts of an ID
	served
	destroyed map[string][]destruction.Gone
	ids       map[string]string // that the file names; tests without any use what names they like
}

// catalog is what a world serves and has destroyed.
type catalog struct {
	served
	w *world
}

func (c catalog) Destroyed() map[string][]destruction.Gone { return c.w.destroyed }

func newWorld(t *testing.T, rings ...Ring) *world {
	w := &world{t: t, most: 1000, path: filepath.Join(t.TempDir(), "syncd.db"), time: start, served: served{
		"data": {release("2026.10", start.Add(-720*time.Hour)), release("2026.11", start)},
		"more": {release("2026.11", start)},
	}}
	w.open(rings...)
	t.Cleanup(func() { w.store.Close() })
	return w
}

func (w *world) open(rings ...Ring) {
	w.t.Helper()
	dir, err := fsops.OpenDir(filepath.Dir(w.path))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { dir.Close() })
	s, note, err := store.Open(dir, filepath.Base(w.path), time.Minute)
	if err != nil || note != "" {
		w.t.Fatal(note, err)
	}
	w.store = s
	if w.Fleet, err = New(catalog{w.served, w}, s, w.most, zerolog.Nop()); err != nil {
		w.t.Fatal(err)
	}
	w.now = func() time.Time { return w.time }
	if w.listener.ids = map[string]string{}; w.ids != nil {
		w.Name(w.ids)
	}
	w.Configure(rings, w.most)
}

// restart loses what was not saved.
func (w *world) restart(rings ...Ring) {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open(rings...)
}

// asker is host number n of a ring, each with an ID of its own.
func (w *world) asker(ring string, n int, told string) Asker {
	header := http.Header{"User-Agent": {"syncd/1"}, HeaderState: {fmt.Sprintf("host=h%d; id=1; version=1%s", n, told)}}
	return w.Asker(fmt.Sprintf("%s-%d", ring, n), ring, header)
}

// poll is a poll of data by such a host. It returns the releases that it sees.
func (w *world) poll(ring string, n int, told string) (seen []manifest.Release) {
	return w.pollAs(w.asker(ring, n, told))
}

func (w *world) pollAs(a Asker) (seen []manifest.Release) {
	w.Seen(a, "data")
	for _, p := range w.served["data"] {
		if w.Visible(a, "data", p) {
			seen = append(seen, p.Release)
		}
	}
	return seen
}

// Status has all pages.
func (w *world) Status() (all report.FleetStatus) {
	w.t.Helper()
	err := report.FleetPages(func(after *request.Follower) (report.FleetPage, error) {
		return w.Page(request.Fleet{After: after}), nil
	}).Each(func(page report.FleetPage) error {
		if len(all.Followers) == 0 {
			all.Rings, all.Stopped, all.Destroyed = page.Rings, page.Stopped, page.Destroyed
		}
		all.Followers = append(all.Followers, page.Followers...)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) wants(what string, got []manifest.Release, want ...manifest.Release) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s: %s", what, diff)
	}
}

const (
	takes   = "; release=2026.10"
	refuses = "; release=2026.10; refused=2026.11; reason=gate"
	newest  = manifest.Release("2026.11")
	oldest  = manifest.Release("2026.10")
)

var (
	canary = Ring{Name: "canary", StopAbove: -1}
	rest   = Ring{Name: "rest", Delay: 24 * time.Hour, StopAbove: 0.05}
	last   = Ring{Name: "last", Delay: 48 * time.Hour, StopAbove: -1}
)

func TestReleaseBecomesVisibleToARingAfterItsDelay(t *testing.T) {
	w := newWorld(t, canary, rest)
	for _, step := range []struct {
		after time.Duration
		want  []manifest.Release
	}{{0, []manifest.Release{oldest}}, {24*time.Hour - time.Second, []manifest.Release{oldest}}, {24 * time.Hour, []manifest.Release{oldest, newest}}} {
		w.time = start.Add(step.after)
		w.wants("canary", w.poll("canary", 1, takes), oldest, newest)
		w.wants("rest", w.poll("rest", 1, takes), step.want...)
		w.wants("no ring", w.poll("", 1, takes), step.want...)
		w.wants("a ring that is not configured", w.poll("gone", 1, takes), step.want...)
	}
	w.time = start.Add(-time.Hour)
	w.wants("canary, after the clock was set back", w.poll("canary", 1, takes), oldest, newest)
	w.Configure(nil, w.most)
	w.wants("without rings", w.poll("rest", 1, takes), oldest, newest)
}

func TestThreeRefusalsOfTwentyStopTheRelease(t *testing.T) {
	w := newWorld(t, canary, rest, last)
	for n := range 20 {
		w.poll("canary", n, takes)
	}
	w.time = start.Add(24 * time.Hour)
	w.poll("canary", 0, refuses)
	w.wants("one of twenty is 5%", w.poll("rest", 1, takes), oldest, newest)
	w.poll("canary", 1, refuses)
	w.poll("canary", 2, refuses)
	w.poll("canary", 2, refuses)
	w.wants("a host that has not polled before", w.poll("rest", 2, takes), oldest)
	w.time = start.Add(100 * time.Hour)
	w.wants("a ring after the stopped one", w.poll("last", 1, takes), oldest)
	w.wants("canary", w.poll("canary", 3, takes), oldest, newest)

	for n := range 3 { // the hosts turn to something else: the stop stays
		w.poll("canary", n, takes)
	}
	must(t, w.Save())
	w.restart(canary, rest, last)
	w.wants("after a restart", w.poll("rest", 2, takes), oldest)
	stopped := w.Status().Stopped
	want := []report.Stop{{Manifest: "data", Release: newest, Revision: "0123456789ab", By: "canary", From: "rest", At: start.Add(24 * time.Hour), Refused: 3, Of: 20, Hosts: []string{"canary-0/h0", "canary-1/h1", "canary-2/h2"}}}
	if diff := cmp.Diff(want, stopped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"canary": 0, "rest": 1, "last": 1}, w.Stopped()); diff != "" {
		t.Error(diff)
	}

	w.served["data"] = append(w.served["data"], release("2026.12", w.time))
	w.time = w.time.Add(24 * time.Hour)
	w.wants("a newer release", w.poll("rest", 2, takes), oldest, "2026.12")
	if diff := cmp.Diff(map[string]int{"canary": 0, "rest": 0, "last": 0}, w.Stopped()); diff != "" {
		t.Error(diff)
	}
}

func TestReleasesThatRingsNeed(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.served["data"] = append(w.served["data"], release("2026.09", start.Add(-1000*time.Hour)))
	wants := func(what string, want ...manifest.Release) {
		t.Helper()
		var needed []manifest.Release
		for _, v := range w.Needed("data") {
			needed = append(needed, v.Release)
		}
		slices.Sort(needed)
		w.wants(what, needed, want...)
	}
	wants("the later ring sees the older release, and could be stopped there", "2026.09", oldest, newest)
	w.time = start.Add(24 * time.Hour)
	wants("the newest may still be stopped", oldest, newest)
	w.poll("canary", 1, refuses)
	wants("stopped", "2026.09", oldest, newest)
	if _, err := w.Approve(newest); err != nil {
		t.Fatal(err)
	}
	wants("let go", newest)
	w.Configure([]Ring{canary, {Name: "rest", StopAbove: -1}}, w.most)
	wants("nothing can be stopped", newest)
	w.Configure(nil, w.most)
	wants("no rings")
}

func TestOperatorLetsAStoppedReleaseGo(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.poll("canary", 1, refuses)
	w.time = start.Add(24 * time.Hour)
	w.wants("stopped", w.poll("rest", 1, takes), oldest)
	if _, err := w.Approve("2026.09"); err == nil || !strings.Contains(err.Error(), "2026.09") {
		t.Errorf("a release that is not served: %v", err)
	}
	ended, err := w.Approve(newest)
	if err != nil || len(ended) != 1 {
		t.Fatalf("%v, %v", ended, err)
	}
	w.wants("let go", w.poll("rest", 1, takes), oldest, newest)
	w.restart(canary, rest)
	w.poll("canary", 1, refuses)
	w.poll("canary", 2, refuses)
	w.wants("after a restart and more refusals", w.poll("rest", 1, takes), oldest, newest)
}

// replaceBytes has the provider replace the bytes of the newest release now.
func (w *world) replaceBytes(revision string) {
	w.served["data"] = append([]Served{{Version{Release: newest, Revision: revision}, w.time}}, w.served["data"]...)
}

// sees is the revision of the newest release that a host sees, "" for none.
func (w *world) sees(ring string, n int, told string) string {
	a := w.asker(ring, n, told)
	w.Seen(a, "data")
	for _, s := range w.served["data"] { // the newest bytes come first
		if s.Release == newest && w.Visible(a, "data", s) {
			return s.Revision
		}
	}
	return ""
}

func TestReplacedBytesOfAStoppedReleaseBeginAtTheFirstRing(t *testing.T) {
	const first, second, third = "0123456789ab", "111111111111", "222222222222"
	const takesNew = "; release=2026.11; revision=aaaaaaaaaaaa"
	w := newWorld(t, canary, rest)
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: sees %q, want %q", what, got, want)
		}
	}
	w.time = start.Add(24 * time.Hour)
	w.poll("rest", 1, takes)
	is("a host that took it before the stop", w.sees("rest", 1, takesNew), first)
	w.poll("canary", 1, refuses)
	is("stopped", w.sees("rest", 2, takes), "")
	is("taken before", w.sees("rest", 1, takesNew), first)

	w.replaceBytes(second)
	w.poll("canary", 1, refuses) // of the bytes before: it has not seen the new ones
	is("the first ring", w.sees("canary", 1, refuses), second)
	is("a later ring", w.sees("rest", 2, takes), "")
	is("a host that took the bytes before", w.sees("rest", 1, takesNew), first)
	w.time = w.time.Add(24 * time.Hour)
	is("after the delay", w.sees("rest", 2, takes), second)
	is("after the delay, a host that took the bytes before", w.sees("rest", 1, takesNew), second)

	w.poll("canary", 1, refuses+"; refused_revision=bbbbbbbbbbbb") // the new ones, too
	is("stopped again", w.sees("rest", 2, takes), "")
	is("stopped again, a host that took the bytes before", w.sees("rest", 1, takesNew), first)
	if stops := w.Status().Stopped; len(stops) != 2 || stops[0].Revision == stops[1].Revision {
		t.Errorf("%+v", stops)
	}
	must(t, w.Save())
	w.restart(canary, rest)
	is("after a restart", w.sees("rest", 1, takesNew), first)
	if _, err := w.Approve(newest); err != nil {
		t.Fatal(err)
	}
	is("let go", w.sees("rest", 2, takes), second)
	w.time = w.time.Add(time.Hour)
	w.replaceBytes(third)
	w.poll("canary", 2, takes)
	w.poll("canary", 2, refuses)
	w.time = w.time.Add(24 * time.Hour)
	is("bytes that came after it was let go", w.sees("rest", 2, takes), second)
}

// A provider that corrects a file within a release makes hosts that serve the damaged one look
// well otherwise, also those whose daemon is dead.
func TestAHostThatServesReplacedBytesIsBehind(t *testing.T) {
	const first, second = "0123456789ab", "111111111111"
	const whole, part = "; release=2026.11; revision=", "; release=2026.11; revision=aaaaaaaaaaaa" // with filters, names differ
	w := newWorld(t, canary, rest)
	w.poll("canary", 1, whole+first)
	w.poll("canary", 2, part)
	w.time = start.Add(24 * time.Hour)
	w.poll("rest", 3, whole+first)
	is := func(when string, want ...report.FollowerState) {
		t.Helper()
		for i, f := range w.Status().Followers {
			if f.State != want[i] || f.State == report.FollowerBehind && f.Offered != newest {
				t.Errorf("%s: host %s is %s, offered %q, want %s", when, f.Host, f.State, f.Offered, want[i])
			}
		}
	}
	w.poll("canary", 1, whole+first)
	w.poll("canary", 2, part)
	is("before", report.FollowerInSync, report.FollowerInSync, report.FollowerInSync)
	w.replaceBytes(second)
	is("replaced", report.FollowerBehind, report.FollowerBehind, report.FollowerInSync)
	must(t, w.Save())
	w.restart(canary, rest)
	is("after a restart", report.FollowerBehind, report.FollowerBehind, report.FollowerInSync)
	w.poll("canary", 1, whole+first)
	w.poll("canary", 2, part)
	w.poll("canary", 2, part) // what it mirrors did not change
	is("polled", report.FollowerBehind, report.FollowerInSync, report.FollowerInSync)
	w.poll("canary", 1, whole+second)
	is("taken", report.FollowerInSync, report.FollowerInSync, report.FollowerInSync)
	w.time = w.time.Add(24 * time.Hour)
	w.poll("canary", 1, whole+second)
	w.poll("canary", 2, part)
	is("after the delay", report.FollowerInSync, report.FollowerInSync, report.FollowerBehind)
}

func TestAHostThatRefusedAReleaseIsNeverInSync(t *testing.T) {
	w := newWorld(t, canary, Ring{Name: "rest", StopAbove: 0})
	w.poll("rest", 1, takes)
	w.poll("rest", 2, takes)
	w.poll("rest", 2, "; release=2026.11")
	w.poll("canary", 1, refuses)
	w.poll("rest", 1, refuses) // its ring does not see the release any more
	w.poll("rest", 3, "; release=2026.10; refused=2026.12; reason=gate")
	for _, f := range w.Status().Followers {
		want := report.FollowerRefused
		if f.Host == "h2" {
			want = report.FollowerStopped
		}
		if f.State != want {
			t.Errorf("%s is %s, want %s", f.Name, f.State, want)
		}
	}
	if stops := w.Status().Stopped; len(stops) != 1 || stops[0].Refused != 1 {
		t.Errorf("%+v", stops)
	}
}

func TestAStopOfAnEarlierSyncdHidesTheRelease(t *testing.T) {
	w := newWorld(t, canary, Ring{Name: "rest", StopAbove: 0})
	stop := report.Stop{Manifest: "data", Release: newest, By: "canary", From: "rest", At: start}
	must(t, w.store.SetFleet(map[string]any{"stop\x00data\x002026.11": stop, "report\x00rest-1\x00h1\x001\x00data": map[string]any{"release": newest, "shown": newest, "took": newest, "seen_at": start}}))
	w.restart(canary, Ring{Name: "rest", StopAbove: 0})
	w.wants("stopped", w.poll("rest", 2, takes), oldest)
	w.wants("taken", w.poll("rest", 1, "; release=2026.11"), oldest, newest)
	if ended, err := w.Approve(newest); err != nil || len(ended) != 1 {
		t.Errorf("%v, %v", ended, err)
	}
	w.wants("let go", w.poll("rest", 2, takes), oldest, newest)
}

func TestLettingAReleaseGoDoesNotShortenTheDelay(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.poll("canary", 1, refuses)
	if _, err := w.Approve(newest); err != nil {
		t.Fatal(err)
	}
	w.wants("before the delay", w.poll("rest", 1, takes), oldest)
}

// The clock of this host was a year ahead when a release went live. Rings do not wait for that
// year, and what an operator says of the release counts, also after a restart.
func TestAClockThatWasAheadHoldsUpNoRing(t *testing.T) {
	w := newWorld(t, canary, rest, Ring{Name: "proven", AfterHosts: 1, StopAbove: -1, MaxWait: time.Hour})
	delete(w.served, "more")
	w.served["data"] = []Served{release(newest, start.AddDate(1, 0, 0))}
	w.wants("the first ring", w.poll("canary", 1, ""), newest)
	w.wants("before the delay", w.poll("rest", 1, ""))
	must(t, w.Save())
	w.restart(w.rings...)
	w.time = start.Add(24*time.Hour - time.Second)
	w.Advance()
	w.wants("a second before the delay", w.poll("rest", 1, ""))
	w.time = start.Add(24 * time.Hour)
	w.Advance()
	w.wants("after the delay", w.poll("rest", 1, ""), newest)
	w.wants("without a proof", w.poll("proven", 1, ""))
	w.time = w.time.Add(time.Hour)
	if waits := w.Overdue(); len(waits) != 1 || waits[0].Ring != "proven" {
		t.Errorf("nobody is told of the ring that waits: %+v", waits)
	}
	if _, err := w.Approve(newest); err != nil {
		t.Fatal(err)
	}
	w.wants("let go", w.poll("proven", 1, ""), newest)
	w.restart(w.rings...)
	w.wants("let go, after a restart", w.poll("proven", 1, ""), newest)
	w.poll("canary", 1, "; refused=2026.11; reason=gate")
	if stops := w.Status().Stopped; len(stops) != 0 {
		t.Errorf("stopped again: %+v", stops)
	}
	w.served["data"] = []Served{{Version{Release: newest, Revision: "ba9876543210"}, w.time.Add(time.Second)}}
	w.time = w.time.Add(time.Minute)
	w.wants("replaced bytes", w.poll("rest", 1, ""))
}

// The clock was a year ahead while a host polled, which is gone since.
func TestAHostThatPolledInTheFutureBecomesSilent(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.time = start.AddDate(1, 0, 0)
	w.poll("canary", 1, takes)
	must(t, w.Save())
	w.time = start
	w.restart(canary, rest)
	must(t, w.Save())
	w.restart(canary, rest)
	w.time = start.Add(silentAfter + time.Second)
	w.Advance()
	if hosts := w.Status().Followers; len(hosts) != 1 || hosts[0].State != report.FollowerSilent {
		t.Errorf("%+v", hosts)
	}
	if _, present := w.tallies[place{"canary", "data"}].Proven(Version{}); present != 0 {
		t.Errorf("%d hosts polled in the last day", present)
	}
	w.time = start.Add(forgetAfter + time.Second)
	w.Forget()
	if hosts := w.Status().Followers; len(hosts) != 0 {
		t.Errorf("not forgotten: %+v", hosts)
	}
}

func TestHostGoesOnSeeingTheReleaseThatItTook(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.time = start.Add(24 * time.Hour)
	w.poll("rest", 1, takes)     // sees 2026.11 and takes it slowly
	w.poll("canary", 1, refuses) // which stops it
	w.wants("on the way", w.poll("rest", 1, takes), oldest)
	w.wants("taken", w.poll("rest", 1, "; release=2026.11"), oldest, newest)
	w.wants("another host that only says so", w.poll("rest", 2, "; release=2026.11"), oldest)
	must(t, w.Save())
	w.restart(canary, rest)
	w.wants("after a restart", w.poll("rest", 1, "; release=2026.11"), oldest, newest)
	w.wants("another release", w.poll("rest", 1, takes), oldest)
}

func TestWhatCountsAsARefusal(t *testing.T) {
	for name, tt := range map[string]struct {
		told string
		ring string
		want bool
	}{
		"gate":                           {refuses, "canary", true},
		"mismatch":                       {"; refused=2026.11; reason=hash_mismatch", "canary", true},
		"two failures":                   {"; refused=2026.11; reason=failed; attempts=2", "canary", true},
		"one failure":                    {"; refused=2026.11; reason=failed; attempts=1", "canary", false},
		"a way back":                     {"; release=2026.12; refused=2026.11; reason=downgrade; attempts=3", "canary", false},
		"a release that is not served":   {"; refused=2026.12; reason=gate", "canary", false},
		"a ring that cannot see it yet":  {refuses, "rest", false},
		"an ID without ring":             {refuses, "", false},
		"a header that cannot be parsed": {refuses + "; x", "canary", false},
	} {
		w := newWorld(t, canary, rest)
		w.poll(tt.ring, 1, tt.told)
		if stopped := len(w.Status().Stopped) > 0; stopped != tt.want {
			t.Errorf("%s: stopped %t", name, stopped)
		}
	}
}

func TestOnlyHostsWithTheManifestCount(t *testing.T) {
	w := newWorld(t, canary, Ring{Name: "rest", StopAbove: 0.5})
	for n := range 20 {
		w.Seen(w.asker("canary", n, takes), "more", "unknown")
	}
	w.poll("canary", 1, refuses)
	if len(w.Status().Stopped) != 1 {
		t.Error("one host of one did not stop the release")
	}
	w.Seen(w.asker("canary", 1, takes), "MORE", "More") // the service ignores case
	if len(w.accounts["canary-1"].hosts[host{"h1", "1"}]) != 2 || w.tallies[place{"canary", "more"}].Hosts() != 20 {
		t.Errorf("%v", w.accounts["canary-1"].hosts[host{"h1", "1"}])
	}
}

func TestChangedRingsAreJudgedAtOnce(t *testing.T) {
	w := newWorld(t, canary, Ring{Name: "rest", StopAbove: -1})
	w.poll("canary", 1, refuses)
	w.wants("any may refuse", w.poll("rest", 1, takes), oldest, newest)
	w.Configure([]Ring{canary, {Name: "rest", StopAbove: 0}}, w.most)
	w.wants("none may refuse", w.poll("rest", 2, takes), oldest)
	w.Configure([]Ring{{Name: "first", StopAbove: -1}, {Name: "second", StopAbove: -1}}, w.most)
	w.wants("renamed rings", w.poll("second", 3, takes), oldest)
	w.wants("the first ring", w.poll("first", 3, takes), oldest, newest)
}

func TestViewNamesEachFollower(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.poll("canary", 1, refuses)
	w.Seen(w.asker("canary", 1, "; release=2026.11"), "more")
	w.poll("canary", 2, "; release=2026.11")
	w.poll("canary", 3, takes)
	w.poll("rest", 1, takes)
	w.poll("rest", 2, "")
	w.pollAs(w.Asker("canary-1", "canary", http.Header{"User-Agent": {"syncd/1"}})) // its first poll
	w.pollAs(w.Asker("shell", "rest", http.Header{"User-Agent": {"curl/8"}}))
	w.Seen(w.Asker("lost", "rest", http.Header{HeaderState: {"host=l; id=1"}}), "data")
	w.accounts["lost"].hosts[host{"l", "1"}]["data"].SeenAt = start.Add(-27 * time.Hour)
	var got []string
	view := w.Status()
	for _, f := range view.Followers {
		got = append(got, fmt.Sprintf("%s/%s %s %s %s %s", f.Name, f.Host, f.Ring, f.State, f.Release, f.Refused))
	}
	want := []string{
		"canary-1/h1 canary refused 2026.10 2026.11", "canary-2/h2 canary in_sync 2026.11 ", "canary-3/h3 canary behind 2026.10 ",
		"lost/l rest silent  ", "rest-1/h1 rest in_sync 2026.10 ", "rest-2/h2 rest pending  ", "shell/ rest unknown  ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if view.Rings[0].Hosts != 3 || view.Rings[1].Hosts != 3 || view.Rings[0].StopAbove != nil || *view.Rings[1].StopAbove != 0.05 {
		t.Errorf("%+v", view.Rings)
	}
	w.poll("rest", 3, "; release=1999.01") // made up
	if diff := cmp.Diff(map[Count]int{
		{"canary", "2026.11", report.FollowerRefused}: 1, {"canary", "2026.11", report.FollowerInSync}: 1, {"canary", "2026.10", report.FollowerBehind}: 1, {"rest", "none", report.FollowerSilent}: 1,
		{"rest", "2026.10", report.FollowerInSync}: 1, {"rest", "none", report.FollowerPending}: 1, {"rest", "none", report.FollowerUnknown}: 1, {"rest", "other", report.FollowerBehind}: 1,
	}, w.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestReportsOutliveARestartAndAreForgotten(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.poll("canary", 1, refuses)
	w.poll("canary", 2, takes)
	before := w.Status()
	must(t, w.Save())
	w.restart(canary, rest)
	if diff := cmp.Diff(before, w.Status()); diff != "" {
		t.Error(diff)
	}
	w.time = start.Add(forgetAfter)
	w.poll("canary", 2, takes)
	w.time = w.time.Add(time.Second)
	w.Forget()
	if got := w.Status().Followers; len(got) != 1 || got[0].Host != "h2" {
		t.Errorf("%+v", got)
	}
	if tally := w.tallies[place{"canary", "data"}]; tally.Hosts() != 1 || len(tally.RefusedVersions()) != 0 {
		t.Errorf("%+v", tally)
	}
	must(t, w.Save())
	w.restart(canary, rest)
	if len(w.Status().Followers) != 1 {
		t.Error("a forgotten host came back")
	}
}

func TestPollWithoutNewsIsNotSaved(t *testing.T) {
	w := newWorld(t, canary)
	w.poll("canary", 1, takes)
	must(t, w.Save())
	w.time = start.Add(saveEvery - time.Second)
	w.poll("canary", 1, takes)
	if len(w.changed) != 0 {
		t.Errorf("%v", w.changed)
	}
	w.time = start.Add(saveEvery)
	w.poll("canary", 1, takes)
	if len(w.changed) != 1 {
		t.Errorf("%v", w.changed)
	}
}

func TestIDThatMakesUpHostsPushesOutOnlyItsOwn(t *testing.T) {
	w := newWorld(t, canary)
	w.limit, w.maxHosts = 1000, 10_000
	w.poll("canary", 1, takes)
	for n := range 2 * w.limit {
		w.Seen(w.Asker("evil", "canary", http.Header{HeaderState: {fmt.Sprintf("host=h%d; id=1", n)}}), "data")
	}
	if w.count != w.limit || w.accounts["evil"].count != w.limit-1 || len(w.accounts["canary-1"].hosts[host{"h1", "1"}]) != 1 {
		t.Errorf("%d reports, %d of the attacker", w.count, w.accounts["evil"].count)
	}
}

// full is a state on a full disk.
type full struct{ *store.Store }

func (full) SetFleet(map[string]any) error { return errors.New("no space left on device") }

func TestMadeUpHostsNeedNoMemoryOnAFullDisk(t *testing.T) {
	w := newWorld(t, canary)
	w.limit, w.saver = 100, full{w.store}
	for n := range 10_000 {
		w.Seen(w.Asker("evil", "canary", http.Header{HeaderState: {fmt.Sprintf("host=h%d; id=1", n)}}), "data")
		if n%50 == 0 && w.Save() == nil {
			t.Fatal("saved on a full disk")
		}
	}
	if waiting := len(w.changed) + len(w.due); waiting > 2*w.limit {
		t.Errorf("%d entries wait to be saved", waiting)
	}
	w.saver = w.store
	must(t, w.Save())
	before := w.Status()
	w.restart(canary)
	if diff := cmp.Diff(before, w.Status()); diff != "" {
		t.Error(diff)
	}
}

// crowded is a state whose hosts poll with news while it saves.
type crowded struct {
	*store.Store
	poll  func()
	saved *[]map[string]any
}

func (c crowded) SetFleet(entries map[string]any) error {
	c.poll()
	*c.saved = append(*c.saved, entries)
	return c.Store.SetFleet(entries)
}

// A save went on as long as hosts polled with news, and with it `syncd fleet release`, behind
// which all syncs waited.
func TestASaveEndsWhileHostsPoll(t *testing.T) {
	w := newWorld(t, canary, rest)
	var saved []map[string]any
	attempts := 1
	w.saver = crowded{w.store, func() {
		if attempts++; attempts > 20 {
			t.Fatal("a save does not end while hosts poll")
		}
		w.poll("canary", 1, fmt.Sprint("; release=2026.10; refused=2026.11; reason=downgrade; attempts=", attempts))
	}, &saved}
	w.poll("canary", 1, "; release=2026.10")
	must(t, w.Save())
	if _, err := w.Approve("2026.11"); err != nil {
		t.Fatal(err)
	}
	last := saved[len(saved)-1]
	if _, hasIt := last[approvalKey("2026.11")]; !hasIt || len(last) > 1 {
		t.Errorf("what an operator decides is saved with %d entries of hosts", len(last)-1)
	}
	w.saver = w.store
	before := w.Status()
	must(t, w.Save())
	w.restart(canary, rest)
	if diff := cmp.Diff(before, w.Status()); diff != "" {
		t.Error(diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
