package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"syncd/internal/report"
	"syncd/internal/request"
)

// gate is a provider that holds back requests with a path until it is opened.
type gate struct {
	reached chan struct{} // receives a value for each request held back
	open    func()
}

// gate holds back the requests of w for a path.
func (w *world) gate(path string) gate {
	w.Helper()
	opened := make(chan struct{})
	g := gate{reached: make(chan struct{}, 100), open: sync.OnceFunc(func() { close(opened) })}
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
		result, err := e.Sync(context.Background(), request.Sync{Demand: true, Manifests: names})
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
	result, err := e.Sync(context.Background(), request.Sync{Demand: true, DryRun: true})
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
