package syncer_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/rings"
	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/report/request"
)

// upstream stands before the emulator as another syncd would.
type upstream struct {
	*httptest.Server
	names string // as what it names itself
	fail  atomic.Bool
	front func(http.ResponseWriter, *http.Request) bool // answers in the place of the upstream if it is true; nil for none

	mu      sync.Mutex
	told    []string          // by each request: endpoint and state
	destroy string            // the order in each answer
	mirror  map[string][]byte // below /-/mirror/; none for an earlier version

	atCaches map[string][]byte // instead, unless a request goes past caches
	sends    func(name string, bytes int64)
}

// offers puts a generation into the mirror.
func (u *upstream) offers(g bucket.Generation, releases ...buckettest.Release) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mirror == nil {
		u.mirror = map[string][]byte{}
	}
	buckettest.Write(g, func(name string, content []byte) { u.mirror[name] = content }, releases...)
}

// serveMirror answers as the mirror does. It is false without one.
func (u *upstream) serveMirror(rw http.ResponseWriter, r *http.Request) bool {
	name, isBelow := strings.CutPrefix(r.URL.Path, "/-/mirror/")
	u.mu.Lock()
	content, found := u.mirror[name]
	if kept, isKept := u.atCaches[name]; isKept && r.Header.Get("Cache-Control") == "" {
		content = kept
	}
	sends := u.sends
	u.mu.Unlock()
	if !isBelow || !found {
		return false
	}
	rw.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
	sent := &countedWriter{ResponseWriter: rw}
	http.ServeContent(sent, r, "", time.Time{}, bytes.NewReader(content))
	if sends != nil {
		sends(name, sent.bytes)
	}
	return true
}

func (w *world) behindUpstream() *upstream {
	w.Helper()
	proxy := httputil.NewSingleHostReverseProxy(parseURL(w, w.provider.URL()))
	u := &upstream{names: rings.Upstream}
	u.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		endpoint, below, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if endpoint == "-" {
			endpoint = below
		}
		u.mu.Lock()
		u.told = append(u.told, endpoint+" "+strings.Join(r.Header[rings.HeaderState], " | "))
		rw.Header().Set(rings.HeaderUpstream, u.names)
		rw.Header().Set(rings.HeaderDestroy, u.destroy)
		front := u.front
		u.mu.Unlock()
		if front != nil && front(rw, r) {
			return
		}
		if u.fail.Load() {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		if u.serveMirror(rw, r) {
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	w.Cleanup(u.Close)
	w.source.URL = parseURL(w, u.URL)
	w.cfg.Follower = rings.State{Host: "db01", ID: "5f3a9c01", Version: "1"}
	w.configure()
	return u
}

type countedWriter struct {
	http.ResponseWriter
	bytes int64
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// take returns what was told since the last call, each text once.
func (u *upstream) take() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	told := slices.Compact(slices.Sorted(slices.Values(u.told)))
	u.told = nil
	return told
}

func TestUpstreamIsToldWhatThisHostServesAndRefuses(t *testing.T) {
	const self = "host=db01; id=5f3a9c01; version=1"
	w := start(t, "data")
	u := w.behindUpstream()
	poll := func() { w.syncer.Sync(t.Context(), request.Sync{}) }
	wants := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, u.take()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}

	w.publish("data", "2026.10", files{"a": "1"})
	poll()
	wants("the first poll finds out that it is a syncd", "Download ", "Manifest "+self+"; held=0", "ManifestReleases ", "Metadata ", "SHA256 ", "mirror/current.json manifest=data; "+self+"; held=0")
	revision := w.cfg.Mirror.Current().Records["data"].Revision
	serves := self + "; release=2026.10; revision=" + revision
	poll()
	holds := "; held=1; holds=2026.10-" + revision
	wants("in sync", "ManifestReleases "+serves+holds)

	w.target("data", func(t *golive.Target) { t.Gate = gate.Gate{Command: []string{"false"}} })
	w.publish("data", "2026.11", files{"a": "2"})
	poll()
	u.take()
	poll()
	refused := w.cfg.Staging.Get("data").Revision
	wants("refused by the gate", "ManifestReleases "+serves+"; refused=2026.11; refused_revision="+refused+"; reason=gate; attempts=1; held=2; holds=2026.10-"+revision+"+2026.11-"+refused)

	w.target("data", func(t *golive.Target) { t.Gate = gate.Gate{} })
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Download/*"})
	w.publish("data", "2026.12", files{"a": "3"})
	poll()
	u.take()
	poll()
	if told := u.take(); len(told) == 0 || !strings.Contains(told[len(told)-1], serves+"; refused=2026.12; reason=failed; attempts=1; held=2") {
		t.Errorf("failed: %q", told)
	}
}

func TestProviderIsToldNothing(t *testing.T) {
	w := start(t, "data")
	w.cfg.Follower = rings.State{Host: "db01", ID: "5f3a9c01", Version: "1"}
	w.configure()
	w.publish("data", "2026.10", files{"a": "1"})
	for range 2 {
		w.syncer.Sync(t.Context(), request.Sync{Demand: true})
	}
	for _, r := range w.provider.Requests() {
		if r.Header.Get(rings.HeaderState) != "" {
			t.Errorf("%s: %s", r.Path, r.Header.Get(rings.HeaderState))
		}
	}
}
