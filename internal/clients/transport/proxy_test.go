package transport

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const proxyPassword = "pr0xy/pass word"

// proxyServer is a proxy that asks for a password. It counts what it carried.
type proxyServer struct {
	*httptest.Server
	tunnels, forwarded atomic.Int64
}

func newProxy(t *testing.T) *proxyServer {
	t.Helper()
	p := &proxyServer{}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+proxyPassword))
	forward := httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: &http.Transport{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Proxy-Authorization") != want:
			http.Error(w, "not you: "+proxyPassword, http.StatusProxyAuthRequired)
		case r.Method == http.MethodConnect && strings.HasPrefix(r.Host, "blocked."):
			http.Error(w, "blocked", http.StatusForbidden)
		case r.Method == http.MethodConnect:
			p.tunnels.Add(1)
			tunnel(w, r.Host)
		default:
			p.forwarded.Add(1)
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		forward.Transport.(*http.Transport).CloseIdleConnections()
	})
	return p
}

// tunnel connects the client to a server, and copies bytes until one of them ends.
func tunnel(w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, client); server.Close() })
	_, _ = io.Copy(client, server)
	client.Close()
	both.Wait()
}

// at returns the proxy's address with a user part.
func (p *proxyServer) at(t *testing.T, password string) *url.URL {
	t.Helper()
	u, err := url.Parse(p.URL)
	must(t, err)
	u.User = url.UserPassword("user", password)
	return u
}

func TestRequestsGoThroughTheProxy(t *testing.T) {
	ok := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok "+r.Proto) }
	secure, ca := tlsServerWith(t, func(s *httptest.Server) { s.EnableHTTP2 = true }, ok)
	plain := plainServer(t, ok)
	p := newProxy(t)
	for _, row := range []struct {
		name, base         string
		bulk               bool
		tunnels, forwarded int64
		proto              string
	}{
		{"https", secure.URL, false, 1, 0, "HTTP/2.0"},
		{"https, long body", secure.URL, true, 1, 0, "HTTP/1.1"},
		{"plain http", plain.URL, false, 0, 1, "HTTP/1.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p.tunnels.Store(0)
			p.forwarded.Store(0)
			c := newClient(t, row.base, func(cfg *Config) { cfg.CAFile, cfg.Proxy = ca, p.at(t, proxyPassword) })
			_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100, Bulk: row.bulk})
			if err != nil || string(body) != "ok "+row.proto {
				t.Errorf("%q, %v", body, err)
			}
			if tunnels, forwarded := p.tunnels.Load(), p.forwarded.Load(); tunnels != row.tunnels || forwarded != row.forwarded {
				t.Errorf("%d tunnels, %d forwarded", tunnels, forwarded)
			}
		})
	}
}

func TestAProxyThatRefusesIsNamedWithoutItsPassword(t *testing.T) {
	server, ca := tlsServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	plain := plainServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	p := newProxy(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	dead, err := url.Parse(gone.URL)
	must(t, err)
	dead.User = url.UserPassword("user", proxyPassword)
	for _, row := range []struct {
		name, base string
		proxy      *url.URL
		kind       Kind
		has        string
	}{
		{"wrong password", server.URL, p.at(t, proxyPassword+"2"), Rejected, "the proxy " + p.URL + " refused the connection with status 407 Proxy Authentication Required: check the user"},
		{"wrong password, plain http", plain.URL, p.at(t, proxyPassword+"2"), Rejected, "status 407 Proxy Authentication Required"},
		{"blocked host", "https://blocked.example:1", p.at(t, proxyPassword), Rejected, "with status 403 Forbidden: check that it permits"},
		{"server is down", "https://127.0.0.1:1", p.at(t, proxyPassword), Transient, "with status 502 Bad Gateway"},
		{"proxy is down", server.URL, dead, Transient, "connection refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, row.base, func(cfg *Config) { cfg.CAFile, cfg.Proxy, cfg.Retry = ca, row.proxy, quick })
			_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100})
			if failed, ok := errors.AsType[*Error](err); !ok || failed.Kind != row.kind || !strings.Contains(err.Error(), row.has) {
				t.Fatalf("error %v, want one with %q", err, row.has)
			}
			for _, form := range []string{proxyPassword, url.QueryEscape(proxyPassword), url.PathEscape(proxyPassword)} {
				if strings.Contains(err.Error(), form) {
					t.Errorf("the password is in %v", err)
				}
			}
		})
	}
}

// net/http reads the environment once in a process, so this test needs its own.
func TestWithoutAProxyTheEnvironmentDecides(t *testing.T) {
	if target := os.Getenv("SYNCD_TEST_TARGET"); target != "" {
		c := newClient(t, target, func(cfg *Config) { cfg.Retry = quick })
		_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100})
		t.Logf("answer %q, error %v", body, err)
		return
	}
	p := newProxy(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestWithoutAProxyTheEnvironmentDecides$", "-test.v")
	cmd.Env = append(os.Environ(), "SYNCD_TEST_TARGET=https://blocked.example", "HTTPS_PROXY="+p.at(t, proxyPassword).String(), "NO_PROXY=")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "with status 403 Forbidden") {
		t.Errorf("%v, %s", err, out)
	}
}
