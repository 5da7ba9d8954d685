//go:build linux

package httpserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/httpserver/accounts"
)

// counting is a listener that counts its open connections.
type counting struct {
	net.Listener

	mu         sync.Mutex
	open, most int
}

func (c *counting) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.most = max(c.most, c.open)
}

func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.add(1)
		return &counted{Conn: conn, of: c}, nil
	}
	return nil, err
}

type counted struct {
	net.Conn
	of   *counting
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.add(-1) })
	return c.Conn.Close()
}

func TestConnectionsLeaveDescriptorsForASync(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listener := &counting{Listener: inner}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, http.NotFoundHandler(), Options{Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	for range maxConnections + 100 { // each stays open after its response
		conn, err := net.Dial("tcp", inner.Addr().String())
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		must(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, " 404 ") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.most > maxConnections+1 { // one is accepted before another is closed for it
		t.Errorf("%d connections were open at once", listener.most)
	}
}

func TestIdleConnectionsDoNotKeepHealthzFromAnswering(t *testing.T) {
	certificate := certificateFile(t)
	for name, config := range map[string]string{
		"plain":             "",
		"TLS":               "tls_server_config: {cert_file: " + certificate + ", key_file: " + certificate + "}\n",
		"TLS and passwords": "tls_server_config: {cert_file: " + certificate + ", key_file: " + certificate + "}\n" + basicAuth,
	} {
		for bytes, sent := range map[string]string{"nothing": "", "half a request": "GET / HTTP/1.1\r\n", "a request without a password": "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
			t.Run(name+" "+bytes, func(t *testing.T) {
				base := strings.TrimPrefix(serve(t, okay, webConfigFile(t, config)), "http://")
				secure := config != ""
				for range maxConnections + 150 {
					conn, err := net.Dial("tcp", base)
					must(t, err)
					t.Cleanup(func() { conn.Close() })
					_, err = io.WriteString(conn, sent)
					must(t, err)
				}
				scheme := "http://"
				if secure {
					scheme = "https://"
				}
				client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
				req, err := http.NewRequest("GET", scheme+base+"/healthz", nil)
				must(t, err)
				req.SetBasicAuth("alice", "secret")
				res, err := client.Do(req)
				must(t, err)
				res.Body.Close()
				if res.StatusCode != 200 {
					t.Errorf("status %d", res.StatusCode)
				}
			})
		}
	}
}

func TestRequestsThatNeverEndLeaveRoomForHealthz(t *testing.T) {
	wait := make(chan struct{})
	handler := bounded(2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			<-wait
		}
	}))
	var requests sync.WaitGroup
	codes := make(chan int, 5)
	for range 5 {
		requests.Go(func() { codes <- ask(handler, "GET", "/").Code })
	}
	for range 3 {
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Errorf("status %d above the limit", code)
		}
	}
	if got := ask(handler, "GET", "/healthz"); got.Code != 200 {
		t.Errorf("healthz: %d", got.Code)
	}
	close(wait)
	requests.Wait()
}

// busy is a server of most places whose answers never end, and that notes who asks as an id.
func busy(t *testing.T, most, ofOne int) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.URL.Query().Get("id"); id != "" {
			accounts.PlaceOf(r.Context()).Belongs(accounts.OfID(id))
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/endless" {
			<-r.Context().Done()
		}
	})
	go func() {
		limits := Limits{Connections: most, PerAddress: ofOne, Requests: 2 * most, LongAnswers: true}
		done <- Serve(ctx, listener, handler, Options{Log: slog.New(slog.DiscardHandler), Limits: limits})
	}()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	return listener.Addr().String()
}

// client opens a connection from an address and asks. It is nil if the server has no place.
func client(t *testing.T, server, from, target string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conn, err := dialer.Dial("tcp", server)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, _ = io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\n\r\n") // the server may have closed it
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		return nil
	}
	return conn
}

// Six addresses took all places with 4,600 connections.
func TestAddressesThatTakeAllPlacesShareThem(t *testing.T) {
	server := busy(t, 40, 20)
	for n := range 60 { // two addresses, each with as many as it may have, and more
		client(t, server, fmt.Sprintf("127.0.0.%d", 10+n%2), "/endless")
	}
	for n := range 13 { // a third of the places
		if client(t, server, "127.0.0.20", "/endless") == nil {
			t.Fatalf("connection %d of the third address found no place", n)
		}
	}
	if client(t, server, "127.0.0.30", "/") == nil {
		t.Error("a fourth address found no place")
	}
}

func TestAnIDHasOneShareFromAllItsAddresses(t *testing.T) {
	server := busy(t, 40, 20)
	for n := range 20 {
		if client(t, server, fmt.Sprintf("127.0.1.%d", 1+n), "/endless?id=evil") == nil || client(t, server, "127.0.0.20", "/endless?id=good") == nil {
			t.Fatal("no place although there are some")
		}
	}
	for n := range 20 { // each address is a new client; the ids have most
		if client(t, server, fmt.Sprintf("127.0.2.%d", 1+n), "/") == nil {
			t.Fatalf("connection %d found no place", n)
		}
	}
}

// A client that does not read had the kernel keep megabytes for each of its connections.
func TestTheKernelKeepsLittleForAConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	conns := &connections{Listener: listener, places: accounts.NewPlaces(2000, 0)}
	defer conns.Close()
	option := func(conn net.Conn, level, name int) (value int) {
		raw, err := conn.(*connection).Conn.(*net.TCPConn).SyscallConn()
		must(t, err)
		must(t, raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, name) }))
		must(t, err)
		return value
	}
	all := 0
	for n := range 600 {
		peer, err := net.Dial("tcp", listener.Addr().String())
		must(t, err)
		defer peer.Close()
		conn, err := conns.Accept()
		must(t, err)
		defer conn.Close()
		all += option(conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
		if got := option(conn, unix.SOL_SOCKET, unix.SO_RCVBUF); got > 4*receiveBuffer {
			t.Fatalf("the receive buffer has %d bytes", got)
		}
		if got := option(conn, unix.SOL_SOCKET, unix.SO_SNDBUF); n >= crowd && got > 4*crowdBuffer {
			t.Fatalf("the send buffer of connection %d has %d bytes", n, got)
		}
	}
	if all > 6*allUnsent { // early connections keep the larger share they got
		t.Errorf("%d bytes may wait to be sent", all)
	}
}
