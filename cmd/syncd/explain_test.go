package main

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
)

func TestExplainWorksWithAndWithoutADaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	explained := func(want ...string) {
		t.Helper()
		out := h.expect(0, "explain").stdout
		if strings.Count(out, "\n") != 1 {
			t.Errorf("not one line: %q", out)
		}
		h.contains("explain", out, append(want, "dq_addr_data: ")...)
		same(h, "explain MANIFEST", out, h.expect(0, "explain", "dq_addr_data").stdout)
	}
	explained("never synced yet", "no daemon is running")
	h.sync(0)
	explained("up to date with 2026.10", "no daemon is running")
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	h.sync(1)
	explained("the last sync failed", "404", "still serving 2026.10")
	h.provider.ClearFaults()
	h.sync(0)

	p := h.daemon()
	p.logged("sync")
	explained("up to date with 2026.10", "next check at 20")
	var status struct {
		Manifests []struct{ Explanation string }
	}
	_, api := p.get("/api/v1/status")
	h.must(json.Unmarshal([]byte(api), &status))
	same(h, "the API's sentence", h.expect(0, "explain").stdout, "dq_addr_data: "+status.Manifests[0].Explanation+"\n")
	_, page := p.get("/")
	h.contains("the page", page, status.Manifests[0].Explanation)
	p.terminate()

	h.provider.AdvanceSample()
	h.sync(0)
	h.expect(0, "rollback")
	explained("held at 2026.10 after a rollback from 2026.11")
	h.expect(2, "explain", "nosuch")
	h.expect(2, "explain", "dq_addr_data", "dq_addr_data")
}

func TestSystemdGetsTheHeadline(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: h.path("notify"), Net: "unixgram"})
	h.must(err)
	defer socket.Close()
	h.must(socket.SetReadDeadline(time.Now().Add(patience)))
	h.environ = []string{"NOTIFY_SOCKET=" + h.path("notify")}
	p := h.start("run")
	for b := make([]byte, 4096); ; {
		n, err := socket.Read(b)
		if err != nil {
			t.Fatalf("no such status: %v", err)
		}
		if strings.HasPrefix(string(b[:n]), "STATUS=dq_addr_data: up to date with 2026.10") {
			break
		}
	}
	p.terminate()
}
