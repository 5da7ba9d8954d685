package main

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
	"syncd/internal/emulator"
)

// upstream is a host that serves followers.
type upstream struct {
	*host
	address string   // of the server for followers
	ids     []string // that it gave out; none may be kept anywhere
}

// newUpstream configures a host that serves the named manifests. lines are further ones of
// the section serve.
func newUpstream(t *testing.T, manifests []string, lines ...string) *upstream {
	t.Helper()
	h := newHost(t, manifests...)
	u := &upstream{host: h, address: freeAddress(h)}
	u.serve("http", lines...)
	t.Cleanup(u.checkIDs)
	return u
}

// serve configures the server.
func (u *upstream) serve(scheme string, lines ...string) {
	u.Helper()
	u.settings.more = fmt.Sprintf("serve:\n  listen: %s\n  public_url: %s://%s\n  ids_file: ids\n", u.address, scheme, u.address)
	for _, line := range lines {
		u.settings.more += "  " + line + "\n"
	}
	u.configure()
}

// addID makes the id of a follower.
func (u *upstream) addID(name string, args ...string) string {
	u.Helper()
	id := strings.TrimSpace(u.expect(0, append([]string{"serve-id", "add", name}, args...)...).stdout)
	u.ids = append(u.ids, id)
	return id
}

// follower is a host that takes its data from u, by an id.
func (u *upstream) follower(id string) *host {
	u.Helper()
	f := newHostOf(u.T, u.provider, u.settings.manifests...)
	f.settings.url = "http://" + u.address
	f.write("id", id+"\n", 0o600)
	f.configure()
	return f
}

// ask sends a request to the server for followers.
func (u *upstream) ask(path, id string) (status int, body string) {
	u.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + u.address + path + "?format=json&id=" + url.QueryEscape(id))
	u.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	u.must(err)
	u.secretFree(path, string(text))
	return res.StatusCode, string(text)
}

// checkIDs looks for ids in all files of the host.
func (u *upstream) checkIDs() {
	_ = filepath.WalkDir(u.dir, func(path string, entry fs.DirEntry, err error) error {
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

func (u *upstream) checkLog(p *process) {
	u.Helper()
	_, page := p.get("/")
	_, status := p.get("/api/v1/status")
	_, series := p.get("/metrics")
	for _, id := range u.ids {
		for where, text := range map[string]string{"log": p.stderr.String() + p.stdout.String(), "page": page, "status": status, "metrics": series} {
			if strings.Contains(text, id) {
				u.Errorf("the %s holds the id of a follower", where)
			}
		}
	}
}

func TestAFollowerHasWhatItsUpstreamHas(t *testing.T) {
	u := newUpstream(t, []string{"dq_addr_data", "dq_addr_bins", "dq_phone_data"})
	u.provider.AddSample()
	u.withRace()
	f := u.follower(u.addID("db01"))
	daemon := u.daemon()
	daemon.logged("sync")
	f.sync(0)
	for _, name := range u.settings.manifests {
		same(u.host, name, u.published(name), f.published(name))
	}
	u.provider.ResetRequests()
	release := u.provider.AdvanceSample()
	u.sync(0)
	f.sync(0)
	for _, name := range u.settings.manifests {
		same(u.host, name, u.published(name), f.published(name))
	}
	for _, m := range f.status().Manifests {
		if m.Release != release {
			t.Errorf("%s is at %s, want %s", m.Name, m.Release, release)
		}
	}
	if changed := u.downloads(); len(changed) != 2 {
		t.Errorf("the provider sent %s", changed)
	}
	u.checkLog(daemon)
	daemon.terminate()
}

func TestAFollowerSyncsOverTLS(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 5<<20)})
	certificate, key, _ := certificatetest.Pair(t, u.dir, "upstream")
	u.write("serve.yml", "tls_server_config: {cert_file: "+certificate+", key_file: "+key+"}\n", 0o644)
	u.serve("https", "web_config: serve.yml")
	f := u.follower(u.addID("db01"))
	f.settings.url, f.settings.source = "https://"+u.address, "ca_file: "+certificate
	f.configure()
	u.sync(0)
	daemon := u.daemon()
	f.sync(0)
	same(u.host, "one", u.published("one"), f.published("one"))
	conn, err := tls.Dial("tcp", u.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	u.must(err)
	conn.Close()
	u.checkLog(daemon)
	daemon.terminate()
}

func TestIDsOfFollowersChangeOnSIGHUP(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Text("a")})
	first := u.addID("first")
	u.sync(0)
	daemon := u.daemon()
	second := u.addID("second", "--ring", "canary")
	want := func(id string, status int) {
		t.Helper()
		if got, body := u.ask("/ManifestReleases/one", id); got != status {
			t.Errorf("status %d, want %d: %s", got, status, body)
		}
	}
	want(first, 200)
	want(second, 401)
	daemon.signal(syscall.SIGHUP)
	daemon.logged("configuration reloaded")
	want(second, 200)
	if list := u.expect(0, "serve-id", "list").stdout; list != "NAME    RING\nfirst   \nsecond  canary\n" {
		t.Errorf("list %q", list)
	}
	u.expect(0, "serve-id", "remove", "first")
	u.write("ids2", "", 0o600)
	daemon.signal(syscall.SIGHUP)
	daemon.loggedTimes("configuration reloaded", 2)
	want(first, 401)
	want(second, 200)
	u.write("ids", "nonsense\n", 0o644)
	daemon.signal(syscall.SIGHUP)
	daemon.logged("serve.ids_file not reloaded: the old ids stay in force")
	want(second, 200)
	u.expect(2, "serve-id", "add", "a b")
	u.expect(1, "serve-id", "remove", "nobody")
	u.checkLog(daemon)
	daemon.terminate()
}

