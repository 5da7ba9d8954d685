package engine

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// barrier is a provider that holds back requests with a path until it is opened.
type barrier struct {
	reached chan struct{} // receives a value for each request held back
	open    func()
}

// gate holds back the requests of w for a path.
func (w *world) gate(path string) barrier {
	w.Helper()
	opened := make(chan struct{})
	g := barrier{reached: make(chan struct{}, 100), open: sync.OnceFunc(func() { close(opened) })}
	proxy, transport := httputil.NewSingleHostReverseProxy(w.cfg.Source.URL), &http.Transport{}
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			g.reached <- struct{}{}
			select {
			case <-opened:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(rw, r)
	}))
	w.Cleanup(func() { server.Close(); transport.CloseIdleConnections() })
	var err error
	w.cfg.Source.URL, err = url.Parse(server.URL)
	must(w.T, err)
	return g
}

// syncResult is what Engine.Sync returns.
type syncResult struct {
	report.Sync
	err error
}

func syncInBackground(e *Engine, names ...string) <-chan syncResult {
	done := make(chan syncResult, 1)
	go func() {
		result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true, Manifests: names})
		done <- syncResult{result, err}
	}()
	return done
}

func TestADryRunDoesNotWaitForASyncOfItsManifest(t *testing.T) {
	w := start(t, "one")
	g := w.gate("/Download/Data/2026.09/one.dat")
	e := w.open()
	defer e.Close()
	first := syncInBackground(e)
	<-g.reached
	result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true, DryRun: true})
	if err != nil || len(result.Manifests) != 1 || result.Manifests[0].FilesDownloaded != 1 {
		t.Errorf("dry run %+v, %v", result, err)
	}
	if status, err := e.Status(); err != nil || state(t, status, "one").State != report.StateSyncing || e.Progress().Manifests[0].Phase != report.PhaseDownloading {
		t.Errorf("status beside the dry run %+v, %v", status, err)
	}
	g.open()
	if got := <-first; got.err != nil || !got.OK() || w.content("one") != "one" {
		t.Errorf("result %+v, %v", got.Sync, got.err)
	}
}

func (w *world) requestsFor(path string) (n int) {
	for _, r := range w.provider.Requests() {
		if r.Path == path {
			n++
		}
	}
	return n
}

// stateOf is the state of a manifest now.
func (w *world) stateOf(e *Engine, name string) report.State {
	w.Helper()
	status, err := e.Status()
	must(w.T, err)
	return state(w.T, status, name).State
}

func TestASyncOfABusyManifestRunsAfterTheOtherAndHoldsUpNone(t *testing.T) {
	w := start(t, "busy", "free")
	g := w.gate("/ManifestReleases/busy")
	e := w.open()
	defer e.Close()
	first := syncInBackground(e, "busy")
	<-g.reached
	all := syncInBackground(e)
	for w.stateOf(e, "free") != report.StateInSync { // the test would time out
		time.Sleep(time.Millisecond)
	}
	if got := w.stateOf(e, "busy"); got != report.StateSyncing || w.content("free") != "free" {
		t.Errorf("busy is %s, free serves %q", got, w.content("free"))
	}
	g.open()
	if got := <-first; got.err != nil || !got.OK() {
		t.Errorf("result of the first %+v, %v", got.Sync, got.err)
	}
	got := <-all
	if got.err != nil || !got.OK() || len(got.Manifests) != 2 || got.Manifests[0].Name != "busy" || !got.Changed || got.Generation != 2 {
		t.Errorf("result of both %+v, %v", got.Sync, got.err)
	}
	if asked := w.requestsFor("/ManifestReleases/busy"); asked != 2 {
		t.Errorf("busy was synced %d times, want 2", asked)
	}
}

func TestASyncThatWaitsForItsManifestEndsWithItsContext(t *testing.T) {
	w := start(t, "one")
	g := w.gate("/ManifestReleases/one")
	e := w.open()
	defer e.Close()
	first := syncInBackground(e)
	<-g.reached
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := operation.Sync.Do(ctx, e.Operations(), request.Sync{}); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	g.open()
	if got := <-first; got.err != nil || !got.OK() {
		t.Errorf("result %+v, %v", got.Sync, got.err)
	}
}

func TestRollbackAndRepairDoNotWaitForADownload(t *testing.T) {
	w := start(t, "one")
	e := w.open()
	for _, release := range []string{"2026.09", "2026.10"} {
		w.publish("one", release, release)
		if _, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, e.Close())
	w.publish("one", "2026.11", "november")
	g := w.gate("/Download/Data/2026.11/one.dat")
	e = w.open()
	defer e.Close()
	running := syncInBackground(e)
	<-g.reached
	if _, err := operation.Rollback.Do(context.Background(), e.Operations(), request.Rollback{}); err != nil || w.content("one") != "2026.09" {
		t.Errorf("rollback: %v, serves %q", err, w.content("one"))
	}
	if result, err := operation.Repair.Do(context.Background(), e.Operations(), request.Verify{}); err != nil || !result.OK() || result.Files != 1 {
		t.Errorf("repair %+v, %v", result, err)
	}
	g.open()
	if got := <-running; got.err != nil || w.content("one") != "november" {
		t.Errorf("the sync: %+v, serves %q", got, w.content("one"))
	}
}

// After a reload, another Syncer serves new syncs while the old one still runs.
func TestClaimsHoldAcrossAReload(t *testing.T) {
	w := start(t, "busy", "free")
	g := w.gate("/ManifestReleases/busy")
	e := w.open()
	defer e.Close()
	first := syncInBackground(e, "busy")
	<-g.reached
	next := *w.cfg
	next.Retain = 1
	must(t, e.Configure(&next))
	second := syncInBackground(e, "busy")
	if got := <-syncInBackground(e, "free"); got.err != nil || !got.OK() {
		t.Errorf("free: %+v", got)
	}
	if asked := w.requestsFor("/ManifestReleases/busy"); asked != 0 {
		t.Errorf("busy was asked for %d times while its first sync was held back", asked)
	}
	g.open()
	if a, b := <-first, <-second; !a.OK() || !b.OK() || a.err != nil || b.err != nil {
		t.Errorf("results %+v, %+v", a, b)
	}
}
