package golive_test

import (
	"strings"
	"testing"

	"syncd/internal/e2e"
)

func TestPinHoldAndSkipByCommandWithAndWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Month("m", "2026.09", "september")
	h.Month("m", "2026.10", "october")
	h.Expect(1, "pin", "m", "2026.09") // there is no data yet
	h.Sync(0)
	stop := func() {}
	for _, daemon := range []bool{false, true} {
		if daemon {
			p := h.SyncedDaemon()
			stop = func() { p.Terminate() }
		}
		h.Expect(0, "pin", "m", "2026-09")
		h.Sync(0)
		e2e.Same(h, "pinned", "september", h.ServedContent("m"))
		if out := h.Expect(0, "status").Stdout; !strings.Contains(out, "(pinned)") {
			t.Errorf("status said\n%s", out)
		}
		if out := h.Expect(0, "explain").Stdout; !strings.Contains(out, "pinned to 2026.09 by `syncd pin`") {
			t.Errorf("explain said\n%s", out)
		}
		h.Expect(0, "unpin", "m")
		h.Expect(0, "hold", "m", "--for", "7d")
		h.Sync(0)
		e2e.Same(h, "held", "september", h.ServedContent("m"))
		e2e.Same(h, "state", "held", h.StagedStatus("m").State)
		h.Expect(0, "hold", "m", "--until", "2036-01-01 06:00")
		h.Expect(0, "sync", "--force")
		e2e.Same(h, "forced", "october", h.ServedContent("m"))
		e2e.Same(h, "state", "in_sync", h.StagedStatus("m").State)
		h.Expect(0, "skip", "m", "2026.11")
		h.Month("m", "2026.11", "november")
		h.Sync(0)
		e2e.Same(h, "skipped", "october", h.ServedContent("m"))
		h.Expect(0, "skip", "--undo", "m", "2026.11")
		h.Provider.RemoveRelease("m", "2026.11")
	}
	stop()
	for _, args := range [][]string{
		{"pin", "m"}, {"pin", "m", "october"}, {"pin", "x", "2026.09"}, {"hold", "m"}, {"hold", "m", "--for", "1h", "--until", "2036-01-01"},
		{"hold", "m", "--until", "2016-01-01"}, {"hold", "m", "--for", "soon"}, {"skip", "m", "2026.Q4"}, {"unpin"},
	} {
		h.Expect(2, args...)
	}
	h.Proven()
}
