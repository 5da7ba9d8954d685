package main

import (
	"strings"
	"testing"
)

func TestPinHoldAndSkipByCommandWithAndWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	h.month("m", "2026.09", "september")
	h.month("m", "2026.10", "october")
	h.expect(1, "pin", "m", "2026.09") // there is no data yet
	h.sync(0)
	stop := func() {}
	for _, daemon := range []bool{false, true} {
		if daemon {
			p := h.daemon()
			p.logged("sync")
			stop = func() { p.terminate() }
		}
		h.expect(0, "pin", "m", "2026-09")
		h.sync(0)
		same(h, "pinned", "september", h.servedContent("m"))
		if out := h.expect(0, "status").stdout; !strings.Contains(out, "(pinned)") {
			t.Errorf("status said\n%s", out)
		}
		if out := h.expect(0, "explain").stdout; !strings.Contains(out, "pinned to 2026.09 by `syncd pin`") {
			t.Errorf("explain said\n%s", out)
		}
		h.expect(0, "unpin", "m")
		h.expect(0, "hold", "m", "--for", "7d")
		h.sync(0)
		same(h, "held", "september", h.servedContent("m"))
		same(h, "state", "held", h.stagedStatus("m").State)
		h.expect(0, "hold", "m", "--until", "2036-01-01 06:00")
		h.expect(0, "sync", "--force")
		same(h, "forced", "october", h.servedContent("m"))
		same(h, "state", "in_sync", h.stagedStatus("m").State)
		h.expect(0, "skip", "m", "2026.11")
		h.month("m", "2026.11", "november")
		h.sync(0)
		same(h, "skipped", "october", h.servedContent("m"))
		h.expect(0, "skip", "--undo", "m", "2026.11")
		h.provider.RemoveRelease("m", "2026.11")
	}
	stop()
	for _, args := range [][]string{
		{"pin", "m"}, {"pin", "m", "october"}, {"pin", "x", "2026.09"}, {"hold", "m"}, {"hold", "m", "--for", "1h", "--until", "2036-01-01"},
		{"hold", "m", "--until", "2016-01-01"}, {"hold", "m", "--for", "soon"}, {"skip", "m", "2026.Q4"}, {"unpin"},
	} {
		h.expect(2, args...)
	}
	h.proven()
}
