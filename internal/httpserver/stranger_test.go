//go:build linux

package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"
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

// flood sends wrong passwords from an address and returns how many were checked.
func flood(handler http.Handler, address string, n int) (checked int) {
	for range n {
		if askFrom(handler, address, "wrong") == http.StatusNotFound {
			checked++
		}
	}
	return checked
}

// askFrom sends a password by way of a handler that checks none.
func askFrom(handler http.Handler, address, password string) int {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address
	r.SetBasicAuth("alice", password)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

// A client that has not logged in yet is locked out by none of them.
func TestAFloodFromOneHostLeavesTheOthersTheirChecks(t *testing.T) {
	for name, addresses := range map[string][]string{
		"IPv4":                    {"192.0.2.7:1", "192.0.2.7:2", "[::ffff:192.0.2.7]:3"},
		"a network of IPv6":       {"[2001:db8:0:1::1]:1", "[2001:db8:0:1:ffff::1]:1"},
		"a site of many networks": {"[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1", "[2001:db8:0:3::1]:1", "[2001:db8:0:4::1]:1"},
		"a user of this host":     {"127.0.0.1:1", "127.0.0.2:1", "127.255.1.1:1", "[::ffff:127.3.0.1]:1"},
		"without an address":      {"", "@"},
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := newPasswords().limited(http.NotFoundHandler())
			checked := 0
			for _, address := range addresses {
				checked += flood(handler, address, 10*checkBurst)
			}
			if checked < checkBurst || checked > siteChecks*checkBurst {
				t.Errorf("%s: %d passwords were checked", name, checked)
			}
			for _, address := range []string{"192.0.2.8:1", "[2001:db8:1::1]:1"} {
				if got := askFrom(handler, address, "right"); got != http.StatusNotFound {
					t.Errorf("%s: a client of %s gets %d", name, address, got)
				}
			}
			time.Sleep(time.Minute)
			if flood(handler, addresses[0], 1) != 1 {
				t.Errorf("%s: locked out for ever", name)
			}
		})
	}
}

func TestManyHostsTakeLittleMemoryAndBoundedChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords()
		var checked atomic.Int64
		handler := p.limited(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			checked.Add(1)
			http.NotFound(w, nil)
		}))
		for i := range 3 * maxHosts {
			p.of(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 32), 1).rate.Allow()
		}
		if len(p.hosts) > maxHosts {
			t.Errorf("%d hosts are counted", len(p.hosts))
		}
		var group errgroup.Group
		for i := range 1000 {
			group.Go(func() error {
				askFrom(handler, fmt.Sprintf("10.2.%d.%d:1", i/256, i%256), "wrong")
				return nil
			})
		}
		_ = group.Wait() // it has no errors
		if got, most := checked.Load(), int64(allChecks+allChecksPerSecond*(checkPatience/time.Second)); got < allChecks || got > most {
			t.Errorf("%d checks of 1,000, want at most %d", got, most)
		}
	})
}

// With a hash of a high cost, each check takes a second, and all wait for the one that runs.
func TestChecksThatTakeLongKeepNoOtherHostWaiting(t *testing.T) {
	for name, site := range map[string]string{"a host": "192.0.2.7:%d", "a site": "127.0.0.%d:1"} {
		synctest.Test(t, func(t *testing.T) {
			const cost = 4 * time.Second
			p := newPasswords()
			running := make(chan struct{}, 1)
			var flooding atomic.Bool
			handler := p.limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				running <- struct{}{}
				time.Sleep(cost)
				<-running
				if _, password, _ := r.BasicAuth(); password == "right" {
					p.passed(http.NotFoundHandler()).ServeHTTP(w, r)
				}
			}))
			flooding.Store(true)
			var flood sync.WaitGroup
			for i := range 100 {
				flood.Go(func() {
					for flooding.Load() {
						askFrom(handler, fmt.Sprintf(site, i+1), fmt.Sprint(i))
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
			time.Sleep(time.Minute)
			began := time.Now()
			if got := askFrom(handler, "192.0.2.8:1", "right"); got != http.StatusNotFound {
				t.Errorf("%s: a client elsewhere gets %d", name, got)
			}
			if waited, most := time.Since(began), (siteChecks*checksOfHost+1)*cost; waited > most {
				t.Errorf("%s: a client elsewhere waited for %s, want at most %s", name, waited, most)
			}
			flooding.Store(false)
			flood.Wait()
			if held := len(p.all.held); held != 0 {
				t.Errorf("%s: %d checks never ended", name, held)
			}
		})
	}
}

// A request that passed holds up no further check, however long its answer takes.
func TestACheckEndsWhenThePasswordPassed(t *testing.T) {
	p := newPasswords()
	handler := p.limited(p.passed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if held := len(p.all.held); held != 0 {
			t.Errorf("%d checks are under way", held)
		}
	})))
	if got := askFrom(handler, "192.0.2.7:1", "right"); got != http.StatusOK {
		t.Errorf("%d", got)
	}
}

func TestOnlyPasswordsThatPassedAreKnown(t *testing.T) {
	p := newPasswords()
	p.all.rate = rate.NewLimiter(0, 0)
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
