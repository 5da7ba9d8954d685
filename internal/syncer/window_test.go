package syncer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// shutter is a window that the test opens and closes.
type shutter struct{ isOpen atomic.Bool }

func (s *shutter) Contains(time.Time) bool { return s.isOpen.Load() }
func (s *shutter) Next(t time.Time) time.Time {
	return t.Add(time.Hour)
}

// downloadingNovember serves september, and a sync downloads november outside of a window.
// Unless october is "", it is staged before.
func downloadingNovember(t *testing.T, before files) (w *world, window *shutter, sync *running, finish func()) {
	t.Helper()
	w, window = served(t), &shutter{}
	w.policy(staging.Policy{Window: window})
	if before != nil {
		w.publish("data", "2026.10", before)
		w.poll()
		w.staged("data", "2026.10", report.StateStaged)
	}
	w.told()
	hold := w.gate("c.txt")
	w.publish("data", "2026.11", november())
	sync = w.background()
	w.downloading("data")
	return w, window, sync, func() { close(hold) }
}

func TestAWindowThatOpensDuringASyncPublishesItsRevision(t *testing.T) {
	w, window, sync, finish := downloadingNovember(t, nil)
	window.isOpen.Store(true)
	if w.syncer.Tree().HasDue(time.Now()) {
		t.Error("nothing is staged yet")
	}
	finish()
	w.expect(sync.wait(), "data", report.Updated)
	w.serves("data", november())
	w.wantTold("activated")
}

func TestAWindowThatOpensDuringASyncPublishesWhatWasStagedAtOnce(t *testing.T) {
	w, window, sync, finish := downloadingNovember(t, october())
	window.isOpen.Store(true)
	if !w.syncer.Tree().HasDue(time.Now()) {
		t.Fatal("the staged revision is not due")
	}
	w.expect(w.window(), "data", report.Updated)
	w.serves("data", october())
	w.staged("data", "", report.StateSyncing)
	finish()
	w.expect(sync.wait(), "data", report.Updated)
	w.serves("data", november())
	w.staged("data", "", report.StateInSync)
	w.wantTold("activated", "activated")
}

func TestAWindowThatClosesDuringASyncStagesItsRevision(t *testing.T) {
	w, window, sync, finish := downloadingNovember(t, october())
	window.isOpen.Store(true)
	w.window()
	window.isOpen.Store(false)
	finish()
	w.expect(sync.wait(), "data", report.Unchanged)
	w.serves("data", october())
	w.staged("data", "2026.11", report.StateStaged)
}

// slowGate is a gate that runs until the returned function is called. It adds a line to a
// file at each run.
func (w *world) slowGate() (runs func() int, pass func()) {
	dir := w.TempDir()
	script := `echo run >>"$0/runs"; until test -e "$0/pass"; do sleep 0.01; done`
	w.target("data", func(t *golive.Target) {
		t.Gate = gate.Gate{Command: []string{"/bin/sh", "-c", script, dir}, Timeout: time.Minute, Env: os.Environ()}
	})
	runs = func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return strings.Count(string(text), "run")
	}
	return runs, func() { must(w, os.WriteFile(filepath.Join(dir, "pass"), nil, 0o600)) }
}

func TestAWindowThatOpensWhileTheGateRunsWaitsForTheGate(t *testing.T) {
	w, window := served(t), &shutter{}
	w.policy(staging.Policy{Window: window})
	runs, pass := w.slowGate()
	w.publish("data", "2026.10", october())
	sync := w.background()
	eventually(t, "the gate runs", func() bool { return runs() == 1 })
	window.isOpen.Store(true)
	if w.syncer.Tree().HasDue(time.Now()) {
		t.Error("a revision without a verdict is due")
	}
	w.serves("data", september())
	pass()
	w.expect(sync.wait(), "data", report.Updated)
	w.serves("data", october())
	equal(t, "runs of the gate", runs(), 1)
}

// Both `activate` and the sync need the verdict. The gate may not be made for running twice
// at once, and one verdict is enough.
func TestActivateWaitsForTheGateThatASyncRuns(t *testing.T) {
	w := served(t)
	runs, pass := w.slowGate()
	w.policy(manual)
	w.publish("data", "2026.10", october())
	sync := w.background()
	eventually(t, "the gate runs", func() bool { return runs() == 1 })
	activated := make(chan error)
	go func() {
		_, err := w.activate("data")
		activated <- err
	}()
	pass()
	must(t, <-activated)
	w.serves("data", october())
	w.expect(sync.wait(), "data", report.Unchanged)
	equal(t, "runs of the gate", runs(), 1)
}

// Readers never see half a group, whatever stages and activates it.
func TestReadersNeverSeeHalfAGroup(t *testing.T) {
	w := start(t, "a", "b")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.configure()
	offer := func(name string, month int) {
		release := fmt.Sprintf("%04d.%02d", 2010+month/12, month%12+1)
		w.publish(name, release, files{"file": release})
	}
	offer("a", 0)
	offer("b", 0)
	w.demand()
	stop, seen := make(chan struct{}), make(chan []string)
	go func() {
		var halves []string
		for {
			select {
			case <-stop:
				seen <- halves
				return
			default:
			}
			generation, err := filepath.EvalSymlinks(filepath.Join(w.dir, "current"))
			a, errA := os.ReadFile(filepath.Join(generation, "a", "file"))
			b, errB := os.ReadFile(filepath.Join(generation, "b", "file"))
			if err != nil || errA != nil || errB != nil || string(a) != string(b) {
				halves = append(halves, fmt.Sprintf("a %s, b %s: %v, %v, %v", a, b, err, errA, errB))
			}
		}
	}()
	w.cfg.RetainFor = time.Hour // a reader that resolved current reads on
	for month := 1; month <= 12; month++ {
		w.policy([]staging.Policy{{}, manual, always()}[month%3])
		offer("a", month)
		w.demand() // a waits for b
		if month%2 == 0 {
			offer("b", month)
			w.demand("b")
		} else {
			offer("b", month)
			w.demand()
		}
		if month%3 == 1 {
			_, err := w.activate("g")
			must(t, err)
		}
	}
	close(stop)
	if halves := <-seen; len(halves) > 0 {
		t.Errorf("%d times, first %s", len(halves), halves[0])
	}
	equal(t, "generation", w.generation(), 13)
}
