package golive_test

import (
	"net/http"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// The next step that explain and activate name is one that works.
func TestHeldAndStagedSaysWhatEndsTheWait(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m", "n")
	for _, name := range []string{"m", "n"} {
		h.Month(name, "2026.09", name+" september")
	}
	h.ConfigureWith("activate: manual\ngroups: [{name: both, manifests: [m, n]}]\n")
	if out := h.Expect(0, "explain").Stdout; !strings.Contains(out, "never synced") {
		t.Errorf("explain said\n%s", out)
	}
	h.Sync(0)
	h.Expect(0, "activate")
	h.Month("m", "2026.10", "m october")
	h.Sync(0)
	blocked := func(why string) {
		t.Helper()
		h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "2026.10 is staged since", "waits: "+why)
		h.Contains("activate", h.Expect(1, "activate", "m").Stderr, why)
	}
	blocked("n is at 2026.09, not at 2026.10")
	h.Month("n", "2026.10", "n october")
	h.Sync(0)
	h.Expect(0, "hold", "n", "--for", "1h")
	blocked("n is held until")
	h.Contains("explain", h.Expect(0, "explain", "n").Stdout, "`syncd hold n --for 0s` ends that")
	h.Expect(0, "hold", "n", "--for", "0s")
	h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "goes live with `syncd activate m`")
	h.Expect(0, "activate", "m")
	e2e.Same(h, "group", "m october n october", h.ServedContent("m")+" "+h.ServedContent("n"))
}

func TestRollbackAndHoldByTheAPI(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Month("m", "2026.09", "september")
	h.Sync(0)
	h.Month("m", "2026.10", "october")
	p := h.SyncedDaemon()
	e2e.Same(h, "before", "october", h.ServedContent("m"))
	post := func(path, body string, want int) {
		h.Helper()
		code, text := p.Request(http.MethodPost, "/api/v1/"+path, body)
		e2e.Same(h, path+" "+body+" "+text, want, code)
	}
	post("rollback", `{"manifests": ["m"], "generation": 1}`, http.StatusAccepted)
	p.Logged("rollback")
	e2e.Same(h, "after the rollback", "september", h.ServedContent("m"))
	post("hold", `{"manifests": ["m"], "for": "24h"}`, http.StatusAccepted)
	p.Logged("hold")
	h.Contains("explain", h.Expect(0, "explain").Stdout, "held at 2026.09 by `syncd hold` until")
	post("hold", `{"manifests": ["m"], "for": "0s"}`, http.StatusAccepted)
	p.LoggedTimes("hold", 2)
	h.Contains("explain", h.Expect(0, "explain").Stdout, "held at 2026.09 after a rollback from 2026.10")
	post("hold", `{"for": "24h"}`, http.StatusBadRequest)
	post("rollback", `{"manifests": ["other"]}`, http.StatusNotFound)
	p.Terminate()
}

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
		h.Contains("pin below a hold", h.Expect(0, "pin", "m", "2026.10").Stdout, "pinned to 2026.10 once its hold ends at 2036-01-01 06:00", "`syncd sync --force m`")
		h.Contains("unpin below a hold", h.Expect(0, "unpin", "m").Stdout, "follows the configuration once its hold ends at 2036-01-01 06:00")
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
