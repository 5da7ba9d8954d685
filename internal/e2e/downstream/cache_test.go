package downstream_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/clients/certificate/certificatetest"
	"syncd/internal/downstream/bucket"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// cache is nginx in front of an upstream, with the configuration that is shipped.
type cache struct {
	*upstream
	address, certificate string
	dir                  string
}

// startCache starts nginx for an upstream that serves https.
func (u *upstream) startCache(certificate, key string) *cache {
	u.Helper()
	c := &cache{upstream: u, address: e2e.FreeAddress(u.Host), certificate: certificate, dir: u.T.TempDir()}
	shipped, err := os.ReadFile("../../../deploy/nginx/syncd-cache.conf")
	u.Must(err)
	conf := strings.NewReplacer(
		"/var/cache/nginx/syncd", c.dir+"/cache",
		"server mirror.example.net:9443", "server "+u.address,
		"mirror.example.net", "localhost",
		"listen 443", "listen "+c.address,
		"/etc/nginx/cache.pem", certificate,
		"/etc/nginx/cache.key", key,
		"/etc/ssl/certs/ca-certificates.crt", certificate,
		"/var/log/nginx/", c.dir+"/",
	).Replace(string(shipped))
	text := fmt.Sprintf("daemon off;\nuser root;\npid %[1]s/pid;\nerror_log %[1]s/error.log;\nevents {}\nhttp {\n%[2]s\n}\n", c.dir, conf)
	u.Must(os.WriteFile(c.dir+"/nginx.conf", []byte(text), 0o600))
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // not in the path of a plain user
	}
	if _, err := os.Stat(program); err != nil {
		u.Skip("NOT TESTED: nginx is not installed: run `apt-get install nginx-light`")
	}
	nginx := exec.Command(program, "-p", c.dir, "-c", c.dir+"/nginx.conf", "-e", c.dir+"/error.log")
	nginx.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	nginx.Stderr = os.Stderr
	u.Must(nginx.Start())
	u.T.Cleanup(func() {
		_ = nginx.Process.Signal(syscall.SIGTERM)
		_ = nginx.Wait()
		_ = syscall.Kill(-nginx.Process.Pid, syscall.SIGKILL) // a worker can outlive its master
	})
	return c
}

// log returns the statuses and cache states of the downloads so far.
func (c *cache) log() string {
	c.Helper()
	text, err := os.ReadFile(c.dir + "/syncd.log")
	c.Must(err)
	return string(text)
}

// The shipped cache fetches a file once for all followers, asks syncd about each
// follower's id, and keeps no id.
func TestACacheAsksOnceForAllFollowers(t *testing.T) {
	u := newUpstream(t, []string{"one"})
	const size = 40 << 20 // three slices
	u.Provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, size)}, emulator.File{Name: "b.dat", Content: emulator.Text("b")}, emulator.File{Name: "b2.dat", Content: emulator.Text("b")})
	certificate, key, trusted := certificatetest.Pair(t, u.Dir, "upstream")
	u.Write("serve.yml", "tls_server_config: {cert_file: "+certificate+", key_file: "+key+"}\n", 0o644)
	u.serve("https", "web_config: serve.yml")
	first, second := u.follower(u.addID("db01")), u.follower(u.addID("db02"))
	u.Sync(0)
	daemon := u.Daemon()
	daemon.Logged("serving followers")
	c := u.startCache(certificate, key)
	roots := x509.NewCertPool()
	roots.AddCert(trusted)
	client := &http.Client{Timeout: e2e.Patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	get := func(path string) int {
		t.Helper()
		res, err := client.Get("https://" + c.address + path)
		u.Must(err)
		res.Body.Close()
		return res.StatusCode
	}
	u.Eventually("nginx", func() bool {
		res, err := client.Get("https://" + c.address + "/")
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	})
	for _, f := range []*e2e.Host{first, second} {
		f.Settings.URL, f.Settings.Source = "https://"+c.address, "ca_file: "+certificate
		f.Configure()
		f.Sync(0)
		e2e.Same(u.Host, "one", u.Published("one"), f.Published("one"))
	}
	_, series := daemon.Get("/metrics")
	var sent float64
	for line := range strings.Lines(series) {
		if value, found := strings.CutPrefix(line, "syncd_serve_sent_bytes_total "); found {
			_, err := fmt.Sscan(value, &sent)
			u.Must(err)
		}
	}
	if sent < size || sent > size+size/10 {
		t.Errorf("the upstream sent %.0f bytes for two followers, the files have %d", sent, size)
	}
	object := "/-/mirror/" + bucket.ObjectName(sha256.Sum256([]byte("b")))
	for path, want := range map[string]int{
		"/Download/Data/2026.10/a.dat?id=" + u.ids[1]: 200,
		"/Download/Data/2026.10/a.dat?id=guess":       401, // also for what is cached
		"/Download/Data/2026.10/a.dat":                401,
		"/Download/Data/2026.10/c.dat?id=" + u.ids[1]: 404, // 403 would make followers doubt their ids
		"/ManifestReleases/one?id=guess":              401,
		"/-/mirror/current.json?id=" + u.ids[1]:       200,
		object + "?id=" + u.ids[1]:                    200,
		object + "?id=guess":                          401,
		object + "0?id=" + u.ids[1]:                   404,
		"/allowed?id=guess":                           403, // no request from outside reaches it
	} {
		if got := get(path); got != want {
			t.Errorf("%s: status %d, want %d", strings.NewReplacer(u.ids[0], "ID", u.ids[1], "ID").Replace(path), got, want)
		}
	}
	for _, name := range []string{"b.dat", "b2.dat"} { // one content, kept once
		res, err := client.Get("https://" + c.address + "/Download/Data/2026.10/" + name + "?id=" + u.ids[1])
		u.Must(err)
		res.Body.Close()
		if got := res.Header.Values("Content-Disposition"); len(got) != 1 || got[0] != "attachment; filename="+name {
			t.Errorf("%s comes as %q", name, got)
		}
	}
	for _, log := range []string{"syncd.log", "syncd-error.log", "error.log"} {
		text, err := os.ReadFile(c.dir + "/" + log)
		u.Must(err)
		for _, id := range u.ids {
			if strings.Contains(string(text), id) {
				t.Errorf("%s holds the id of a follower", log)
			}
		}
	}
	if !strings.Contains(c.log(), " HIT\n") {
		t.Errorf("no hit:\n%s", c.log())
	}
	daemon.Terminate()
}
