package downstream_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/clients/certificate/certificatetest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// upstream is a host that serves followers.
type upstream struct {
	*e2e.Host
	address string   // of the server for followers
	ids     []string // that it gave out; none may be kept anywhere
}

// newUpstream configures a host that serves the named manifests. lines are further ones of
// the section serve.
func newUpstream(t *testing.T, manifests []string, lines ...string) *upstream {
	t.Helper()
	h := e2e.NewHost(t, manifests...)
	u := &upstream{Host: h, address: e2e.FreeAddress(h)}
	u.serve("http", lines...)
	t.Cleanup(u.checkIDs)
	return u
}

// serve configures the server.
func (u *upstream) serve(scheme string, lines ...string) {
	u.Helper()
	u.Settings.More = fmt.Sprintf("serve:\n  listen: %s\n  public_url: %s://%s\n  ids_file: ids\n", u.address, scheme, u.address)
	for _, line := range lines {
		u.Settings.More += "  " + line + "\n"
	}
	u.Configure()
}

// addID makes the id of a follower.
func (u *upstream) addID(name string, args ...string) string {
	u.Helper()
	id := strings.TrimSpace(u.Expect(0, append([]string{"serve-id", "add", name}, args...)...).Stdout)
	u.ids = append(u.ids, id)
	return id
}

// follower is a host that takes its data from u, by an id.
func (u *upstream) follower(id string) *e2e.Host {
	u.Helper()
	f := e2e.NewHostOf(u.T, u.Provider, u.Settings.Manifests...)
	f.Settings.URL = "http://" + u.address
	f.Write("id", id+"\n", 0o600)
	f.Configure()
	return f
}

// ask sends a request to the server for followers.
func (u *upstream) ask(path, id string) (status int, body string) {
	u.Helper()
	client := &http.Client{Timeout: e2e.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + u.address + path + "?format=json&id=" + url.QueryEscape(id))
	u.Must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	u.Must(err)
	u.SecretFree(path, string(text))
	return res.StatusCode, string(text)
}

// checkIDs looks for ids in all files of the host.
func (u *upstream) checkIDs() {
	_ = filepath.WalkDir(u.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		data, _ := os.ReadFile(path)
		for _, id := range u.ids {
			if strings.Contains(string(data), id) {
				u.Errorf("%s holds the id of a follower", path)
			}
		}
		return nil
	})
}

func (u *upstream) checkLog(p *e2e.Process) {
	u.Helper()
	_, page := p.Get("/")
	_, status := p.Get("/api/v1/status")
	_, series := p.Get("/metrics")
	for _, id := range u.ids {
		for where, text := range map[string]string{"log": p.Stderr.String() + p.Stdout.String(), "page": page, "status": status, "metrics": series} {
			if strings.Contains(text, id) {
				u.Errorf("the %s holds the id of a follower", where)
			}
		}
	}
}

func TestAFollowerHasWhatItsUpstreamHas(t *testing.T) {
	u := newUpstream(t, []string{"dq_addr_data", "dq_addr_bins", "dq_phone_data"})
	u.Provider.AddSample()
	u.WithRace()
	f := u.follower(u.addID("db01"))
	daemon := u.SyncedDaemon()
	f.Sync(0)
	for _, name := range u.Settings.Manifests {
		e2e.Same(u.Host, name, u.Published(name), f.Published(name))
	}
	u.Provider.ResetRequests()
	release := u.Provider.AdvanceSample()
	u.Sync(0)
	f.Sync(0)
	for _, name := range u.Settings.Manifests {
		e2e.Same(u.Host, name, u.Published(name), f.Published(name))
	}
	for _, m := range f.Status().Manifests {
		if m.Release != release {
			t.Errorf("%s is at %s, want %s", m.Name, m.Release, release)
		}
	}
	if changed := u.Downloads(); len(changed) != 2 {
		t.Errorf("the provider sent %s", changed)
	}
	u.checkLog(daemon)
	daemon.Terminate()
}

func TestAFollowerSyncsOverTLS(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.Provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 5<<20)})
	certificate, key, _ := certificatetest.Pair(t, u.Dir, "upstream")
	u.Write("serve.yml", "tls_server_config: {cert_file: "+certificate+", key_file: "+key+"}\n", 0o644)
	u.serve("https", "web_config: serve.yml")
	f := u.follower(u.addID("db01"))
	f.Settings.URL, f.Settings.Source = "https://"+u.address, "ca_file: "+certificate
	f.Configure()
	u.Sync(0)
	daemon := u.Daemon()
	f.Sync(0)
	e2e.Same(u.Host, "one", u.Published("one"), f.Published("one"))
	conn, err := tls.Dial("tcp", u.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	u.Must(err)
	conn.Close()
	u.checkLog(daemon)
	daemon.Terminate()
}

