package engine

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/host/command"
	"syncd/internal/report"
)

func TestMain(m *testing.M) {
	if command.IsSupervisor() {
		os.Exit(command.Supervise())
	}
	goleak.VerifyTestMain(m)
}

// world is a provider and the configuration of an engine that mirrors it.
type world struct {
	*testing.T
	provider *emulator.Emulator
	cfg      *config.Config
	log      bytes.Buffer
	registry *prometheus.Registry
}

func start(t *testing.T, names ...string) *world {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: "customer-id"})
	must(t, err)
	t.Cleanup(func() { provider.Close() })
	w := &world{T: t, provider: provider, cfg: config.Default()}
	w.cfg.Source.URL, err = url.Parse(provider.URL())
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

// open opens an engine that the test closes.
func (w *world) open() *Engine {
	w.Helper()
	w.registry = prometheus.NewRegistry()
	e, err := Open(w.cfg, Options{Log: zerolog.New(zerolog.SyncWriter(&w.log)), Registry: w.registry, Version: "test", AddSecret: func(string) {}})
	must(w.T, err)
	return e
}

// logged counts the lines of the log that contain text.
func (w *world) logged(text string) int {
	n := 0
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// content is what readers see of a manifest; "" when it is not served.
func (w *world) content(name string) string {
	data, _ := os.ReadFile(filepath.Join(w.cfg.DataDir, "current", name, name+".dat"))
	return string(data)
}

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
