package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
	h := newHost(t)
	h.settings.elapsed = "50ms"
	h.configure()
	h.sync(0)
	for _, fault := range leaks(h.provider.DownloadURL(), customerID) {
		h.provider.AddFault(fault)
		for _, args := range [][]string{{"sync"}, {"manifests"}, {"get", "Data/2026.10/ews.txt"}} {
			h.syncd(args...)
		}
		h.provider.ClearFaults()
		if t.Failed() {
			t.Fatalf("after %s", fault)
		}
	}
	h.expect(0, "status", "--json")
	h.expect(0, "history", "--json")
}

func TestCustomerIDIsInNoLogMetricOrResponse(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.elapsed = "50ms"
	h.configure()
	p := h.daemon()
	p.logged("sync")
	cmdline, err := os.ReadFile(filepath.Join("/proc", itoa(p.cmd.Process.Pid), "cmdline"))
	h.must(err)
	h.secretFree("process list", string(cmdline))
	n := 1
	for _, fault := range leaks(h.provider.DownloadURL(), customerID) {
		for _, path := range []string{"/ManifestReleases/*", "/Manifest/*", "/SHA256/*", "/Metadata/*", "/Download/*", "/files/*"} {
			n++
			h.provider.SetManifest("dq_addr_data", "2026.11", emulator.File{Name: "a", Content: emulator.Random(uint64(n), 100)},
				emulator.File{Name: "b", Content: emulator.Text("b")}, emulator.File{Name: "c", Content: emulator.Text("c")})
			fault.Path = path
			h.provider.AddFault(fault)
			p.signal(syscall.SIGUSR1)
			p.loggedTimes("sync", n)
			h.provider.ClearFaults()
		}
		for _, path := range []string{"/metrics", "/api/v1/status", "/api/v1/history", "/readyz?max_age=1ns", "/healthz", "/"} {
			p.get(path)
		}
		h.secretFree("log", p.stderr.String())
		if t.Failed() {
			t.Fatalf("after %s", fault)
		}
	}
	h.expect(0, "status")
	p.signal(syscall.SIGUSR1)
	p.terminate()
}

func TestCustomerIDIsInNoConnectionError(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.elapsed = "50ms"
	commands := func(reason string) {
		t.Helper()
		h.configure()
		for _, args := range [][]string{{"sync"}, {"releases", "dq_addr_data"}, {"get", "Data/2026.10/ews.txt"}} {
			h.contains(args[0], h.expect(1, args...).stderr, reason)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	closed.Close()
	h.settings.url = "http://" + closed.Addr().String()
	commands("refused")
	h.settings.url = "https://" + strings.TrimPrefix(h.provider.URL(), "http://")
	commands("") // plain http where TLS is expected
	h.settings.url = "https://name.invalid"
	commands("")

	certificate, authority := selfSigned(h)
	secure, err := emulator.Start(emulator.Config{CustomerID: customerID, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	h.must(err)
	defer secure.Close()
	secure.AddSample()
	h.settings.url = secure.URL()
	commands("certificate")
	h.write("ca.pem", authority, 0o644)
	h.settings.id = "customer_id_file: id\n  ca_file: ca.pem"
	h.configure()
	h.sync(0)

	secure.AddFault(emulator.Fault{Kind: emulator.KindRedirect, Location: h.provider.URL() + "/Manifest/2026.10/x?id={id}", Path: "/Manifest/*"})
	secure.AddFault(emulator.Fault{Kind: emulator.KindRedirect, Location: h.provider.DownloadURL() + "/x?id=" + url.QueryEscape(customerID), Path: "/Manifest/*"})
	h.provider.ResetRequests()
	r := h.sync(1)
	h.contains("error", r.Manifests[0].Error, "https", "http")
	same(h, "requests that left TLS", 0, len(h.provider.Requests()))
	h.settings.id = "customer_id_file: id\n  ca_file: absent.pem"
	h.configure()
	h.contains("stderr", h.syncd("sync").stderr, "absent.pem")
	h.contains("config check", h.expect(2, "config", "check").stderr, "absent.pem cannot be read")
}

// selfSigned is a certificate for loopback and its PEM form.
func selfSigned(h *host) (tls.Certificate, string) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "emulator"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestCustomerIDGoesOnlyToTheConfiguredOrigin(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	release, elsewhere := 0, 0
	for _, r := range h.provider.Requests() {
		if r.Host == emulator.HostDownload {
			elsewhere++
			continue
		}
		release++
		query, err := url.ParseQuery(r.RawQuery)
		h.must(err)
		same(h, "id", customerID, query.Get("id"))
		h.secretFree("path and header", fmt.Sprint(r.Path, r.Header))
	}
	if release == 0 || elsewhere != 5 {
		t.Errorf("%d requests to the release service, %d to the download host", release, elsewhere)
	}
}

func TestRetryAfterHoldsAcrossRunsAndOnDemand(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 503, RetryAfter: "3600", Times: 1})
	h.expect(1, "sync")
	h.provider.ResetRequests()
	r := h.sync(1)
	same(h, "requests while it asked for patience", 0, len(h.provider.Requests()))
	same(h, "result", "failed", r.Manifests[0].Result)
	h.sync(1, "--force")
	same(h, "requests of a forced sync", 0, len(h.provider.Requests()))
}

func TestCustomerIDIsInNoLineOfTheHTTPLibrary(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
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
	h.settings.url = "http://" + listener.Addr().String()
	h.configure()
	p := h.start("run")
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { listener.Close() })
	h.eventually("the library's line", func() bool { return strings.Contains(p.stderr.String(), "Unsolicited response") })
	p.terminate() // the host then checks all files
}

// speakUnasked answers a request, then sends more bytes on the idle connection.
func speakUnasked(conn net.Conn) {
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
	time.Sleep(50 * time.Millisecond) // until the connection is idle
	fmt.Fprintf(conn, "HTTP/1.1 400 Bad %s\r\nX-Id: %s\r\n\r\n", customerID, url.QueryEscape(customerID))
	_, _ = io.Copy(io.Discard, conn) // until the client closes the connection
}
