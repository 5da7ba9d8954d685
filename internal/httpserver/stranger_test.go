//go:build linux

package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// askAs sends one request over a connection of its own.
func askAs(t *testing.T, url, user, password string) int {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	must(t, err)
	req.SetBasicAuth(user, password)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	must(t, err)
	return res.StatusCode
}

func TestAFloodOfWrongPasswordsIsNotChecked(t *testing.T) {
	base := serve(t, okay, webConfigFile(t, basicAuth))
	if got := askAs(t, base+"/healthz", "alice", "secret"); got != http.StatusOK {
		t.Fatalf("the right password: %d", got)
	}
	codes := map[int]int{}
	for range 10 * checkBurst {
		codes[askAs(t, base+"/healthz", "alice", "wrong")]++
	}
	if codes[http.StatusUnauthorized] < checkBurst-1 || codes[http.StatusTooManyRequests] == 0 || len(codes) != 2 {
		t.Errorf("wrong passwords: %v", codes)
	}
	if got := askAs(t, base+"/healthz", "alice", "secret"); got != http.StatusOK {
		t.Errorf("a known client after the flood: %d", got)
	}
}

func TestOnlyPasswordsThatPassedAreKnown(t *testing.T) {
	p := &passwords{limit: rate.NewLimiter(0, 0), known: map[[32]byte]bool{}}
	handler := p.limited(p.passed(http.NotFoundHandler()))
	auth := func(user, password string) []string {
		req, _ := http.NewRequest("GET", "/", nil)
		req.SetBasicAuth(user, password)
		return []string{"Authorization", req.Header.Get("Authorization")}
	}
	if got := ask(handler, "GET", "/", auth("alice", "secret")...).Code; got != http.StatusTooManyRequests {
		t.Errorf("unknown: %d", got)
	}
	ask(p.passed(http.NotFoundHandler()), "GET", "/", auth("alice", "secret")...)
	for password, want := range map[string]int{"secret": http.StatusNotFound, "wrong": http.StatusTooManyRequests} {
		if got := ask(handler, "GET", "/", auth("alice", password)...).Code; got != want {
			t.Errorf("%s: %d, want %d", password, got, want)
		}
	}
	if got := ask(handler, "GET", "/").Code; got != http.StatusNotFound {
		t.Errorf("without a password: %d", got)
	}
	for i := range 10 * maxKnown {
		ask(p.passed(http.NotFoundHandler()), "GET", "/", auth("alice", strings.Repeat("x", i))...)
	}
	if len(p.known) > maxKnown {
		t.Errorf("%d passwords are kept", len(p.known))
	}
}

// secureBase serves with TLS and logs to log.
func secureBase(t *testing.T, log io.Writer) (address string) {
	t.Helper()
	certificate := certificateFile(t)
	config, err := OpenWebConfig(webConfigFile(t, "tls_server_config: {cert_file: "+certificate+", key_file: "+certificate+"}\n"))
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, okay, Options{WebConfig: config, Log: slog.New(slog.NewJSONHandler(log, nil))})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
		must(t, config.Close())
	})
	return listener.Addr().String()
}

// One connection of HTTP/2 carries 250 requests that wait, each with its headers. 200
// connections made 830 MiB of them, without a password.
func TestServerSpeaksHTTP1Only(t *testing.T) {
	address := secureBase(t, io.Discard)
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	must(t, err)
	defer conn.Close()
	if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("negotiated %q", got)
	}
}

// lockedBuffer is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) lines(with string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), with)
}

func TestBrokenHandshakesDoNotFillTheLog(t *testing.T) {
	var log lockedBuffer
	address := secureBase(t, &log)
	for range 10 * logBurst {
		conn, err := net.Dial("tcp", address)
		must(t, err)
		_, err = io.WriteString(conn, "no handshake\r\n\r\n")
		must(t, err)
		must(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, _ = io.Copy(io.Discard, conn) // until the server closes it
		conn.Close()
	}
	if got := log.lines("TLS handshake error"); got == 0 || got > 2*logBurst {
		t.Errorf("%d lines", got)
	}
}
