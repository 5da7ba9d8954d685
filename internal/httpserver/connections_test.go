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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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

// room is a bound on connections that come from nowhere.
type room struct {
	connections
	ours []*connection
}

func newRoom(t *testing.T, most, perAddress, clients int) *room {
	t.Helper()
	r := &room{connections: connections{most: most, perAddress: perAddress}}
	for range clients {
		conn, _ := net.Pipe()
		r.ours = append(r.ours, &connection{Conn: conn, of: &r.connections})
	}
	return r
}

// enter lets a connection in and names the one that it replaces, -1 for none.
func (r *room) enter(i int) (replaced int, ok bool) {
	conn, ok := r.add(r.ours[i])
	return slices.Index(r.ours, conn), ok
}

func TestABusyConnectionIsNotReplaced(t *testing.T) {
	r := newRoom(t, 2, 0, 4)
	r.enter(0)
	r.enter(1)
	r.ours[0].begin()
	if replaced, ok := r.enter(2); !ok || replaced != 1 {
		t.Errorf("replaced %d instead of the idle one", replaced)
	}
	r.ours[2].begin()
	if _, ok := r.enter(3); ok {
		t.Error("a busy one was replaced")
	}
	r.ours[0].end()
	if replaced, ok := r.enter(3); !ok || replaced != 0 {
		t.Errorf("replaced %d instead of the one whose request ended", replaced)
	}
	for _, conn := range r.ours {
		conn.Close()
	}
	if r.open != 0 || r.waiting.Len() != 0 || len(r.hosts) != 0 {
		t.Errorf("%d open after all were closed", r.open)
	}
}

func TestAnAddressReplacesOnlyItsOwnConnections(t *testing.T) {
	r := newRoom(t, 4, 2, 5)
	r.ours[0].host = hostOf(&net.TCPAddr{IP: net.ParseIP("10.0.0.1")})
	for i := range r.ours[1:] {
		r.ours[i+1].host = hostOf(&net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("2001:db8::%d", i))})
	}
	for i, want := range []int{-1, -1, -1, 1, 2} {
		if replaced, ok := r.enter(i); !ok || replaced != want {
			t.Errorf("connection %d replaced %d, want %d", i, replaced, want)
		}
	}
}
