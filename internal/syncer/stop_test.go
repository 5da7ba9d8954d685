package syncer_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"syncd/internal/golive/rollback"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// stopCase is a sync that is stopped everywhere, in worlds of few files.
type stopCase struct {
	prepare func(t *testing.T) *world
	request request.Sync
	want    map[string]files // what is served after a whole sync
}

var newest = files{"a.dat": "a of september", "b.dat": "b of october", "n.dat": "new in october"}

func september2() files { return files{"a.dat": "a of september", "b.dat": "b of september"} }

// serving is a world that serves a release of data and is offered the next one.
func serving(algorithm manifest.Algorithm) func(t *testing.T) *world {
	return func(t *testing.T) *world {
		w := start(t, "data")
		w.cfg.Algorithm = algorithm
		w.configure()
		w.publish("data", "2026.09", september2())
		w.expect(w.demand(), "data", report.Updated)
		w.publish("data", "2026.10", newest)
		return w
	}
}

func stopCases() map[string]stopCase {
	demand := request.Sync{Demand: true, Trigger: "command"}
	one := map[string]files{"data": newest}
	return map[string]stopCase{
		"the first sync": {
			prepare: func(t *testing.T) *world {
				w := start(t, "data")
				w.publish("data", "2026.10", newest)
				return w
			},
			request: request.Sync{Trigger: "start"}, want: one,
		},
		"a new release":           {prepare: serving(manifest.SHA256), request: request.Sync{Trigger: "schedule"}, want: one},
		"a new release under MD5": {prepare: serving(manifest.MD5), request: request.Sync{Trigger: "schedule"}, want: one},
		"a republished release": {
			prepare: func(t *testing.T) *world {
				w := start(t, "data")
				w.publish("data", "2026.10", september2())
				w.expect(w.demand(), "data", report.Updated)
				w.publish("data", "2026.10", newest)
				return w
			},
			request: demand, want: one,
		},
		"a file that is replaced during the sync": {
			prepare: func(t *testing.T) *world {
				w := serving(manifest.SHA256)(t)
				w.staleDigest("ab")
				return w
			},
			request: demand, want: one,
		},
		"another algorithm": {
			prepare: func(t *testing.T) *world {
				w := serving(manifest.SHA256)(t)
				w.cfg.Algorithm = manifest.MD5
				w.configure()
				return w
			},
			request: demand, want: one,
		},
		"objects that must be read again": {
			prepare: func(t *testing.T) *world {
				w := serving(manifest.SHA256)(t)
				for _, object := range w.objects() {
					must(t, os.Chtimes(object, time.Time{}, time.Unix(1, 0)))
				}
				return w
			},
			request: demand, want: one,
		},
		"two manifests": {
			prepare: func(t *testing.T) *world {
				w := start(t, "data", "more")
				w.publish("data", "2026.10", newest)
				w.publish("more", "2026.10", files{"m.dat": "new in october", "o.dat": "more"})
				return w
			},
			request: demand, want: map[string]files{"data": newest, "more": {"m.dat": "new in october", "o.dat": "more"}},
		},
	}
}

// everywhere does a piece of work in new worlds, stopped at one moment after the other,
// until the work ends without a stop: at every moment with SYNCD_TORTURE=full, else at
// every third, and at others before a call than after one.
func everywhere(t *testing.T, do func(t *testing.T, n int, at moment) (stopped bool)) {
	step := 3
	if os.Getenv("SYNCD_TORTURE") == "full" {
		step = 1
	}
	for i, at := range []moment{beforeCall, afterCall, atLook} {
		t.Run(string(at), func(t *testing.T) {
			for n, stopped := 1+i%step, true; stopped && !t.Failed(); n += step {
				t.Run("", func(t *testing.T) { stopped = do(t, n, at) })
			}
		})
	}
}

func TestASyncThatIsStoppedAnywhereIsContinued(t *testing.T) {
	for name, tt := range stopCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, tt.stopAt)
		})
	}
}

func (tt stopCase) stopAt(t *testing.T, n int, at moment) bool {
	w := tt.prepare(t)
	before := map[string]files{}
	for name := range tt.want {
		before[name] = w.tree(name)
	}
	generation := w.generation()
	s, stop := w.stopping(n, at)
	result, err := s.Sync(stop, tt.request)
	switch {
	case err != nil && !(stop.stopped() && errors.Is(err, errStop)):
		t.Fatalf("the sync ended with %v", err)
	case err == nil && (w.generation() != generation+1 || !result.OK()):
		t.Fatalf("a sync after which nothing is served ended without an error: %+v", result)
	}
	for name, want := range tt.want {
		if err != nil {
			want = before[name]
		}
		w.serves(name, want)
	}
	tt.goesOn(w, stop, n%2 == 0)
	return stop.stopped()
}