func TestIDsOfFollowersChangeOnSIGHUP(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.Provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Text("a")})
	first := u.addID("first")
	u.Sync(0)
	daemon := u.Daemon()
	second := u.addID("second", "--ring", "canary")
	want := func(id string, status int) {
		t.Helper()
		if got, body := u.ask("/ManifestReleases/one", id); got != status {
			t.Errorf("status %d, want %d: %s", got, status, body)
		}
	}
	want(first, 200)
	want(second, 401)
	daemon.Signal(syscall.SIGHUP)
	daemon.Logged("configuration reloaded")
	want(second, 200)
	if list := u.Expect(0, "serve-id", "list").Stdout; list != "NAME    RING\nfirst\nsecond  canary\n" {
		t.Errorf("list %q", list)
	}
	u.Expect(0, "serve-id", "remove", "first")
	u.Write("ids2", "", 0o600)
	daemon.Signal(syscall.SIGHUP)
	daemon.LoggedTimes("configuration reloaded", 2)
	want(first, 401)
	want(second, 200)
	u.Write("ids", "nonsense\n", 0o644)
	daemon.Signal(syscall.SIGHUP)
	daemon.Logged("serve.ids_file not reloaded: the old ids stay in force")
	want(second, 200)
	u.Expect(2, "serve-id", "add", "a b")
	u.Expect(1, "serve-id", "remove", "nobody")
	u.checkLog(daemon)
	daemon.Terminate()
}

func TestAStagedReleaseIsServedToNoFollower(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.Settings.More += "activate: manual\n"
	u.Configure()
	id := u.addID("db01")
	u.Provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Text("old")})
	u.Sync(0)
	u.Expect(0, "activate")
	u.Provider.SetManifest("one", "2026.11", emulator.File{Name: "a.dat", Content: emulator.Text("new")}, emulator.File{Name: "b.dat", Content: emulator.Text("b")})
	u.Sync(0)
	daemon := u.Daemon()
	if _, body := u.ask("/ManifestReleases/one", id); body != `["2026.10"]` {
		t.Errorf("releases %s", body)
	}
	for _, path := range []string{"/Manifest/2026.11/one", "/Manifest/2026.Q4/none", "/SHA256/Data/2026.11/a.dat", "/Metadata/Data/2026.11/a.dat", "/Download/Data/2026.11/a.dat", "/Download/Data/2026.11/b.dat", "/Download/Data/latest/b.dat", "/Releases/Data/b.dat", "/ManifestList/2026.11"} {
		if status, body := u.ask(path, id); status != 404 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, body := u.ask("/Download/Data/latest/a.dat", id); body != "old" {
		t.Errorf("latest %q", body)
	}
	u.Expect(0, "activate")
	if _, body := u.ask("/Download/Data/latest/a.dat", id); body != "new" {
		t.Errorf("latest after it went live: %q", body)
	}
	daemon.Terminate()
}

// Crowds of strangers do not keep the daemon from its own sync.
func TestAFloodOfStrangersDoesNotHurtASync(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.Provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 1<<20)})
	u.Sync(0)
	id := u.addID("db01")
	daemon := u.Daemon()
	conns := make([]net.Conn, 0, 5000)
	for i := range cap(conns) {
		conn, err := net.Dial("tcp", u.address)
		u.Must(err)
		conns = append(conns, conn)
		switch i % 3 {
		case 0:
			_, _ = fmt.Fprintf(conn, "GET /Manifest/latest/one?id=guess%d HTTP/1.1\r\nHost: x\r\n\r\n", i) // the server may have closed it
		case 1:
			_, _ = io.WriteString(conn, "GET /Mani")
		}
	}
	u.Provider.SetManifest("one", "2026.11", emulator.File{Name: "a.dat", Content: emulator.Random(2, 8<<20)})
	daemon.Signal(syscall.SIGUSR1)
	u.Eventually("the sync during the flood", func() bool { return u.Status().Manifests[0].Release == "2026.11" })
	if status, _ := u.ask("/ManifestReleases/one", id); status != 200 {
		t.Errorf("a follower during the flood: %d", status)
	}
	if status, _ := daemon.Get("/healthz"); status != 200 {
		t.Errorf("healthz during the flood: %d", status)
	}
	for _, conn := range conns {
		conn.Close()
	}
	if lines := strings.Count(daemon.Stderr.String(), "\n"); lines > 100 {
		t.Errorf("%d lines of log", lines)
	}
	u.checkLog(daemon)
	daemon.Terminate()
}