func TestAStagedReleaseIsServedToNoFollower(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.settings.more += "activate: manual\n"
	u.configure()
	id := u.addID("db01")
	u.provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Text("old")})
	u.sync(0)
	u.expect(0, "activate")
	u.provider.SetManifest("one", "2026.11", emulator.File{Name: "a.dat", Content: emulator.Text("new")}, emulator.File{Name: "b.dat", Content: emulator.Text("b")})
	u.sync(0)
	daemon := u.daemon()
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
	u.expect(0, "activate")
	if _, body := u.ask("/Download/Data/latest/a.dat", id); body != "new" {
		t.Errorf("latest after it went live: %q", body)
	}
	daemon.terminate()
}

// Crowds of strangers do not keep the daemon from its own sync.
func TestAFloodOfStrangersDoesNotHurtASync(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	u.provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 1<<20)})
	u.sync(0)
	id := u.addID("db01")
	daemon := u.daemon()
	conns := make([]net.Conn, 0, 5000)
	for i := range cap(conns) {
		conn, err := net.Dial("tcp", u.address)
		u.must(err)
		conns = append(conns, conn)
		switch i % 3 {
		case 0:
			_, _ = fmt.Fprintf(conn, "GET /Manifest/latest/one?id=guess%d HTTP/1.1\r\nHost: x\r\n\r\n", i) // the server may have closed it
		case 1:
			_, _ = io.WriteString(conn, "GET /Mani")
		}
	}
	u.provider.SetManifest("one", "2026.11", emulator.File{Name: "a.dat", Content: emulator.Random(2, 8<<20)})
	daemon.signal(syscall.SIGUSR1)
	u.eventually("the sync during the flood", func() bool { return u.status().Manifests[0].Release == "2026.11" })
	if status, _ := u.ask("/ManifestReleases/one", id); status != 200 {
		t.Errorf("a follower during the flood: %d", status)
	}
	if status, _ := daemon.get("/healthz"); status != 200 {
		t.Errorf("healthz during the flood: %d", status)
	}
	for _, conn := range conns {
		conn.Close()
	}
	if lines := strings.Count(daemon.stderr.String(), "\n"); lines > 100 {
		t.Errorf("%d lines of log", lines)
	}
	u.checkLog(daemon)
	daemon.terminate()
}
