package serve

import (
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/report/request"
)

// host mirrors a provider. All its parts are the real ones.
type host struct {
	testing.TB
	cfg    *config.Config
	engine *engine.Engine
}

// startHost opens a data directory of entries, which it does not sync yet.
func startHost(t testing.TB, e *emulator.Emulator, entries ...config.Manifest) *host {
	t.Helper()
	h := &host{TB: t, cfg: config.Default()}
	var err error
	h.cfg.Source.URL, err = url.Parse(e.URL())
	must(t, err)
	h.cfg.Source.Credential = config.FixedCredential(customerID)
	h.cfg.Source.Retry = config.Retry{InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsed: 5 * time.Second}
	h.cfg.DataDir = filepath.Join(t.TempDir(), "data")
	h.cfg.RetainFor = 0
	h.cfg.Serve.Listen = "127.0.0.1:0"
	h.cfg.Serve.PublicURL = h.cfg.Source.URL
	h.entries(entries...)
	h.open()
	t.Cleanup(func() { must(t, h.engine.Close()) })
	return h
}

func (h *host) open() {
	h.Helper()
	var err error
	h.engine, err = engine.Open(h.cfg, engine.Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), Version: "test", AddSecret: func(string) {}})
	must(h, err)
}

// restart ends the engine and opens its data directory again.
func (h *host) restart() *host {
	h.Helper()
	must(h, h.engine.Close())
	h.open()
	return h
}

func entry(name string) config.Manifest { return config.Manifest{Name: name, Release: manifest.Latest} }

// entries configures what is mirrored.
func (h *host) entries(entries ...config.Manifest) {
	next := *h.cfg
	next.Manifests = nil
	for _, m := range entries {
		m.Schedule = next.Schedule
		next.Manifests = append(next.Manifests, m)
	}
	h.cfg = &next
	if h.engine != nil {
		must(h, h.engine.Configure(h.cfg))
	}
}

// sync mirrors what the provider has now.
func (h *host) sync() {
	h.Helper()
	result, err := operation.Sync.Do(h.Context(), h.engine.Operations(), request.Sync{Demand: true, Trigger: request.TriggerCommand})
	must(h, err)
	if !result.OK() {
		h.Fatalf("%+v", result)
	}
}

// mirrored is the catalog of a host that mirrors publishAll's manifests.
func mirrored(t testing.TB, e *emulator.Emulator) Catalog {
	t.Helper()
	h := startHost(t, e, entry("All_Classes"), entry("other"))
	publishFirst(e)
	h.sync()
	publishAll(e)
	h.sync()
	return h.engine.Followers.Catalog()
}

// publishFirst gives the provider an earlier release.
func publishFirst(e *emulator.Emulator) {
	e.SetManifest("All_Classes", "2026.09", emulator.File{Name: "mdAddr.dat", Content: emulator.Text("before")})
	e.SetManifest("other", "2026.08", emulator.File{Name: "x", Content: emulator.Text("x")})
}

// publishAll gives the provider files of each class.
func publishAll(e *emulator.Emulator) {
	text := emulator.Text
	e.SetManifest("All_Classes", "2026.10",
		emulator.File{Name: "mdAddr.dat", Content: text("data")},
		emulator.File{Name: "old one,#%é+.txt", Release: "2026.08", Content: text("old")},
		emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "lib.so", Content: text("64")},
		emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "32BIT", Name: "lib.so", Content: text("32")},
		emulator.File{Class: emulator.ClassLibrary, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Name: "tool.exe", Tag: "NET 7", Content: text("net7")},
		emulator.File{Class: emulator.ClassInterface, OS: "ANY", Language: "JAVA", Architecture: "ANY", Name: "a.jar", Content: text("jar")},
		emulator.File{Class: emulator.ClassProduct, Name: "all.zip", Content: emulator.Random(3, 1<<20)},
		emulator.File{Name: "empty", Content: text("")},
	)
}

func bigFile(size int64) emulator.File {
	return emulator.File{Name: "big", Content: emulator.Random(1, size)}
}
