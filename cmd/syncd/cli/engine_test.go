package cli

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
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

// A socket that closes each connection is that of an engine that ends: its connections that
// nobody accepted yet are closed with it.
func TestACommandBesideAnEngineThatEndsDoesTheWorkItself(t *testing.T) {
	a, cfg := configured(t, io.Discard)
	e, err := engine.Open(cfg, engine.Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), AddSecret: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(StateDir(cfg), "syncd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 2 { // Dial tries the socket, then the command sends its request
			if conn, err := socket.Accept(); err == nil {
				conn.Close()
			}
		}
		socket.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = a.WithEngine(t.Context(), cfg, func(e operation.Engine) error {
		_, err := operation.Rollback.Do(t.Context(), e, request.Rollback{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "nothing to go back to") {
		t.Errorf("error %v", err)
	}
}

// configured is a program and its configuration of one manifest.
func configured(t *testing.T, stderr io.Writer) (*App, *config.Config) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "syncd.yaml")
	text := "data_dir: " + filepath.Join(dir, "data") + "\nsource: {url: \"http://127.0.0.1:9\", customer_id: ABCDEFGHIJ}\nhttp: {listen: \"\"}\nmanifests: [{name: one}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := New(Options{Getenv: func(string) string { return "" }, Stdout: &bytes.Buffer{}, Stderr: stderr, DefaultConfig: file})
	cfg, err := a.Load()
	if err != nil {
		t.Fatal(err)
	}
	return a, cfg
}

func TestACommandThatReadsWaitsForADaemonThatStarts(t *testing.T) {
	var stderr output
	a, cfg := configured(t, &stderr)
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
