package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func TestDaemonSyncsAllManifestsAtStart(t *testing.T) {
	w := start(t, "one", "two")
	r := w.run()
	w.eventually("a sync is done", func() bool { return w.logged(syncLogged) == 1 })
	if w.content("one") != "one" || w.content("two") != "two" || w.logged(syncLogged, `"trigger":"start"`) != 1 {
		t.Errorf("serves %q and %q; the log:\n%s", w.content("one"), w.content("two"), w.log)
	}
	status, err := r.Status()
	must(t, err)
	if m := state(t, status, "one"); !status.Daemon || m.State != report.StateInSync || m.NextSync == nil || time.Until(*m.NextSync) > time.Hour+w.cfg.Jitter {
		t.Errorf("status %+v", status)
	}
}

func TestSignalDuringASyncRunsAfterIt(t *testing.T) {
	w := start(t, "one")
	held := w.hold("/Manifest/2026.09/one")
	r := w.run()
	<-held.arrived
	for range 3 {
		r.usr1 <- syscall.SIGUSR1
	}
	w.publish("one", "2026.10", "published during the sync")
	w.let("/Manifest/2026.09/one")
	w.eventually("both syncs are done", func() bool { return w.logged(syncLogged) == 2 })
	if w.content("one") != "published during the sync" {
		t.Errorf("serves %q", w.content("one"))
	}
	r.stop()
	if n := w.logged(syncLogged, `"trigger":"signal"`); n != 1 || w.syncs("one") != 2 {
		t.Errorf("three signals during a sync made %d more, want one; asked %d times", n, w.syncs("one"))
	}
}

func TestAManifestThatIsDoneSyncsAgainWhileOthersOfItsSyncGoOn(t *testing.T) {
	w := start(t, "one", "two")
	w.cfg.Transfers.PublishAfter = 0
	held := w.hold("/Download/Data/2026.09/one.dat")
	r := w.run()
	<-held.arrived
	w.eventually("two is served", func() bool { return w.content("two") == "two" })
	w.publish("two", "2026.10", "two of october")
	r.usr1 <- syscall.SIGUSR1
	w.eventually("two is synced again", func() bool { return w.content("two") == "two of october" })
	if w.content("one") != "" || w.logged(syncLogged, `"trigger":"start"`) != 0 {
		t.Errorf("the first sync has ended; the log:\n%s", w.log)
	}
	w.let("/Download/Data/2026.09/one.dat")
	w.eventually("one is synced, and once more for the signal", func() bool { return w.syncs("one") == 2 && w.logged(syncLogged) == 3 })
}

func TestRequestsOnDemandAreMerged(t *testing.T) {
	w := start(t, "one", "two")
	held := w.hold("/Manifest/2026.09/one")
	r := w.run()
	<-held.arrived
	for range 2 {
		must(t, r.Trigger(context.Background(), request.Sync{Demand: true, Trigger: "api", Manifests: []string{"one"}}))
	}
	r.usr1 <- syscall.SIGUSR1
	w.let("/Manifest/2026.09/one")
	w.eventually("all is done", func() bool { return w.logged(syncLogged) >= 2 && w.syncs("two") == 2 })
	r.stop()
	if n := w.syncs("one"); n > 3 || n < 2 {
		t.Errorf("%d syncs of one, want 2 or 3", n)
	}
}

