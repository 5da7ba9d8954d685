package downstream_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/clients/certificate/certificatetest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// nginx ends the arguments at a raw `#`, so that a file with a tag was kept as the one
// without. A file that the provider replaced was sent in its old form for 40 days. With the
// date of another file of the same content, a host was told that its old file is still right.
func TestACacheIsNotPoisoned(t *testing.T) {
	u := newUpstream(t, []string{"one", "two"})
	library := emulator.File{Class: emulator.ClassLibrary, OS: "WINDOWS", Compiler: "NET", Architecture: "ANY", Name: "tool.exe"}
	plain, tagged := library, library
	plain.Content, tagged.Content, tagged.Tag = emulator.Text("plain"), emulator.Text("tagged"), "NET7"
	u.Provider.SetManifest("one", "2026.10", plain, emulator.File{Name: "a.dat", Content: emulator.Text("first")}, emulator.File{Name: "b.dat", Content: emulator.Text("replaced")})
	u.Provider.SetManifest("two", "2026.10", tagged)
	certificate, key, _ := certificatetest.Pair(t, u.Dir, "upstream")
	u.Write("serve.yml", "tls_server_config: {cert_file: "+certificate+", key_file: "+key+"}\n", 0o644)
	u.serve("https", "web_config: serve.yml")
	id := u.addID("db01")
	u.Sync(0)
	daemon := u.Daemon()
	daemon.Logged("serving followers")
	c := u.startCache(certificate, key)
	tryAsk := func(target string, headers ...string) (res *http.Response, body string, err error) {
		conn, err := tls.Dial("tcp", c.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
		if err != nil {
			return nil, "", err
		}
		defer conn.Close()
		u.Must(conn.SetDeadline(time.Now().Add(e2e.Patience)))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", target, strings.Join(append(headers, ""), "\r\n"))
		if res, err = http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			return nil, "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return res, string(text), err
	}
	u.Eventually("nginx", func() bool { _, _, err := tryAsk("/"); return err == nil })
	ask := func(target string, headers ...string) (int, string) {
		t.Helper()
		res, body, err := tryAsk(target, headers...)
		u.Must(err)
		return res.StatusCode, body
	}
	const tool = "/Download/Library/WINDOWS/NET/ANY/2026.10/tool.exe"
	for _, poison := range []string{
		tool + "?id=" + id + "&x=#&tag=NET7", tool + "?id=" + id + "#&tag=NET7", tool + "#?id=" + id + "&tag=NET7", tool + "?id=" + id + "&x= &tag=NET7",
		tool + "?id=" + id + "&tag=&tag=NET7", tool + "?id=" + id + "&ta%67=NET7", tool + "?id=" + id + "&TAG=NET7", tool + "?id=" + id + "&x=?&tag=NET7",
	} {
		for range 2 {
			_, _ = ask(poison)
		}
		for query, want := range map[string]string{"": "plain", "&tag=NET7": "tagged"} {
			if status, body := ask(tool + "?id=" + id + query); status != http.StatusOK || body != want {
				t.Fatalf("after %s: %q has %d %q", strings.ReplaceAll(poison, id, "ID"), query, status, body)
			}
		}
	}
	if status, _ := ask(tool + "?id=" + id + "&x=#&tag=NET7"); status == http.StatusOK {
		t.Error("a raw # is answered with the file")
	}
	data := "/Download/Data/2026.10/a.dat?id=" + id
	for _, row := range []struct {
		header string
		status int
		body   string
	}{{"Accept: */*", 200, "first"}, {"Range: bytes=1-3", 206, "irs"}, {`If-None-Match: "0"`, 200, "first"}} {
		if status, body := ask(data, row.header); status != row.status || body != row.body {
			t.Errorf("%s: %d %q", row.header, status, body)
		}
	}
	other, _, err := tryAsk("/Download/Data/2026.10/b.dat?id=" + id)
	u.Must(err)
	modified := other.Header.Get("Last-Modified")
	u.Provider.SetManifest("one", "2026.10", plain, emulator.File{Name: "a.dat", Content: emulator.Text("replaced")})
	onDemand(daemon)
	if status, body := ask(data); status != http.StatusOK || body != "replaced" {
		t.Errorf("a replaced file: %d %q", status, body)
	}
	latest := strings.Replace(data, "2026.10", "latest", 1)
	for _, header := range []string{"If-Modified-Since: " + modified, "Range: bytes=3-\r\nIf-Range: " + modified} {
		if status, body := ask(latest, header); modified == "" || status != http.StatusOK || body != "replaced" {
			t.Errorf("%s: %d %q", header, status, body)
		}
	}
	res, _, err := tryAsk(latest)
	u.Must(err)
	if at, control := res.Header.Get("Last-Modified"), res.Header.Get("Cache-Control"); at != "" || control != "private, no-cache" {
		t.Errorf("what differs between rings and with time comes with the date %q and %q for other caches", at, control)
	}
	if text, err := os.ReadFile(c.dir + "/syncd.log"); err != nil || !strings.Contains(string(text), " HIT\n") {
		t.Errorf("no hit: %v\n%s", err, text)
	}
	daemon.Terminate()
}
