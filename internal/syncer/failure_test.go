package syncer_test

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func TestOneBadManifestNeverHoldsUpAnother(t *testing.T) {
	for phase, fault := range map[string]emulator.Fault{
		"releases refused":    {Kind: emulator.KindStatus, Status: 401, Path: "/ManifestReleases/bad"},
		"releases unknown":    {Kind: emulator.KindStatus, Status: 410, Path: "/ManifestReleases/bad"},
		"service unavailable": {Kind: emulator.KindStatus, Status: 503, Path: "/*bad*"},
		"list missing":        {Kind: emulator.KindStatus, Status: 404, Path: "/Manifest/*/bad"},
		"list of nonsense":    {Kind: emulator.KindShape, Shape: "nonsense", Path: "/Manifest/*/bad"},
		"digest missing":      {Kind: emulator.KindStatus, Status: 400, Path: "/SHA256/*/bad.dat"},
		"size too large":      {Kind: emulator.KindBody, Path: "/Metadata/*/bad.dat", Body: `{"FileSize":"1000000000000000"}`},
		"download missing":    {Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/bad.dat"},
		"connection reset":    {Kind: emulator.KindReset, Host: emulator.HostDownload, Path: "*/bad.dat"},
		"bytes wrong":         {Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/bad.dat"},
		"license says no":     {Kind: emulator.KindStatus, Status: 403, Type: "invalidProduct", Path: "/Download/*/bad.dat"},
	} {
		t.Run(phase, func(t *testing.T) {
			w := start(t, "bad", "good")
			w.source.Retry.MaxElapsed = 50 * time.Millisecond
			w.configure()
			w.publish("bad", "2026.09", files{"bad.dat": "bytes", "other.dat": "other"})
			w.publish("good", "2026.09", september())
			w.provider.AddFault(fault)
			result := w.demand()
			bad := only(t, result, "bad")
			if result.OK() || bad.Error == "" || bad.Result != report.Failed && bad.Result != report.Refused {
				t.Errorf("bad: %+v", bad)
			}
			w.expect(result, "good", report.Updated)
			w.serves("good", september())
			w.serves("bad", nil)

			w.provider.ClearFaults()
			w.expect(w.demand(), "bad", report.Updated)
			w.serves("bad", files{"bad.dat": "bytes", "other.dat": "other"})
		})
	}
}

func TestTransientFaultsAreRetriedWithinASync(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	for _, path := range []string{"/ManifestReleases/*", "/Manifest/*", "/SHA256/*", "/Metadata/*", "/Download/*"} {
		w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 502, Path: path, Times: 2})
	}
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload, After: 3, Times: 2})
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", october())
	if resumed := w.metric("syncd_resumed_bytes_total", "manifest=data"); resumed < 6 {
		t.Errorf("%v bytes resumed, after two connections that broke", resumed)
	}
}

// broken is a world whose next release is listed and always fails.
func broken(t *testing.T) *world {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/b.dat"})
	return w
}

func TestTheBackOffGrowsWhileAReleaseKeepsFailing(t *testing.T) {
	w := broken(t)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 24, 24} {
		wait *= time.Hour
		w.expect(w.poll(), "data", report.Failed)
		if len(w.downloads()) == 0 {
			t.Fatalf("before the wait of %v: not tried", wait)
		}
		if state := w.state("data"); state.Failure.NextTry.Sub(state.CheckedAt) != wait {
			t.Errorf("waits for %v, want %v", state.Failure.NextTry.Sub(state.CheckedAt), wait)
		}
		w.pass(wait - time.Minute)
		again := w.expect(w.poll(), "data", report.Failed)
		equal(t, "requests while it waits", w.asked("/"), []string{"/ManifestReleases/data"})
		if !strings.Contains(again.Error, "404") {
			t.Errorf("while it waits the error is %q", again.Error)
		}
		w.pass(time.Minute)
	}
	w.serves("data", september())
}

func TestARefusedReleaseWaitsAndKeepsItsReason(t *testing.T) {
	w := served(t)
	w.provider.SetLinks("data", "2026.10")
	w.expect(w.poll(), "data", report.Refused)
	again := w.expect(w.poll(), "data", report.Refused)
	equal(t, "reason", again.Reason, "empty")
	equal(t, "requests", w.asked("/"), []string{"/ManifestReleases/data"})
	equal(t, "counted", w.metric("syncd_refusals_total", "manifest=data", "reason=empty"), 1.0)
}

func TestANewerReleaseIsTriedAtOnceAlthoughTheLastOneFailed(t *testing.T) {
	w := broken(t)
	w.expect(w.poll(), "data", report.Failed)
	w.publish("data", "2026.11", files{"a.dat": "a of september", "c.txt": "c"})
	w.expect(w.poll(), "data", report.Updated)
}