func TestTriggerEndsWithItsContext(t *testing.T) {
	w := start(t, "one")
	d := w.newDaemon()
	must(t, d.Trigger(context.Background(), request.Sync{}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Trigger(ctx, request.Sync{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestReloadSyncsAddedAndChangedManifestsAtOnce(t *testing.T) {
	w := start(t, "one", "two", "three")
	all := w.cfg.Manifests
	w.cfg.Manifests = all[:2]
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })

	r.config(func(c *config.Config) {
		c.Manifests = append(c.Manifests, all[2])
		c.Manifests[1].Filter.Exclude = []string{"*.nosuch"}
	})
	r.hup <- syscall.SIGHUP
	w.eventually("the reload's sync is done", func() bool { return w.logged(syncLogged, `"trigger":"reload"`) == 1 })
	if w.content("three") != "three" || w.syncs("one") != 1 || w.syncs("two") != 2 {
		t.Errorf("three serves %q, one asked %d times, two %d times", w.content("three"), w.syncs("one"), w.syncs("two"))
	}
	if w.logged("configuration reloaded", `"changed":["two","three"]`) != 1 {
		t.Errorf("the log:\n%s", w.log)
	}
}

func TestReloadOfAScheduleSyncsNothing(t *testing.T) {
	w := start(t, "one")
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	r.config(func(c *config.Config) { c.Manifests[0].Schedule = scheduled(t, "@every 10h") })
	r.hup <- syscall.SIGHUP
	r.hup <- syscall.SIGHUP // is received when the reload is over
	status, err := r.Status()
	must(t, err)
	if next := *status.Manifests[0].NextSync; time.Until(next) < 9*time.Hour {
		t.Errorf("next sync at %v", next)
	}
	r.stop()
	if w.syncs("one") != 1 {
		t.Errorf("asked %d times", w.syncs("one"))
	}
}

func TestRemovedManifestStaysServedAsItIs(t *testing.T) {
	w := start(t, "one", "two")
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	r.config(func(c *config.Config) { c.Manifests = c.Manifests[:1] })
	r.hup <- syscall.SIGHUP
	r.hup <- syscall.SIGHUP
	if w.hasSeries("syncd_mirror_bytes", "two") {
		t.Error("two still has metrics")
	}
	r.usr1 <- syscall.SIGUSR1
	w.eventually("the sync is over", func() bool { return w.logged(syncLogged) == 2 })
	if w.content("one") != "one" || w.content("two") != "two" {
		t.Errorf("one %q, two %q", w.content("one"), w.content("two"))
	}
	status, err := r.Status()
	must(t, err)
	if two := status.Manifests[1]; two.State != report.StateOrphaned || two.NextSync != nil || two.Explanation == "" {
		t.Errorf("%+v", two)
	}
	_, err = operation.Forget.Do(t.Context(), r.Operations(), request.Forget{Names: []string{"two"}, Trigger: request.TriggerForget})
	must(t, err)
	if w.content("two") != "" || w.logged(`"message":"forget"`) != 1 {
		t.Errorf("two is served after forget; the log:\n%s", w.log)
	}
}

func TestRemovedManifestLeavesAtOnceIfItIsDropped(t *testing.T) {
	w := start(t, "one", "two")
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	r.config(func(c *config.Config) { c.Manifests, c.DropRemoved = c.Manifests[:1], true })
	r.hup <- syscall.SIGHUP
	w.eventually("two is gone", func() bool { return w.content("two") == "" })
	if w.logged(syncLogged) != 1 {
		t.Error("it took a sync")
	}
}

func TestWaitingSyncUsesTheConfigurationInForceWhenItStarts(t *testing.T) {
	w := start(t, "one", "two")
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	held := w.hold("/ManifestReleases/one")
	var command sync.WaitGroup
	command.Go(func() {
		_, _ = operation.Sync.Do(t.Context(), r.Operations(), request.Sync{Manifests: []string{"one"}, Trigger: "command"})
	})
	<-held.arrived // the turn is the command's
	must(t, r.Trigger(t.Context(), request.Sync{Manifests: []string{"one", "two"}, Demand: true, Trigger: "api"}))
	w.eventually("the loop has taken it", func() bool { return len(r.requests) == 0 })
	r.hup <- syscall.SIGHUP // is received when it waits for its turn
	r.config(func(c *config.Config) { c.Manifests, c.DropRemoved = c.Manifests[:1], true })
	r.hup <- syscall.SIGHUP
	r.hup <- syscall.SIGHUP
	w.let("/ManifestReleases/one")
	command.Wait()
	w.eventually("it is over", func() bool { return w.logged(syncLogged, `"trigger":"api"`) == 1 })
	if w.logged(`"level":"error"`) > 0 || w.syncs("one") != 3 || w.content("two") != "" {
		t.Errorf("asked %d times for one; the log:\n%s", w.syncs("one"), w.log)
	}
}

func TestBadConfigurationKeepsTheOldOne(t *testing.T) {
	w := start(t, "one")
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	before := r.engine.Config()
	r.mu.Lock()
	r.bad = errors.New("syncd.yaml:3:1: no such key")
	r.mu.Unlock()
	r.hup <- syscall.SIGHUP
	w.eventually("it is reported", func() bool { return w.logged("no such key", "the old one stays") == 1 })

	r.config(func(c *config.Config) { c.Source.CAFile = filepath.Join(t.TempDir(), "nosuch.pem") })
	r.hup <- syscall.SIGHUP
	w.eventually("it is reported", func() bool { return w.logged("nosuch.pem", "the old one stays") == 1 })
	if r.engine.Config() != before {
		t.Error("the configuration in force is another one")
	}
	r.usr1 <- syscall.SIGUSR1
	w.eventually("it still syncs", func() bool { return w.logged(syncLogged, `"trigger":"signal"`) == 1 })
}

func TestReloadWarnsAboutSettingsThatNeedARestart(t *testing.T) {
	w := start(t, "one")
	r := w.run()
	dataDir, web := w.cfg.DataDir, w.cfg.HTTP
	r.config(func(c *config.Config) {
		c.DataDir, c.HTTP.Listen = filepath.Join(t.TempDir(), "elsewhere"), "127.0.0.1:1"
		c.Retain = 7
	})
	r.hup <- syscall.SIGHUP
	w.eventually("the rest is reloaded", func() bool { return r.engine.Config().Retain == 7 })
	if w.logged("take effect at a restart") != 1 || r.engine.Config().DataDir != dataDir || !reflect.DeepEqual(r.engine.Config().HTTP, web) {
		t.Errorf("in force: %s %+v; the log:\n%s", r.engine.Config().DataDir, r.engine.Config().HTTP, w.log)
	}
}

func TestEndOfTheContextStopsTheRunningSync(t *testing.T) {
	w := start(t, "one")
	held := w.hold("/Manifest/2026.09/one")
	r := w.run()
	<-held.arrived
	r.stop()
	if w.logged(syncLogged, `"stopped":true`) != 1 || w.logged(`"level":"error"`) != 0 || w.content("one") != "" {
		t.Errorf("the log:\n%s", w.log)
	}
	w.let("/Manifest/2026.09/one")
	next := w.run()
	w.eventually("the next one syncs", func() bool { return w.content("one") == "one" })
	next.stop()
}

func TestFailureIsLoggedOnceAndTheDaemonGoesOn(t *testing.T) {
	w := start(t, "one", "two")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 401, Path: "/*one*"})
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	if w.logged(`"level":"error"`, syncLogged, `"result":"failed"`, `"result":"updated"`) != 1 {
		t.Errorf("the log:\n%s", w.log)
	}
	if err := r.Alive(); err != nil {
		t.Error(err)
	}
	r.usr1 <- syscall.SIGUSR1
	w.eventually("it goes on", func() bool { return w.logged(syncLogged) == 2 })
}

// untilServed is a context that ends with the swap.
type untilServed struct {
	context.Context
	*world
}

func (c untilServed) Err() error {
	if c.content("one") != "" {
		return context.Canceled
	}
	return nil
}

func TestStopAfterTheSwapStillLogsFailures(t *testing.T) {
	w := start(t, "one", "two")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Manifest/*/two"})
	result, err := operation.Sync.Do(untilServed{t.Context(), w}, w.newDaemon().Operations(), request.Sync{Trigger: "start"})
	if err != nil || result.OK() || w.logged(syncLogged, `"level":"error"`) != 1 || w.logged(`"stopped"`) != 0 {
		t.Errorf("%+v, %v; the log:\n%s", result, err, w.log)
	}
}

func TestRollbackAndRepairAreLogged(t *testing.T) {
	w := start(t, "one")
	r := w.run()
	w.eventually("the start is over", func() bool { return w.logged(syncLogged) == 1 })
	w.publish("one", "2026.10", "october")
	_, err := operation.Sync.Do(context.Background(), r.Operations(), request.Sync{Demand: true})
	must(t, err)
	result, err := operation.Rollback.Do(context.Background(), r.Operations(), request.Rollback{})
	must(t, err)
	if result.Generation != 3 || w.logged(`"message":"rollback"`, `"generation":3`, `"release":"2026.09"`) != 1 {
		t.Errorf("report %+v; the log:\n%s", result, w.log)
	}
	path := filepath.Join(w.cfg.DataDir, "current", "one", "one.dat")
	must(t, os.Chmod(path, 0o644))
	must(t, os.WriteFile(path, []byte("damaged"), 0o444))
	repaired, err := operation.Repair.Do(context.Background(), r.Operations(), request.Verify{})
	must(t, err)
	if !repaired.OK() || w.content("one") != "one" || w.logged(`"message":"damage"`, `"path":"one.dat"`, `"repaired":true`) != 1 {
		t.Errorf("report %+v; the log:\n%s", repaired, w.log)
	}
	_, err = operation.Rollback.Do(context.Background(), r.Operations(), request.Rollback{Generation: 99})
	if err == nil || w.logged(`"level":"error"`, `"message":"rollback"`) != 1 {
		t.Errorf("error %v; the log:\n%s", err, w.log)
	}
}

func TestStuckLoopIsNotAlive(t *testing.T) {
	d := start(t, "one").newDaemon()
	must(t, d.Alive())
	if tick := *d.awakeAt.Load(); tick == tick.Round(0) {
		t.Errorf("%v has no monotonic reading: a clock that is set would make the loop look stuck", tick)
	}
	long := time.Now().Add(-time.Hour)
	d.awakeAt.Store(&long)
	if err := d.Alive(); !errors.Is(err, errStuck) {
		t.Errorf("after an hour: %v", err)
	}
}

func TestDaemonSyncsByTheSchedule(t *testing.T) {
	w := start(t, "one")
	w.cfg.Jitter = 0
	w.cfg.Manifests[0].Schedule = scheduled(t, "@every 1s")
	w.run()
	w.eventually("it has synced by the schedule", func() bool { return w.logged(syncLogged, `"trigger":"schedule"`) > 0 })
	if strings.Contains(w.log.String(), `"level":"error"`) {
		t.Errorf("the log:\n%s", w.log)
	}
}

func TestDaemonSurvivesAVanishedDataDir(t *testing.T) {
	w := start(t, "one")
	r := w.run()
	w.eventually("the first sync is done", func() bool { return w.logged(syncLogged) == 1 })
	dir, away := w.cfg.DataDir, w.cfg.DataDir+".away"
	must(t, os.Rename(dir, away))
	must(t, os.Mkdir(dir, 0o755))
	w.publish("one", "2026.10", "new")
	r.usr1 <- syscall.SIGUSR1
	w.eventually("the sync fails", func() bool { return w.logged(syncLogged, `"level":"error"`, "vanished or was replaced") == 1 })
	if r.Alive() == nil || r.Ready(0) == nil {
		t.Errorf("alive: %v, ready: %v", r.Alive(), r.Ready(0))
	}
	made, err := os.ReadDir(dir)
	must(t, err)
	if len(made) > 0 {
		t.Errorf("made in its place: %q", made)
	}
	must(t, os.Remove(dir))
	must(t, os.Rename(away, dir))
	r.usr1 <- syscall.SIGUSR1
	w.eventually("the new release is served", func() bool { return w.content("one") == "new" })
	must(t, errors.Join(r.Alive(), r.Ready(0)))
}

func TestManifestRemovedDuringASyncLeavesNoSeries(t *testing.T) {
	w := start(t, "one", "two")
	held := w.hold("/Manifest/2026.09/two")
	r := w.run()
	<-held.arrived
	r.config(func(c *config.Config) { c.Manifests = c.Manifests[:1] })
	r.hup <- syscall.SIGHUP
	w.eventually("the reload is done", func() bool { return w.logged("configuration reloaded") == 1 })
	w.let("/Manifest/2026.09/two")
	w.eventually("the sync is done", func() bool { return w.logged(syncLogged) >= 1 })
	families, err := w.registry.Gather()
	must(t, err)
	for _, family := range families {
		if w.hasSeries(family.GetName(), "two") {
			t.Errorf("%s has a series of a manifest that is configured no longer", family.GetName())
		}
	}
	if !w.hasSeries("syncd_release_info", "one") {
		t.Error("the other manifest has lost its series")
	}
}
