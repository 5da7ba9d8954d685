package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/config"
	"syncd/internal/daemon/signals"
	"syncd/internal/emulator"
	"syncd/internal/engine"
	"syncd/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a provider behind a gate that can delay requests, and the configuration
// of a daemon that mirrors it.
type world struct {
	*testing.T
	provider *emulator.Emulator
	cfg      *config.Config
	log      *logBuffer
	registry *prometheus.Registry

	mu   sync.Mutex
	held map[string]*heldUp
}

// heldUp are the delayed requests of one path.
type heldUp struct {
	arrived chan struct{} // receives one value per request
	release chan struct{} // closed to let them pass
}

type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func start(t *testing.T, names ...string) *world {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: "customer-id"})
	must(t, err)
	t.Cleanup(func() { provider.Close() })
	w := &world{T: t, provider: provider, log: &logBuffer{}, held: map[string]*heldUp{}}
	target, err := url.Parse(provider.URL())
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	transport := &http.Transport{}
	proxy.Transport = transport
	gate := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.wait(r)
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() { gate.Close(); transport.CloseIdleConnections() })
	w.cfg = config.Default()
	w.cfg.Source.URL, err = url.Parse(gate.URL)
	must(t, err)
	w.cfg.Source.Credential = config.FixedCredential("customer-id")
	w.cfg.Source.Retry = config.Retry{InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsed: 5 * time.Second}
	w.cfg.DataDir = filepath.Join(t.TempDir(), "data")
	for _, name := range names {
		w.cfg.Manifests = append(w.cfg.Manifests, config.Manifest{Name: name, Release: "latest", Schedule: w.cfg.Schedule})
		w.publish(name, "2026.09", name)
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) publish(name, release, content string) {
	w.provider.SetManifest(name, release, emulator.File{Name: name + ".dat", Content: emulator.Text(content)})
}

// hold makes requests for a path wait.
func (w *world) hold(path string) *heldUp {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &heldUp{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	w.held[path] = h
	return h
}

// let lets the requests for a path pass, now and from here on.
func (w *world) let(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.held[path].release)
	delete(w.held, path)
}

func (w *world) wait(r *http.Request) {
	w.mu.Lock()
	h := w.held[r.URL.Path]
	w.mu.Unlock()
	if h == nil {
		return
	}
	h.arrived <- struct{}{}
	select {
	case <-h.release:
	case <-r.Context().Done():
	}
}

// open opens an engine that the test closes.
func (w *world) open() *engine.Engine {
	w.Helper()
	w.registry = prometheus.NewRegistry()
	e, err := engine.Open(w.cfg, engine.Options{Log: w.logger(), Registry: w.registry, Version: "test", AddSecret: func(string) {}})
	must(w.T, err)
	return e
}

func (w *world) logger() zerolog.Logger { return zerolog.New(w.log) }

// newDaemon returns a daemon whose loop is not running and cannot reload.
func (w *world) newDaemon() *Daemon {
	w.Helper()
	e := w.open()
	w.Cleanup(func() { must(w.T, e.Close()) })
	return New(e, nil, w.logger())
}

type running struct {
	*Daemon
	world     *world
	hup, usr1 chan os.Signal // unbuffered: a sent signal has been received
	stop      func()

	mu   sync.Mutex
	next *config.Config // what a reload reads
	bad  error          // or how it fails
}

func (w *world) run() *running {
	w.Helper()
	e := w.open()
	r := &running{world: w, hup: make(chan os.Signal), usr1: make(chan os.Signal), next: w.cfg}
	r.Daemon = New(e, func() (*config.Config, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.next, r.bad
	}, w.logger())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, signals.Pending{Sync: r.usr1, Reload: r.hup}) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("Run ended with %v", err)
		}
		if err := e.Close(); err != nil {
			w.Errorf("Close: %v", err)
		}
	})
	w.Cleanup(r.stop)
	return r
}

// config sets what the next reload reads: a change of what was in force.
func (r *running) config(change func(*config.Config)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := *r.engine.Config()
	next.Manifests = slices.Clone(next.Manifests)
	change(&next)
	r.next, r.bad = &next, nil
}

// syncs counts the syncs of a manifest that reached the provider.
func (w *world) syncs(name string) int {
	n := 0
	for _, req := range w.provider.Requests() {
		if req.Path == "/ManifestReleases/"+name {
			n++
		}
	}
	return n
}

func (w *world) logged(texts ...string) int {
	n := 0
	for line := range strings.Lines(w.log.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			n++
		}
	}
	return n
}

func (w *world) eventually(what string, condition func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("timed out waiting until %s; the log:\n%s", what, w.log)
		}
	}
}

// content is what readers see of a manifest; "" when it is not served.
func (w *world) content(name string) string {
	data, _ := os.ReadFile(filepath.Join(w.cfg.DataDir, "current", name, name+".dat"))
	return string(data)
}

func (w *world) hasSeries(metric, manifest string) bool {
	w.Helper()
	families, err := w.registry.Gather()
	must(w.T, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == metric && label.GetName() == "manifest" && label.GetValue() == manifest {
					return true
				}
			}
		}
	}
	return false
}

const syncLogged = `"message":"sync"`

func state(t *testing.T, status report.Status, name string) report.ManifestStatus {
	t.Helper()
	for _, m := range status.Manifests {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no manifest %s in %+v", name, status)
	return report.ManifestStatus{}
}
