package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

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

func (h *host) scrub() (s scrubStatus) {
	h.Helper()
	var status struct{ Scrub *scrubStatus }
	h.must(json.Unmarshal([]byte(h.expect(0, "status", "--json").stdout), &status))
	if status.Scrub != nil {
		s = *status.Scrub
	}
	return s
}

func TestTheDaemonScrubsByTheScheduleAndHealsDamage(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	same(h, "without a schedule", scrubStatus{}.State, h.scrub().State)
	h.settings.more = `scrub: {schedule: "@every 1s", rate: 0}
hooks: [{on: [damaged], command: ["/bin/sh", "-c", "cat >> ` + h.path("told") + `"]}]`
	h.configure()
	h.sync(0)
	proven := h.published("dq_addr_data")
	h.flip("dq_addr_data/ews.txt")
	p := h.daemon()
	event := p.logged("damage")
	same(h, "damage", []any{"dq_addr_data", "ews.txt", true}, []any{event["manifest"], event["path"], event["repaired"]})
	h.eventually("the hook is told", func() bool {
		text, _ := os.ReadFile(h.path("told"))
		return strings.Contains(string(text), `"syncd.damaged"`) && strings.Contains(string(text), "ews.txt")
	})
	h.eventually("a scrub without damage", func() bool {
		s := h.scrub()
		return s.FinishedAt != nil && s.Objects == 5 && s.Damaged == 0
	})
	same(h, "published", proven, h.published("dq_addr_data"))
	h.eventually("explain", func() bool {
		return regexp.MustCompile(`scrub: 5 objects with .* re-read by .*; next at `).MatchString(h.expect(0, "explain").stdout)
	})
	_, metrics := p.get("/metrics")
	h.contains("metrics", metrics, `syncd_verify_failures_total{manifest="dq_addr_data"} 1`, "syncd_damaged_objects 0")
	_, page := p.get("/")
	h.contains("page", page, `<h2 id="scrub">Scrub</h2>`)
	p.terminate()
	h.contains("status without a daemon", h.expect(0, "status").stdout, "scrub: ", "re-read", "no daemon is running")
}

func TestAKilledScrubGoesOnAtTheNextStart(t *testing.T) {
	t.Parallel()
	h := newHost(t, "big")
	h.provider.SetManifest("big", "2026.10", emulator.File{Name: "big.dat", Content: emulator.Random(7, 8<<20)})
	h.settings.more = `scrub: {schedule: "@every 1s", rate: 256KiB}`
	h.configure()
	h.sync(0)
	p := h.daemon()
	h.eventually("a part is read", func() bool { return h.scrub().Bytes > 0 })
	p.terminate() // saves the progress
	before := h.scrub()
	if before.Bytes == 0 || before.Bytes >= before.TotalBytes && before.TotalBytes > 0 || before.FinishedAt != nil {
		t.Fatalf("after the first process: %+v", before)
	}
	h.settings.more = `scrub: {schedule: "@every 1000h", rate: 1KiB}`
	h.configure()
	p = h.daemon()
	h.eventually("the scrub goes on", func() bool { return h.scrub().Bytes >= before.Bytes })
	p.signal(syscall.SIGKILL)
	p.wait()
	after := h.scrub()
	same(h, "started", before.StartedAt, after.StartedAt)
	h.settings.more = `scrub: {schedule: "@every 1000h", rate: 0}`
	h.configure()
	p = h.daemon()
	h.eventually("the end", func() bool { return h.scrub().FinishedAt != nil })
	s := h.scrub()
	same(h, "bytes", 8<<20, int(s.Bytes))
	same(h, "started", before.StartedAt, s.StartedAt)
	_, metrics := p.get("/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "syncd_scrub_read_bytes_total 8.388608e+06") {
			t.Errorf("it began anew: %s", line)
		}
	}
	p.terminate()
}

func TestDamageThatIsNotRepairedIsShown(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.more = `scrub: {schedule: "@every 1s", rate: 0}`
	h.configure()
	h.sync(0)
	h.must(os.Truncate(h.inRevision("dq_addr_data/ews.txt"), 0))
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
	p := h.daemon()
	h.eventually("damage is left", func() bool { return len(h.scrub().Left) == 1 })
	h.contains("status", h.expect(0, "status").stdout, "dq_addr_data/ews.txt is damaged and not repaired")
	_, page := p.get("/")
	h.contains("page", page, "dq_addr_data/ews.txt is damaged.")
	_, metrics := p.get("/metrics")
	h.contains("metrics", metrics, "syncd_damaged_objects 1")
	p.terminate()
}