func TestABackOffIsIgnoredOnDemand(t *testing.T) {
	w := broken(t)
	w.expect(w.poll(), "data", report.Failed)
	w.provider.ClearFaults()
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", october())
}

func TestABackOffIsIgnoredAfterAChangeOfTheConfiguration(t *testing.T) {
	t.Run("of a manifest that is served", func(t *testing.T) {
		w := broken(t)
		w.expect(w.poll(), "data", report.Failed)
		w.target("data", func(t *golive.Target) { t.Filter.Exclude = []string{"b.dat"} })
		w.expect(w.sync(request.Sync{Trigger: "reload"}), "data", report.Updated)
	})
	t.Run("of one that never was", func(t *testing.T) {
		w := start(t, "data")
		w.publish("data", "2026.09", september())
		w.target("data", func(t *golive.Target) { t.Filter.Include = []string{"*.nosuch"} })
		w.expect(w.poll(), "data", report.Failed)
		w.target("data", func(t *golive.Target) { t.Filter.Include = []string{"*.dat"} })
		w.expect(w.sync(request.Sync{Trigger: "reload"}), "data", report.Updated)
	})
}

func TestAFailureSaysSinceWhenTheProviderDoesNotAnswer(t *testing.T) {
	w := served(t)
	w.source.Retry.MaxElapsed = 20 * time.Millisecond
	w.configure()
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindReset, Path: "/*"})
	w.demand()
	first := w.state("data").Failure.Unanswered
	w.demand()
	if again := w.state("data").Failure.Unanswered; first.IsZero() || !again.Equal(first) {
		t.Errorf("unanswered since %v, after the next sync since %v", first, again)
	}
	w.provider.ClearFaults()
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, Path: "/*"})
	w.demand()
	if since := w.state("data").Failure.Unanswered; !since.IsZero() {
		t.Errorf("a provider that answers 503 counts as unreachable since %v", since)
	}
}

func TestAFailureBeforeTheReleaseIsKnownHasNoBackOff(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	id := w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 403, Path: "/ManifestReleases/*"})
	checked := w.state("data").CheckedAt
	w.expect(w.poll(), "data", report.Failed)
	if state := w.state("data"); !state.Failure.NextTry.IsZero() || !state.CheckedAt.Equal(checked) {
		t.Errorf("next try %v, checked %v", state.Failure.NextTry, state.CheckedAt)
	}
	w.provider.RemoveFault(id)
	w.expect(w.poll(), "data", report.Updated)
}

func TestARepublishedReleaseThatFailedIsNotForgottenByTheNextPoll(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.09", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/b.dat"})
	w.expect(w.demand(), "data", report.Refused)
	w.expect(w.poll(), "data", report.Refused)
	w.provider.ClearFaults()
	w.pass(time.Hour)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
}

