package crash_test

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// wedges are attacks that block the HTTP/2 client of Go 1.26: by a deadlock, and by a
// write that holds its lock.
var wedges = map[string]func(fr *http2.Framer, stream uint32) error{
	"window overflow": func(fr *http2.Framer, stream uint32) error {
		fr.WriteWindowUpdate(stream, 1<<31-1)
		return fr.WriteWindowUpdate(stream, 1<<31-1)
	},
	"pings within the body, never reads": func(fr *http2.Framer, stream uint32) error {
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true}) // :status 200
		_ = fr.WriteData(stream, false, make([]byte, 16<<10))
		for {
			if err := fr.WritePing(false, [8]byte{}); err != nil {
				return err
			}
		}
	},
}

// startWedge is an HTTP/2 server that wedges each connection at its first request, and
// keeps it until the client closes it.
func startWedge(h *e2e.Host, certificate tls.Certificate, wedge func(*http2.Framer, uint32) error) (base string, requests <-chan struct{}) {
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
	h.Must(err)
	arrived := make(chan struct{}, 1000)
	serve := func(conn net.Conn) {
		defer conn.Close()
		_, _ = io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
		fr := http2.NewFramer(conn, conn)
		_ = fr.WriteSettings()
		for {
			frame, err := fr.ReadFrame()
			if err != nil {
				return
			}
			if frame.Header().Type == http2.FrameHeaders {
				arrived <- struct{}{}
				_ = wedge(fr, frame.Header().StreamID)
				break
			}
		}
		_, _ = io.Copy(io.Discard, conn)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serve(conn) })
		}
	})
	h.Cleanup(serving.Wait)
	h.Cleanup(func() { listener.Close() })
	return "https://" + listener.Addr().String(), arrived
}

func TestADaemonServesBesideAServerThatWedgesHTTP2(t *testing.T) {
	t.Parallel()
	for name, wedge := range wedges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			h.Sync(0)
			h.Provider.SetManifest("dq_addr_data", "2026.11", emulator.File{Name: "new.txt", Content: emulator.Text("new")})
			h.Sync(0, "--force")
			certificate, authority := e2e.SelfSigned(h)
			h.Write("ca.pem", authority, 0o644)
			base, requests := startWedge(h, certificate, wedge)
			h.Settings.URL, h.Settings.Source = base, "ca_file: ca.pem"
			h.Settings.Stall, h.Settings.Elapsed = "300ms", "50ms"
			h.Configure()

			p := h.Daemon()
			p.LoggedTimes("sync", 1)
			p.Signal(syscall.SIGUSR1)
			p.LoggedTimes("sync", 2)
			h.Expect(0, "rollback")

			h.Settings.Stall = "1h" // SIGTERM arrives within a request
			h.Configure()
			p.Signal(syscall.SIGHUP)
			p.Logged("configuration reloaded")
			for len(requests) > 0 {
				<-requests
			}
			p.Signal(syscall.SIGUSR1)
			<-requests
			begin := time.Now()
			p.Terminate()
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("ended %v after SIGTERM", took)
			}
		})
	}
}

func TestAServerCannotFloodTheLog(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	certificate, authority := e2e.SelfSigned(h)
	h.Write("ca.pem", authority, 0o644)
	h.Settings.URL, _ = startWedge(h, certificate, func(fr *http2.Framer, stream uint32) error {
		for range 5000 { // net/http logs a line for each
			if err := fr.WritePriority(stream, http2.PriorityParam{Weight: 1}); err != nil {
				return err
			}
		}
		return nil
	})
	h.Settings.Source = "ca_file: ca.pem"
	h.Settings.Stall, h.Settings.Elapsed = "2s", "50ms" // enough for a handshake on a busy machine
	h.Configure()
	p := h.Daemon()
	p.LoggedTimes("sync", 1)
	p.Terminate()
	if lines := strings.Count(p.Stderr.String(), "unhandled response frame"); lines < 1 || lines > 100 {
		t.Errorf("the daemon logged %d lines about frames", lines)
	}
	run := h.Expect(1, "sync")
	if lines := strings.Count(run.Stderr, "unhandled response frame"); lines < 1 || lines > 100 {
		t.Errorf("the command printed %d lines about frames", lines)
	}
}
