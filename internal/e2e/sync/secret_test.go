package sync_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// Every host looks for the Customer ID in all output, responses, files and requests to
// other hosts. These tests provoke messages that could contain it.

// leaks are responses that contain the Customer ID, or cause errors that could.
func leaks(elsewhere, id string) []emulator.Fault {
	escaped := url.QueryEscape(id)
	faults := []emulator.Fault{
		{Kind: emulator.KindBody, Body: `["2026.10","{id}","http://x.example/Download/Data/2026.10/{id}?ID={id}"]`},
		{Kind: emulator.KindBody, Body: `["http://x.example/Download/Data/2026.10/` + escaped + `?ID=` + escaped + `"]`},
		{Kind: emulator.KindBody, Body: `["http://x.example/Nope/{id}"]`},
		{Kind: emulator.KindBody, Body: `"{id}"`},
		{Kind: emulator.KindBody, Status: 400, Body: `{"type":"{id}","title":"` + escaped + `","errors":{"{id}":["{id}"]}}`},
		{Kind: emulator.KindBody, Status: 404, Body: `<html>{id}</html>`},
		{Kind: emulator.KindBody, Status: 400, Body: `{"message":"` + strings.ToUpper(id) + ` ` + strings.ToLower(escaped) + `"}`},
		{Kind: emulator.KindBody, Status: 400, Body: `{"message":"` + base64.StdEncoding.EncodeToString([]byte(id)) + `"}`},
		{Kind: emulator.KindBody, Status: 400, Body: `{"message":"Basic ` + base64.URLEncoding.EncodeToString([]byte("user:"+id)) + `"}`},
		{Kind: emulator.KindReset}, {Kind: emulator.KindTruncate, After: 1},
	}
	for _, status := range []int{400, 401, 403, 404, 409, 429, 500, 503} {
		faults = append(faults, emulator.Fault{Kind: emulator.KindStatus, Status: status, Shape: "echo"})
	}
	for _, shape := range []string{"html", "object", "nonsense", "empty", "error", "null", "echo"} {
		faults = append(faults, emulator.Fault{Kind: emulator.KindShape, Shape: shape})
	}
	for _, location := range []string{
		elsewhere + "/files/x/y?id={id}", elsewhere + "/" + escaped + "/?ID=" + escaped, "http://127.0.0.1:1/?id=" + escaped,
		"http://127.0.0.1:1/{id}", "/{id}", "?id={id}&again", "http://" + escaped + "@127.0.0.1:1/", "http://%zz{id}/", "ftp://x.example/{id}",
		"http://x.example.invalid/" + escaped, "self", "",
	} {
		if location != "" {
			faults = append(faults, emulator.Fault{Kind: emulator.KindRedirect, Location: location})
		}
	}
	return faults
}

func TestCustomerIDIsInNoError(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Elapsed = "50ms"
	h.Configure()
	h.Sync(0)
	for _, fault := range leaks(h.Provider.DownloadURL(), e2e.CustomerID) {
		h.Provider.AddFault(fault)
		for _, args := range [][]string{{"sync"}, {"manifests"}, {"get", "Data/2026.10/ews.txt"}} {
			h.Syncd(args...)
		}
		h.Provider.ClearFaults()
		if t.Failed() {
			t.Fatalf("after %s", fault)
		}
	}
	h.Expect(0, "status", "--json")
	h.Expect(0, "history", "--json")
}

func TestCustomerIDIsInNoLogMetricOrResponse(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Elapsed = "50ms"
	h.Configure()
	p := h.SyncedDaemon()
	cmdline, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "cmdline"))
	h.Must(err)
	h.SecretFree("process list", string(cmdline))
	n := 1
	for _, fault := range leaks(h.Provider.DownloadURL(), e2e.CustomerID) {
		for _, path := range []string{"/ManifestReleases/*", "/Manifest/*", "/SHA256/*", "/Metadata/*", "/Download/*", "/files/*"} {
			n++
			h.Provider.SetManifest("dq_addr_data", "2026.11", emulator.File{Name: "a", Content: emulator.Random(uint64(n), 100)},
				emulator.File{Name: "b", Content: emulator.Text("b")}, emulator.File{Name: "c", Content: emulator.Text("c")})
			fault.Path = path
			h.Provider.AddFault(fault)
			p.Signal(syscall.SIGUSR1)
			p.LoggedTimes("sync", n)
			h.Provider.ClearFaults()
		}
		for _, path := range []string{"/metrics", "/api/v1/status", "/api/v1/history", "/readyz?max_age=1ns", "/healthz", "/"} {
			p.Get(path)
		}
		h.SecretFree("log", p.Stderr.String())
		if t.Failed() {
			t.Fatalf("after %s", fault)
		}
	}
	h.Expect(0, "status")
	p.Signal(syscall.SIGUSR1)
	p.Terminate()
}

