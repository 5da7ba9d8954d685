package engine

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer/lockfile"
)

// Hooks and log hear once when a manifest comes from another source, and once when it comes from
// the preferred one again. A reload to a single source leaves no series.
func TestHooksHearOfAnotherSource(t *testing.T) {
	w := start(t, "one", "two")
	r := w.hear()
	var isDown atomic.Bool
	near := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		if isDown.Load() {
			panic(http.ErrAbortHandler)
		}
		p.SetURL(w.cfg.Source.URL)
	}})
	t.Cleanup(near.Close)
	list := *w.cfg
	list.Others = []config.Source{w.cfg.Source}
	list.Source.Name, list.Others[0].Name = "near", "far"
	list.Source.Retry.MaxElapsed = 10 * time.Millisecond
	var err error
	list.Source.URL, err = url.Parse(near.URL)
	must(t, err)
	e := w.open()
	defer e.Close()
	e.Hooks.Deliver()
	must(t, e.Configure(&list))
	heard := func(what, from string, count int, isFailing bool) {
		t.Helper()
		for range 2 { // the second sync tells nothing
			_, err := operation.Sync.Do(t.Context(), e.Operations(), request.Sync{Demand: true, Trigger: "command"})
			must(t, err)
		}
		e.Hooks.Rest(t.Context())
		events := r.events("source")
		if len(events) != count {
			t.Errorf("%s: %d events, want %d: %v", what, len(events), count, events)
		}
		for _, data := range events[max(0, count-2):] {
			if data["source"] != from || (data["error"] != "") != isFailing || data["reason"] != "" || data["path"] == "" {
				t.Errorf("%s: %v", what, data)
			}
		}
	}
	heard("at first", "near", 0, false)
	isDown.Store(true)
	heard("the first source is down", "far", 2, true)
	isDown.Store(false)
	heard("it is back", "near", 4, false)
	must(t, e.Configure(w.cfg))
	families, err := w.registry.Gather()
	must(t, err)
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "syncd_source_") && len(f.GetMetric()) > 0 {
			t.Errorf("%s stays without a list", f.GetName())
		}
	}
}

// A plan shows what a sync would take, and a lock file is made, from the second source while the
// first one is down. A plan notes nothing of the sources.
func TestPlansAndLockFilesGoOnWithTheNextSource(t *testing.T) {
	w := start(t, "one", "two")
	w.cfg.Others = []config.Source{w.cfg.Source}
	w.cfg.Source.Name, w.cfg.Others[0].Name = "near", "far"
	w.cfg.Source.URL, w.cfg.Source.Retry.MaxElapsed = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, 10*time.Millisecond
	e := w.open()
	defer e.Close()
	sync := func(what string, req request.Sync, want report.Result) {
		t.Helper()
		result, err := operation.Sync.Do(t.Context(), e.Operations(), req)
		must(t, err)
		if len(result.Manifests) != 2 || result.Manifests[0].Result != want || result.Manifests[1].Result != want {
			t.Errorf("%s: %+v", what, result.Manifests)
		}
	}
	sync("plan", request.Sync{DryRun: true, Demand: true}, report.Updated)
	if known, err := e.store.Sources(); err != nil || len(known.Failing) != 0 || len(known.Of) != 0 {
		t.Errorf("after a plan: %+v, %v", known, err)
	}
	sync("sync", request.Sync{Demand: true}, report.Updated)
	var locked bytes.Buffer
	var records []mirror.Record
	for _, name := range []string{"one", "two"} {
		records = append(records, e.mirror.Current().Records[name])
	}
	must(t, lockfile.Write(&locked, transport.PublicURL(w.cfg.Source.URL), records))
	for _, name := range []string{"one", "two"} {
		w.publish(name, "2026.10", name+", october")
	}
	sync("sync of October", request.Sync{Demand: true}, report.Updated)
	sync("lock file", request.Sync{Demand: true, Lockfile: locked.Bytes()}, report.Updated)
	if w.content("one") != "one" || w.content("two") != "two" {
		t.Errorf("by the lock file: %q, %q", w.content("one"), w.content("two"))
	}
}