// goesOn expects that the files that arrived are objects, and that the next sync, in
// another process or this one, downloads the rest.
func (tt stopCase) goesOn(w *world, stop *stopper, restart bool) {
	w.Helper()
	w.whole()
	w.keeps(stop.fetched, tt.want)
	if restart {
		w.restart()
	}
	if result := w.demand(); !result.OK() {
		w.Errorf("the next sync: %+v", result)
	}
	for name, want := range tt.want {
		w.serves(name, want)
	}
	w.cameOnce(stop)
	left, err := w.cfg.Mirror.Objects.Partial().Names(".")
	must(w, err)
	equal(w, "unfinished downloads", len(left), 0)
}

// cameOnce expects that no file that arrived was downloaded again.
func (w *world) cameOnce(stop *stopper) {
	w.Helper()
	for _, name := range w.downloads() {
		if slices.Contains(stop.fetched, name) {
			w.Errorf("%s came twice", name)
		}
	}
}

// keeps expects the files that arrived to be objects.
func (w *world) keeps(fetched []string, want map[string]files) {
	w.Helper()
	for _, name := range fetched {
		there := false
		for _, content := range want {
			_, found := w.cfg.Mirror.Objects.Find(sha256.Sum256([]byte(content[name])))
			there = there || found
		}
		if !there {
			w.Errorf("%s arrived and is no object", name)
		}
	}
}

func TestAFailedRequestFailsOnlyItsOwnManifest(t *testing.T) {
	for name, tt := range stopCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, failed := 1, true; failed && !t.Failed(); n++ {
				t.Run("", func(t *testing.T) { failed = tt.failAt(t, n) })
			}
		})
	}
}

func (tt stopCase) failAt(t *testing.T, n int) bool {
	w := tt.prepare(t)
	before := map[string]files{}
	for name := range tt.want {
		before[name] = w.tree(name)
	}
	s, stop := w.stopping(n, failing)
	result, err := s.Sync(stop, tt.request)
	must(t, err)
	updated := 0
	for name, want := range tt.want {
		switch m := only(t, result, name); m.Result {
		case report.Updated:
			w.serves(name, want)
			updated++
		case report.Failed:
			w.serves(name, before[name])
		default:
			t.Errorf("%s is %s: %s", name, m.Result, m.Error)
		}
	}
	if updated == len(tt.want) != result.OK() || len(tt.want)-updated > 1 {
		t.Errorf("too few manifests were updated: %+v", result)
	}
	tt.goesOn(w, stop, n%2 == 0)
	return stop.stopped()
}

func TestADryRunThatIsStoppedAnywhereSaysSo(t *testing.T) {
	everywhere(t, func(t *testing.T, n int, at moment) bool {
		w := serving(manifest.SHA256)(t)
		states, disk := w.states(), w.listing()
		s, stop := w.stopping(n, at)
		_, err := s.Sync(stop, request.Sync{Demand: true, DryRun: true})
		if stop.stopped() != errors.Is(err, errStop) {
			t.Errorf("it ended with %v", err)
		}
		equal(t, "state", w.states(), states)
		equal(t, "disk", w.listing(), disk)
		return stop.stopped()
	})
}

func TestARollbackThatIsStoppedAnywhereIsCompleteOrAbsent(t *testing.T) {
	everywhere(t, func(t *testing.T, n int, at moment) bool {
		w := serving(manifest.SHA256)(t)
		w.expect(w.demand(), "data", report.Updated)
		s, stop := w.stopping(n, at)
		want := newest
		_, err := rollback.Do(stop, s.Tree(), request.Rollback{})
		switch {
		case err == nil:
			want = september2()
		case !stop.stopped() || !errors.Is(err, errStop):
			t.Errorf("it ended with %v", err)
		}
		w.serves("data", want)
		if err != nil {
			w.rollback(request.Rollback{})
			w.serves("data", september2())
		}
		return stop.stopped()
	})
}

func TestARepairThatIsStoppedAnywhereIsContinued(t *testing.T) {
	everywhere(t, func(t *testing.T, n int, at moment) bool {
		w := start(t, "data")
		w.publish("data", "2026.10", newest)
		w.demand()
		w.corrupt("data/a.dat")
		w.corrupt("data/b.dat")
		w.replace("data/n.dat")
		s, stop := w.stopping(n, at)
		w.provider.ResetRequests()
		result, err := s.Repair(stop, request.Verify{})
		if err == nil && !result.OK() || err != nil && !(stop.stopped() && errors.Is(err, errStop)) {
			t.Errorf("it ended with %v: %+v", err, result)
		}
		if result := w.repair(); !result.OK() {
			t.Errorf("the next one left %+v", result)
		}
		w.serves("data", newest)
		w.cameOnce(stop)
		return stop.stopped()
	})
}