func TestCustomerIDIsInNoConnectionError(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Elapsed = "50ms"
	commands := func(reason string) {
		t.Helper()
		h.Configure()
		for _, args := range [][]string{{"sync"}, {"releases", "dq_addr_data"}, {"get", "Data/2026.10/ews.txt"}} {
			h.Contains(args[0], h.Expect(1, args...).Stderr, reason)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	h.Must(err)
	closed.Close()
	h.Settings.URL = "http://" + closed.Addr().String()
	commands("refused")
	h.Settings.URL = "https://" + strings.TrimPrefix(h.Provider.URL(), "http://")
	commands("") // plain http where TLS is expected
	h.Settings.URL = "https://name.invalid"
	commands("")

	certificate, authority := e2e.SelfSigned(h)
	secure, err := emulator.Start(emulator.Config{CustomerID: e2e.CustomerID, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	h.Must(err)
	defer secure.Close()
	secure.AddSample()
	h.Settings.URL = secure.URL()
	commands("certificate")
	h.Write("ca.pem", authority, 0o644)
	h.Settings.ID = "customer_id_file: id\n  ca_file: ca.pem"
	h.Configure()
	h.Sync(0)

	secure.AddFault(emulator.Fault{Kind: emulator.KindRedirect, Location: h.Provider.URL() + "/Manifest/2026.10/x?id={id}", Path: "/Manifest/*"})
	secure.AddFault(emulator.Fault{Kind: emulator.KindRedirect, Location: h.Provider.DownloadURL() + "/x?id=" + url.QueryEscape(e2e.CustomerID), Path: "/Manifest/*"})
	h.Provider.ResetRequests()
	r := h.Sync(1)
	h.Contains("error", r.Manifests[0].Error, "https", "http")
	e2e.Same(h, "requests that left TLS", 0, len(h.Provider.Requests()))
	h.Settings.ID = "customer_id_file: id\n  ca_file: absent.pem"
	h.Configure()
	h.Contains("stderr", h.Syncd("sync").Stderr, "absent.pem")
	h.Contains("config check", h.Expect(2, "config", "check").Stderr, "absent.pem cannot be read")
}

func TestCustomerIDGoesOnlyToTheConfiguredOrigin(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	release, elsewhere := 0, 0
	for _, r := range h.Provider.Requests() {
		if r.Host == emulator.HostDownload {
			elsewhere++
			continue
		}
		release++
		query, err := url.ParseQuery(r.RawQuery)
		h.Must(err)
		e2e.Same(h, "id", e2e.CustomerID, query.Get("id"))
		h.SecretFree("path and header", fmt.Sprint(r.Path, r.Header))
	}
	if release == 0 || elsewhere != 5 {
		t.Errorf("%d requests to the release service, %d to the download host", release, elsewhere)
	}
}

func TestRetryAfterHoldsAcrossRunsAndOnDemand(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, RetryAfter: "3600", Times: 1})
	h.Expect(1, "sync")
	h.Provider.ResetRequests()
	r := h.Sync(1)
	e2e.Same(h, "requests while it asked for patience", 0, len(h.Provider.Requests()))
	e2e.Same(h, "result", "failed", r.Manifests[0].Result)
	h.Sync(1, "--force")
	e2e.Same(h, "requests of a forced sync", 0, len(h.Provider.Requests()))
}

func TestCustomerIDIsInNoLineOfTheHTTPLibrary(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.Must(err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { speakUnasked(conn) })
		}
	})
	h.Settings.URL = "http://" + listener.Addr().String()
	h.Configure()
	p := h.Start("run")
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { listener.Close() })
	h.Eventually("the library's line", func() bool { return strings.Contains(p.Stderr.String(), "Unsolicited response") })
	p.Terminate() // the host then checks all files
}

// speakUnasked answers a request, then sends more bytes on the idle connection.
func speakUnasked(conn net.Conn) {
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
	time.Sleep(50 * time.Millisecond) // until the connection is idle
	fmt.Fprintf(conn, "HTTP/1.1 400 Bad %s\r\nX-Id: %s\r\n\r\n", e2e.CustomerID, url.QueryEscape(e2e.CustomerID))
	_, _ = io.Copy(io.Discard, conn) // until the client closes the connection
}
