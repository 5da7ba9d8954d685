package doctor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

func TestStatusTellsThatCurrentOrItsGenerationIsMissing(t *testing.T) {
	t.Parallel()
	for _, daemon := range []string{"", "daemon"} {
		for _, lost := range []string{"current", "generations"} {
			t.Run(lost+" "+daemon, func(t *testing.T) {
				t.Parallel()
				h := e2e.NewHost(t)
				h.Provider.AddSample()
				if daemon != "" {
					h.SyncedDaemon()
				} else {
					h.Sync(0)
				}
				h.Must(os.RemoveAll(filepath.Join(h.Data, lost)))
				for _, command := range []string{"status", "explain"} {
					out := h.Expect(1, command)
					h.Contains(command, out.Stdout+out.Stderr, "syncd sync")
					if strings.Contains(out.Stdout, "never synced") || strings.Contains(out.Stdout, "none yet") {
						t.Errorf("%s: %s", command, out.Stdout)
					}
				}
				if found := doctor(h, 1); found.Findings[0].Check != "manifests" || !strings.Contains(found.Findings[0].Next, "syncd verify") {
					t.Errorf("%+v", found.Findings[0])
				}
				h.Sync(0)
				h.Expect(0, "status")
			})
		}
	}
}

func TestStatusTellsThatTheFileSystemIsReadOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	h := e2e.NewHost(t)
	h.Provider.AddSample()
	h.Must(os.MkdirAll(h.Data, 0o755))
	h.Must(syscall.Mount("tmpfs", h.Data, "tmpfs", 0, "size=64m,mode=0755"))
	t.Cleanup(func() { h.Must(syscall.Unmount(h.Data, 0)) })
	h.Sync(0)
	h.Must(syscall.Mount("", h.Data, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	h.Contains("status", h.Expect(0, "status").Stdout, "read-only", "mount it for writing")
	var status struct {
		ReadOnly bool `json:"read_only"`
	}
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	e2e.Same(h, "read_only", true, status.ReadOnly)
	found := doctor(h, 1).Findings[0]
	h.Contains("doctor", found.Text+found.Next, "read-only file system", "for writing", "syncd verify")
}

// A command opens the socket of a daemon while it works, but none of its servers.
func TestDoctorTakesASyncThatRunsForNoDaemon(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.WithGate("while ! test -e "+h.Path("go")+"; do sleep 0.05; done", "")
	listenOn(h, e2e.FreeAddress(h))
	p := h.Start("sync")
	h.Eventually("the sync works", func() bool { return strings.Contains(h.Expect(0, "status").Stdout, "syncing") })
	for _, f := range doctor(h, 0).Findings {
		if f.Check == "daemon" {
			h.Contains("daemon", f.Text, "no daemon runs", "a command works there")
		}
	}
	h.Write("go", "", 0o644)
	<-p.Done
}
