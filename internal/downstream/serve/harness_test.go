package serve

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"syncd/internal/emulator"
	"syncd/internal/host/command"
	"syncd/internal/httpserver"
)

func TestMain(m *testing.M) {
	if command.IsSupervisor() {
		os.Exit(command.Supervise())
	}
	goleak.VerifyTestMain(m)
}

// customerID is the provider's id, and followerID one that this host gave out. Both have
// characters that a query escapes.
const (
	customerID = "AB+c/9 =="
	followerID = "down/stream +1&="
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startProvider plays the provider.
func startProvider(t testing.TB) *emulator.Emulator {
	t.Helper()
	e, err := emulator.Start(emulator.Config{CustomerID: customerID})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// upstream is a running server for followers.
type upstream struct {
	*Service
	address string
	ids     *IDs

	requests atomic.Int64 // answered with 200 or 206
}

// startUpstream serves a catalog over TCP. change may change its configuration.
func startUpstream(t testing.TB, c Catalog, change func(*Config)) *upstream {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	cfg := Config{Catalog: c, PublicURL: "http://" + listener.Addr().String(), IDParam: "id", IDs: idsOf(t, Identity{Name: "host", Ring: "rest"})}
	if change != nil {
		change(&cfg)
	}
	u := &upstream{address: listener.Addr().String(), ids: cfg.IDs}
	cfg.Observe = func(_ string, status int, _ int64) {
		if status == http.StatusOK || status == http.StatusPartialContent {
			u.requests.Add(1)
		}
	}
	u.Service = New(cfg)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		done <- Serve(ctx, listener, u.Service, httpserver.Options{Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	return u
}

func (u *upstream) url() string { return "http://" + u.address }

// idsOf is a file with followerID.
func idsOf(t testing.TB, who Identity) *IDs {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ids")
	who.sum = sha256.Sum256([]byte(followerID))
	must(t, os.WriteFile(path, []byte(who.line()), 0o600))
	ids, err := OpenIDs(path)
	must(t, err)
	return ids
}

// reply is an answer with its body.
type reply struct {
	*http.Response
	text string
}

// patience is longer than anything that a test waits for.
const patience = time.Minute

// ask sends a request with headers in pairs of name and value. It follows no redirect.
func ask(t testing.TB, method, address string, headers ...string) reply {
	t.Helper()
	r, err := tryAsk(method, address, headers...)
	must(t, err)
	return r
}

func tryAsk(method, address string, headers ...string) (reply, error) {
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{
		Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{res, string(body)}, err
}

// withID adds an id to an address.
func withID(address, id string) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "id=" + url.QueryEscape(id)
}
