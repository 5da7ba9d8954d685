//go:build linux

package httpserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is a deadline that only a bug reaches.
const patience = time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var okay = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func ask(handler http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	return rec
}

// serve runs the server with a web configuration.
func serve(t *testing.T, handler http.Handler, webConfig string) (base string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	config, err := OpenWebConfig(webConfig)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, handler, Options{WebConfig: config, Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
		must(t, config.Close())
	})
	return "http://" + listener.Addr().String()
}

// basicAuth lets alice in, whose password is "secret".
const basicAuth = "basic_auth_users:\n  alice: $2a$04$3aPAmVPQDbXkToIJR0ryl.m5JWVaXbNXfaj5kzE/gEqTqYAHpXFZi\n"

// webConfigFile writes an exporter-toolkit file; no text, no file.
func webConfigFile(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	file := filepath.Join(t.TempDir(), "web.yml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// checkConfig opens an exporter-toolkit file and closes it.
func checkConfig(path string) error {
	c, err := OpenWebConfig(path)
	if err != nil {
		return err
	}
	return c.Close()
}

// certificateFile writes a certificate with its key.
func certificateFile(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	var text bytes.Buffer
	must(t, pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	must(t, pem.Encode(&text, &pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	file := filepath.Join(t.TempDir(), "web.pem")
	must(t, os.WriteFile(file, text.Bytes(), 0o600))
	return file
}

func TestOnlyKnownNamesAreAnswered(t *testing.T) {
	handler := answerTo([]string{"mirror.example.net", "Short"}, "http.hosts", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:9797": 200, "10.1.2.3:80": 200, "[::1]": 200, "[::1]:9797": 200, "[fe80::1%eth0]:1": 200,
		"localhost": 200, "localhost:9797": 200, "LOCALHOST.:1": 200, "mirror.example.net": 200, "Mirror.Example.NET.:9797": 200, "short:1": 200,
		"": 200, "localhost:": 200, "[::1]:": 200, "evil.example": 421, "evil.example:9797": 421, "127.0.0.1.evil.example": 421, "x.localhost": 421, "localhost.evil.example": 421,
		"mirror.example.net.evil.example": 421, "2130706433": 421, "0x7f.1": 421, "127.0.0.1:80:80": 421, ":9797": 200,
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
		if want == 421 && !strings.Contains(w.Body.String(), "http.hosts") {
			t.Errorf("%q: no next step in %s", host, w.Body)
		}
	}
}

func TestOddHostsAreRefused(t *testing.T) {
	handler := answerTo([]string{"mirror.example.net", "::1"}, "http.hosts", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, host := range []string{
		".", "..", ".:9797", "[]", "[]:1", "[.]", "[", "]", "[]]", "::", "::1", ":80:", // no name, or an address without its brackets
		"[::1", "::1]", "[::1]x", "[::1]]", "[[::1]]", "[[::1]]:1", "[127.0.0.1", "127.0.0.1]", "[127.0.0.1]", "[127.0.0.1]:1", "[localhost]", "[mirror.example.net]:1",
		"[::1%evil.com]", "[::1%evil.com]:9797", "[::1%25evil.com]", "[fe80::1%]", "[2001:db8::1%eth0]", "::1%evil.com", "127.0.0.1%evil.com",
		"127.0.0.1.", "127.0.0.1..", "localhost..", "mirror.example.net..", ".mirror.example.net", "[::1.]",
		"127.0.0.1:x", "localhost:port", "localhost:-1", "localhost:+1", "localhost:0x50", "localhost: 1", "localhost:1:1",
		" localhost", "localhost ", "local host", "localhost/", "localhost/x", "user@localhost", "localhost@evil.com", "localhost#", "localhost?x", "localhost\\", "localhost,evil.com", "localhost\x00", "localho\u017ft",
		"127.1", "127.0.0.1.1", "127.000.000.001", "0177.0.0.1", "１27.0.0.1", "::ffff:127.0.0.1",
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != http.StatusMisdirectedRequest {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
}

func TestDamagedWebConfigKeepsThePasswords(t *testing.T) {
	const second = basicAuth + "  bob: $2a$04$3aPAmVPQDbXkToIJR0ryl.m5JWVaXbNXfaj5kzE/gEqTqYAHpXFZi\n"
	damages := map[string]func(file string) error{
		"empty":             func(file string) error { return os.Truncate(file, 0) },
		"cut after the key": func(file string) error { return os.Truncate(file, int64(len("basic_auth_users:"))) },
		"cut in a hash":     func(file string) error { return os.Truncate(file, int64(len(basicAuth)-30)) },
		"cut in a key":      func(file string) error { return os.Truncate(file, 8) },
		"removed":           os.Remove,
		"other keys":        func(file string) error { return os.WriteFile(file, []byte("hunter2: hunter2\n"), 0o600) },
		"no passwords": func(file string) error {
			return os.WriteFile(file, []byte("http_server_config: {http2: false}\n"), 0o600)
		},
		"a folder":          func(file string) error { _ = os.Remove(file); return os.Mkdir(file, 0o700) },
		"a FIFO":            func(file string) error { _ = os.Remove(file); return syscall.Mkfifo(file, 0o600) },
		"a link to nowhere": func(file string) error { _ = os.Remove(file); return os.Symlink("hunter2", file) },
		"a hash that is not": func(file string) error {
			return os.WriteFile(file, []byte("basic_auth_users: {alice: hunter2}\n"), 0o600)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			file := webConfigFile(t, basicAuth)
			config, err := OpenWebConfig(file)
			must(t, err)
			defer config.Close()
			must(t, damage(file))
			err = config.Reload()
			if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "$2a$") {
				t.Errorf("error %v", err)
			}
			inForce, err := os.ReadFile(config.copyPath())
			if err != nil || !strings.Contains(string(inForce), "alice: $2a$") {
				t.Errorf("in force: %q, %v", inForce, err)
			}
			_ = os.RemoveAll(file)
			must(t, os.WriteFile(file, []byte(second), 0o600))
			must(t, config.Reload())
			if inForce, _ := os.ReadFile(config.copyPath()); !strings.Contains(string(inForce), "bob: $2a$") {
				t.Errorf("after the repair: %q", inForce)
			}
		})
	}
}

func TestDamagedWebConfigIsReportedOnceAndFollowed(t *testing.T) {
	file := webConfigFile(t, basicAuth)
	synctest.Test(t, func(t *testing.T) {
		config, err := OpenWebConfig(file)
		must(t, err)
		defer config.Close()
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			config.watch(ctx, "http", slog.New(slog.NewTextHandler(&log, nil)))
		}()
		time.Sleep(10 * reloadInterval) // nothing to report
		must(t, os.Truncate(file, 0))
		time.Sleep(10 * reloadInterval)
		cancel()
		<-watched
		if text := log.String(); strings.Count(text, "not reloaded") != 1 || strings.Count(text, "\n") != 1 {
			t.Errorf("log %s", text)
		}
	})
}

func TestPasswordsChangeWithoutARestart(t *testing.T) {
	file := webConfigFile(t, basicAuth)
	base := serve(t, okay, file)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	code := func(user string) int {
		req, err := http.NewRequest("GET", base+"/metrics", nil)
		must(t, err)
		req.SetBasicAuth(user, "secret")
		res, err := client.Do(req)
		must(t, err)
		res.Body.Close()
		return res.StatusCode
	}
	if before := []int{code("alice"), code("carol")}; before[0] != 200 || before[1] != 401 {
		t.Fatalf("alice and carol: %v", before)
	}
	must(t, os.WriteFile(file, []byte(strings.Replace(basicAuth, "alice", "carol", 1)), 0o600))
	for deadline := time.Now().Add(patience); code("carol") != 200 || code("alice") != 401; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the change has no effect")
		}
	}
	must(t, os.Truncate(file, 0))
	for deadline := time.Now().Add(2 * reloadInterval); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got := code("nobody"); got != 401 && got != 429 {
			t.Fatalf("status %d with a truncated file", got)
		}
	}
}

func TestWebConfigKeepsItsMeaningInTheCopy(t *testing.T) {
	certificate := certificateFile(t)
	dir := filepath.Dir(certificate)
	text := "tls_server_config:\n  cert_file: web.pem\n  key_file: web.pem\n  min_version: TLS13\n  client_auth_type: NoClientCert\n" +
		"http_server_config:\n  http2: false\n  headers: {Strict-Transport-Security: max-age=1, X-Frame-Options: deny}\n" +
		"rate_limit: {burst: 5, interval: 1s}\nbasic_auth_users:\n  0123: $2a$04$3aPAmVPQDbXkToIJR0ryl.m5JWVaXbNXfaj5kzE/gEqTqYAHpXFZi\n"
	file := filepath.Join(dir, "web.yml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	must(t, checkConfig(file))
	copied, err := withAbsolutePaths([]byte(text), dir)
	must(t, err)
	for _, want := range []string{"cert_file: " + certificate, "key_file: " + certificate, "min_version: TLS13", "http2: false", "max-age=1", "burst: 5", `"0123": $2a$`} {
		if !strings.Contains(string(copied), want) {
			t.Errorf("no %q in\n%s", want, copied)
		}
	}
	must(t, os.Remove(certificate))
	if err := checkConfig(file); err == nil || strings.Contains(err.Error(), "web.pem") {
		t.Errorf("without its certificate: %v", err)
	}
}

func TestMissingWebConfigIsAnError(t *testing.T) {
	if err := checkConfig(filepath.Join(t.TempDir(), "nosuch.yml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestOpenWebConfigSaysThatAPasswordIsNoHash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yml")
	must(t, os.WriteFile(file, []byte("basic_auth_users: {alice: hunter2}\n"), 0o600))
	if err := checkConfig(file); err == nil || err.Error() != "a password in basic_auth_users is not a bcrypt hash" {
		t.Errorf("error %v", err)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	base := serve(t, okay, "")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(base + "/healthz")
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
}