func TestAnAliasThatFailedIsTriedAgain(t *testing.T) {
	w := start(t, "data")
	w.target("data", func(t *golive.Target) { t.Release = "2026.Q4" })
	w.publish("data", "2026.10", september())
	w.expect(w.demand(), "data", report.Updated)
	w.publish("data", "2026.11", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/SHA256/*/b.dat"})
	w.expect(w.poll(), "data", report.Failed)
	w.expect(w.poll(), "data", report.Failed)
	w.provider.ClearFaults()
	w.pass(time.Hour)
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
}

func TestAClockThatWasSetBackDelaysNoRetryBeyondTheRecheckInterval(t *testing.T) {
	w := broken(t)
	w.expect(w.poll(), "data", report.Failed)
	w.provider.ClearFaults()
	w.pass(-365 * 24 * time.Hour)
	w.expect(w.poll(), "data", report.Updated)
}

// The cause concerns all manifests, and is told of each of them.
func TestADataDirectoryThatCannotBeUsedFailsEachManifest(t *testing.T) {
	w := start(t, "data", "other")
	w.publish("data", "2026.09", september())
	w.demand()
	partial := filepath.Join(w.dir, "partial")
	must(t, os.Rename(partial, partial+".away"))
	w.publish("other", "2026.09", files{"o.dat": "1"})
	result := w.poll()
	w.expect(result, "data", report.Failed)
	w.expect(result, "other", report.Failed)
	for _, m := range w.status().Manifests {
		if m.State != report.StateFailed || !strings.Contains(m.Error, partial+" was removed or replaced") {
			t.Errorf("%s: %s (%s)", m.Name, m.State, m.Error)
		}
	}
	must(t, os.Rename(partial+".away", partial))
	w.expect(w.demand(), "other", report.Updated)
	w.staged("data", "", report.StateInSync)
}

func TestObjectsOfAFailedSyncAreReused(t *testing.T) {
	w := start(t, "data", "other")
	w.publish("data", "2026.09", september())
	w.publish("other", "2026.09", files{"o.dat": "1"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/b.dat"})
	w.comesLast("b.dat")
	result := w.demand()
	w.expect(result, "data", report.Failed)
	w.expect(result, "other", report.Updated)

	for i, month := range []string{"10", "11"} { // each publishes, and prunes
		w.publish("other", "2026."+month, files{"o.dat": month})
		w.restart()
		result = w.demand()
		w.expect(result, "other", report.Updated)
		w.expect(result, "data", report.Failed)
		equal(t, "downloads", w.downloads(), []string{"b.dat", "o.dat"})
		if i == 1 {
			w.provider.ClearFaults()
		}
	}
	w.restart()
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"b.dat"})
	w.serves("data", september())
}

func TestObjectsOfAFailedSyncArePrunedWhenTheManifestLeaves(t *testing.T) {
	w := start(t, "data", "other")
	w.publish("data", "2026.09", september())
	w.publish("other", "2026.09", files{"o.dat": "1"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*/b.dat"})
	w.demand()
	w.cfg.Targets, w.cfg.DropRemoved = w.cfg.Targets[1:], true
	w.configure()
	w.poll()
	equal(t, "objects", len(w.objects()), 1)
}

func (w *world) objects() []string {
	w.Helper()
	paths, err := filepath.Glob(filepath.Join(w.dir, "objects", "*", "*"))
	must(w, err)
	return paths
}

const large = 6 << 20

func TestRetryAfterIsKeptAcrossProcessesAndHonouredOnDemand(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 429, RetryAfter: "7200", Path: "/Manifest/*", Times: 1})
	m := w.expect(w.demand(), "data", report.Failed)
	if !strings.Contains(m.Error, "429") && !strings.Contains(m.Error, "wait until") {
		t.Errorf("error %q", m.Error)
	}
	for range 2 {
		w.restart()
		m = w.expect(w.demand(), "data", report.Failed)
		equal(t, "requests", len(w.asked("/")), 0)
		if !strings.Contains(m.Error, "Retry-After") {
			t.Errorf("error %q", m.Error)
		}
	}
	coolDowns, err := w.cfg.Store.CoolDowns()
	must(t, err)
	for origin := range coolDowns {
		must(t, w.cfg.Store.SetCoolDown(origin, time.Now()))
	}
	w.restart()
	w.expect(w.demand(), "data", report.Updated)
}

func TestAStateThatCannotBeWrittenFailsTheWholeSync(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	must(t, w.cfg.Store.Close())
	_, err := w.syncer.Sync(context.Background(), request.Sync{Demand: true})
	if err == nil {
		t.Error("no error although the state is closed")
	}
	w.serves("data", september())
	w.open()
}

func TestARevisionThatCannotBeBuiltFailsOnlyItsOwnManifest(t *testing.T) {
	w := start(t, "bad", "good")
	w.publish("bad", "2026.09", files{"bad.dat": "bytes"})
	w.publish("good", "2026.09", september())
	inTheWay := filepath.Join(w.dir, "revisions", "bad")
	must(t, os.WriteFile(inTheWay, nil, 0o600))
	result := w.demand()
	w.expect(result, "bad", report.Failed)
	w.expect(result, "good", report.Updated)
	w.serves("good", september())

	must(t, os.Remove(inTheWay))
	w.expect(w.demand(), "bad", report.Updated)
	w.serves("bad", files{"bad.dat": "bytes"})
}

// Small files are synced together, but renamed one by one.
func TestAnObjectThatCannotBeRenamedFailsOnlyItsManifest(t *testing.T) {
	w := start(t, "bad", "good")
	w.publish("bad", "2026.09", files{"bad.dat": "bytes", "other.dat": "other"})
	w.publish("good", "2026.09", september())
	sum := manifest.ObjectID(sha256.Sum256([]byte("bytes")))
	inTheWay := filepath.Join(w.objectPath(sum), "folder")
	must(t, os.MkdirAll(inTheWay, 0o755))
	for range 2 {
		result := w.demand()
		w.expect(result, "bad", report.Failed)
		if good := only(t, result, "good"); good.Result != report.Updated && good.Result != report.Unchanged {
			t.Errorf("good: %+v", good)
		}
		w.serves("good", september())
	}
	must(t, os.RemoveAll(filepath.Dir(inTheWay)))
	w.expect(w.demand(), "bad", report.Updated)
}
