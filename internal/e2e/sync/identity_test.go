package sync_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// hostOf is a host whose provider and configuration have another Customer ID.
func hostOf(t *testing.T, id string) *e2e.Host {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: id})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	h := e2e.NewHostOf(t, provider)
	h.Write("id", id, 0o600)
	return h
}

// Release names, sizes, dates, digests and names of files hold these IDs.
func TestAShortOrNumericIDChangesNoNameAndNoNumber(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"2026", "1234", "Data", "20261001"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			h := hostOf(t, id)
			names := []string{"a_20261001.dat", "Data.txt", "n1234.txt"}
			for _, release := range []string{"2026.09", "2026.10"} {
				var files []emulator.File
				for i, name := range names {
					files = append(files, emulator.File{Name: name, Content: emulator.Random(uint64(len(release)+i), 1234)})
				}
				h.Provider.SetManifest("dq_addr_data", release, files...)
			}
			r := h.Sync(0)
			e2e.Same(h, "release", "2026.10", r.Manifests[0].Release)
			e2e.Same(h, "bytes", 3*1234, r.Manifests[0].BytesDownloaded+r.Manifests[0].BytesReused)
			e2e.Same(h, "files", len(names), len(h.Published("dq_addr_data")))
			h.Contains("releases", h.Expect(0, "releases", "dq_addr_data").Stdout, "2026.09", "2026.10")
			h.Contains("files", h.Expect(0, "files", "dq_addr_data").Stdout, names...)
			for _, command := range []string{"status", "history", "verify"} {
				if out := h.Expect(0, command, "--json").Stdout; !json.Valid([]byte(out)) || strings.Contains(out, "REDACTED") {
					t.Errorf("%s: %s", command, out)
				}
			}
			p := h.SyncedDaemon()
			p.Signal(syscall.SIGUSR1)
			p.LoggedTimes("sync", 2)
			if _, status := p.Get("/api/v1/status"); !json.Valid([]byte(status)) || strings.Contains(status, "REDACTED") {
				t.Error(status)
			}
			p.Terminate()
			for line := range strings.Lines(p.Stderr.String()) {
				if !json.Valid([]byte(line)) || strings.Contains(line, "REDACTED") {
					t.Errorf("log line %s", line)
				}
			}
		})
	}
}

func TestANumericIDIsInNoError(t *testing.T) {
	t.Parallel()
	const id = "4916273402"
	h := hostOf(t, id)
	h.Provider.AddSample()
	h.Settings.Elapsed = "50ms"
	h.Configure()
	h.Sync(0)
	commands := [][]string{{"sync"}, {"manifests"}, {"get", "Data/2026.10/ews.txt"}}
	for n, fault := range leaks(h.Provider.DownloadURL(), id) {
		h.Provider.AddFault(fault)
		args := commands[n%len(commands)] // TestCustomerIDIsInNoError runs each
		if r := h.Syncd(args...); strings.Contains(r.Stdout+r.Stderr, id) {
			t.Errorf("%s after %s wrote the ID: %s%s", args, fault, r.Stdout, r.Stderr)
		}
		h.Provider.ClearFaults()
	}
}

func TestIDsThatAreTooShortAreRefusedAndShortOnesWarnedAbout(t *testing.T) {
	t.Parallel()
	commands := [][]string{{"config", "check"}, {"sync"}, {"releases", "dq_addr_data"}, {"get", "Data/2026.10/ews.txt"}}
	for id, code := range map[string]int{"K3Y": 2, "K3Yb": 0, "K3Ybcde": 0, "K3Ybcdef": 0} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			h := hostOf(t, id)
			h.Provider.AddSample()
			for _, args := range commands {
				stderr := h.Expect(code, append(args, map[string][]string{"get": {"-o", h.Dir}}[args[0]]...)...).Stderr
				if warned := strings.Count(stderr, "warning: the Customer ID has fewer than 8 characters"); code == 0 && warned != btoi(len(id) < 8) {
					t.Errorf("%s: %s", args, stderr)
				}
				if code != 0 {
					h.Contains("stderr", stderr, "fewer than 4 characters")
				}
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
