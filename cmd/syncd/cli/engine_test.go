package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/ui/control"
)

// output is a stderr that may be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestACommandThatReadsWaitsForADaemonThatStarts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "syncd.yaml")
	text := "data_dir: " + filepath.Join(dir, "data") + "\nsource: {url: \"http://127.0.0.1:9\", customer_id: ABCDEFGHIJ}\nhttp: {listen: \"\"}\nmanifests: [{name: one}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr output
	a := New(Options{Getenv: func(string) string { return "" }, Stdout: &bytes.Buffer{}, Stderr: &stderr, DefaultConfig: file})
	cfg, err := a.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(cfg, engine.Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), AddSecret: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	asked := make(chan error, 1)
	go func() {
		shown, err := Ask(t.Context(), a, cfg, operation.Status, func(*mirror.Mirror, status.StateReader) (report.Status, error) {
			t.Error("the disk was asked beside an engine")
			return report.Status{}, nil
		})
		if err == nil && len(shown.Manifests) != 1 {
			t.Errorf("answered %+v", shown)
		}
		asked <- err
	}()
	for !strings.Contains(stderr.String(), "waiting up to 30s for another syncd, which has "+cfg.DataDir) {
		select {
		case err := <-asked:
			t.Fatalf("it did not wait: %v, stderr %q", err, stderr.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	server, err := control.NewServer(t.Context(), StateDir(cfg), e.Operations())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	if err := <-asked; err != nil {
		t.Error(err)
	}
	server.Stop(t.Context())
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := strings.Count(stderr.String(), "waiting"); n != 1 {
		t.Errorf("it said %d times that it waits", n)
	}
}
