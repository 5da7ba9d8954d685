package golive_test

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestExplainWorksWithAndWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	explained := func(want ...string) {
		t.Helper()
		out := h.Expect(0, "explain").Stdout
		if strings.Count(out, "\n") != 1 {
			t.Errorf("not one line: %q", out)
		}
		h.Contains("explain", out, append(want, "dq_addr_data: ")...)
		e2e.Same(h, "explain MANIFEST", out, h.Expect(0, "explain", "dq_addr_data").Stdout)
	}
	explained("never synced yet", "no daemon is running")
	h.Sync(0)
	explained("up to date with 2026.10", "no daemon is running")
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	h.Sync(1)
	explained("the last sync failed", "404", "still serving 2026.10")
	h.Provider.ClearFaults()
	h.Sync(0)

	p := h.SyncedDaemon()
	explained("up to date with 2026.10", "next check at 20")
	var status struct {
		Manifests []struct{ Explanation string }
	}
	_, api := p.Get("/api/v1/status")
	h.Must(json.Unmarshal([]byte(api), &status))
	e2e.Same(h, "the API's sentence", h.Expect(0, "explain").Stdout, "dq_addr_data: "+status.Manifests[0].Explanation+"\n")
	_, page := p.Get("/")
	h.Contains("the page", page, status.Manifests[0].Explanation)
	p.Terminate()

	h.Provider.AdvanceSample()
	h.Sync(0)
	h.Expect(0, "rollback")
	explained("held at 2026.10 after a rollback from 2026.11")
	h.Expect(2, "explain", "nosuch")
	h.Expect(2, "explain", "dq_addr_data", "dq_addr_data")
}

func TestSystemdGetsTheHeadline(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.Path("notify"), Net: "unixgram"})
	h.Must(err)
	defer socket.Close()
	h.Must(socket.SetReadDeadline(time.Now().Add(e2e.Patience)))
	h.Environ = []string{"NOTIFY_SOCKET=" + h.Path("notify")}
	p := h.Start("run")
	for b := make([]byte, 4096); ; {
		n, err := socket.Read(b)
		if err != nil {
			t.Fatalf("no such status: %v", err)
		}
		if strings.HasPrefix(string(b[:n]), "STATUS=dq_addr_data: up to date with 2026.10") {
			break
		}
	}
	p.Terminate()
}
