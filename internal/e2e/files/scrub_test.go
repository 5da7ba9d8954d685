package files_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// scrubStatus is the scrub in `status --json`.
type scrubStatus struct {
	State                      string
	StartedAt                  string `json:"started_at"`
	Next                       string
	Objects, Damaged, Repaired int
	Bytes, TotalBytes          int64
	Left                       []struct{ File, Error string }
	Explanation                string
	FinishedAt                 *string `json:"finished_at"`
}

func scrub(h *e2e.Host) (s scrubStatus) {
	h.Helper()
	var status struct{ Scrub *scrubStatus }
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	if status.Scrub != nil {
		s = *status.Scrub
	}
	return s
}

func TestTheDaemonScrubsByTheScheduleAndHealsDamage(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	e2e.Same(h, "without a schedule", scrubStatus{}.State, scrub(h).State)
	h.Settings.More = `scrub: {schedule: "@every 1s", rate: 0}
hooks: [{on: [damaged], command: ["/bin/sh", "-c", "cat >> ` + h.Path("told") + `"]}]`
	h.Configure()
	h.Sync(0)
	proven := h.Published("dq_addr_data")
	h.Flip("dq_addr_data/ews.txt")
	p := h.Daemon()
	event := p.Logged("damage")
	e2e.Same(h, "damage", []any{"dq_addr_data", "ews.txt", true}, []any{event["manifest"], event["path"], event["repaired"]})
	h.Eventually("the hook is told", func() bool {
		text, _ := os.ReadFile(h.Path("told"))
		return strings.Contains(string(text), `"syncd.damaged"`) && strings.Contains(string(text), "ews.txt")
	})
	h.Eventually("a scrub without damage", func() bool {
		s := scrub(h)
		return s.FinishedAt != nil && s.Objects == 5 && s.Damaged == 0
	})
	e2e.Same(h, "published", proven, h.Published("dq_addr_data"))
	h.Eventually("explain", func() bool {
		return regexp.MustCompile(`scrub: 5 objects with .* re-read by .*; next at `).MatchString(h.Expect(0, "explain").Stdout)
	})
	_, metrics := p.Get("/metrics")
	h.Contains("metrics", metrics, `syncd_verify_failures_total{manifest="dq_addr_data"} 1`, "syncd_damaged_objects 0")
	_, page := p.Get("/")
	h.Contains("page", page, `<h2 id="scrub">Scrub</h2>`)
	p.Terminate()
	h.Contains("status without a daemon", h.Expect(0, "status").Stdout, "scrub: ", "re-read", "no daemon is running")
}

func TestAKilledScrubGoesOnAtTheNextStart(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "big")
	h.Provider.SetManifest("big", "2026.10", emulator.File{Name: "big.dat", Content: emulator.Random(7, 8<<20)})
	h.ConfigureWith(`scrub: {schedule: "@every 1s", rate: 256KiB}`)
	h.Sync(0)
	p := h.Daemon()
	h.Eventually("a part is read", func() bool { return scrub(h).Bytes > 0 })
	p.Terminate() // saves the progress
	before := scrub(h)
	if before.Bytes == 0 || before.Bytes >= before.TotalBytes && before.TotalBytes > 0 || before.FinishedAt != nil {
		t.Fatalf("after the first process: %+v", before)
	}
	h.ConfigureWith(`scrub: {schedule: "@every 1000h", rate: 1KiB}`)
	p = h.Daemon()
	h.Eventually("the scrub goes on", func() bool { return scrub(h).Bytes >= before.Bytes })
	p.Signal(syscall.SIGKILL)
	p.Wait()
	after := scrub(h)
	e2e.Same(h, "started", before.StartedAt, after.StartedAt)
	h.ConfigureWith(`scrub: {schedule: "@every 1000h", rate: 0}`)
	p = h.Daemon()
	h.Eventually("the end", func() bool { return scrub(h).FinishedAt != nil })
	s := scrub(h)
	e2e.Same(h, "bytes", 8<<20, int(s.Bytes))
	e2e.Same(h, "started", before.StartedAt, s.StartedAt)
	_, metrics := p.Get("/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "syncd_scrub_read_bytes_total 8.388608e+06") {
			t.Errorf("it began anew: %s", line)
		}
	}
	p.Terminate()
}

func TestDamageThatIsNotRepairedIsShown(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.ConfigureWith(`scrub: {schedule: "@every 1s", rate: 0}`)
	h.Sync(0)
	h.Must(os.Truncate(h.InRevision("dq_addr_data/ews.txt"), 0))
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
	p := h.Daemon()
	h.Eventually("damage is left", func() bool { return len(scrub(h).Left) == 1 })
	h.Contains("status", h.Expect(0, "status").Stdout, "dq_addr_data/ews.txt is damaged and not repaired")
	_, page := p.Get("/")
	h.Contains("page", page, "dq_addr_data/ews.txt is damaged.")
	_, metrics := p.Get("/metrics")
	h.Contains("metrics", metrics, "syncd_damaged_objects 1")
	p.Terminate()
}
