package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/clients/certificate/certificatetest"
)

// whoIs answers with the name in the client's certificate.
func whoIs(w http.ResponseWriter, r *http.Request) {
	if len(r.TLS.PeerCertificates) == 0 {
		fmt.Fprint(w, "nobody")
		return
	}
	fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
}

func asking(policy tls.ClientAuthType, trusted *x509.Certificate) func(*httptest.Server) {
	return func(s *httptest.Server) {
		s.EnableHTTP2 = true
		pool := x509.NewCertPool()
		pool.AddCert(trusted)
		s.TLS = &tls.Config{ClientAuth: policy, ClientCAs: pool}
	}
}

func TestTheClientShowsItsCertificateToTheSourceOnly(t *testing.T) {
	cert, key, trusted := certificatetest.Pair(t, t.TempDir(), "mirror-7")
	otherCert, otherKey, _ := certificatetest.Pair(t, t.TempDir(), "other")
	pair, err := tls.LoadX509KeyPair(otherCert, otherKey)
	must(t, err)
	other, otherCA := tlsServerWith(t, func(s *httptest.Server) {
		asking(tls.RequestClientCert, trusted)(s)
		s.TLS.Certificates = []tls.Certificate{pair}
	}, whoIs)
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	source, ca := tlsServerWith(t, asking(tls.RequireAndVerifyClientCert, trusted), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere+"/x", http.StatusFound)
			return
		}
		whoIs(w, r)
	})
	both := filepath.Join(t.TempDir(), "both.pem")
	var roots []byte
	for _, file := range []string{ca, otherCA} {
		text, err := os.ReadFile(file)
		must(t, err)
		roots = append(roots, text...)
	}
	must(t, os.WriteFile(both, roots, 0o600))
	for _, bulk := range []bool{false, true} {
		c := newClient(t, source.URL, func(cfg *Config) { cfg.CAFile, cfg.ClientCert, cfg.ClientKey = both, cert, key })
		for path, want := range map[string]string{"here": "mirror-7", "away": "nobody"} {
			_, body, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{path}, Limit: 100, Bulk: bulk})
			if err != nil || string(body) != want {
				t.Errorf("bulk %t, %s: %q, %v", bulk, path, body, err)
			}
		}
	}
}

func TestAServerThatRefusesTheCertificateIsNotAskedAgain(t *testing.T) {
	_, _, trusted := certificatetest.Pair(t, t.TempDir(), "trusted")
	cert, key, _ := certificatetest.Pair(t, t.TempDir(), "stranger")
	server, ca := tlsServerWith(t, asking(tls.RequireAndVerifyClientCert, trusted), whoIs)
	for name, edit := range map[string]func(*Config){
		"none":    func(*Config) {},
		"another": func(cfg *Config) { cfg.ClientCert, cfg.ClientKey = cert, key },
	} {
		c := newClient(t, server.URL, func(cfg *Config) { cfg.CAFile = ca; edit(cfg) })
		_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"a"}, Limit: 100})
		if failed, ok := errors.AsType[*Error](err); !ok || failed.Kind != Rejected || !strings.Contains(err.Error(), "check client_cert and client_key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClientCertificateFilesWithProblems(t *testing.T) {
	dir := t.TempDir()
	cert, key, _ := certificatetest.Pair(t, dir, "a")
	_, otherKey, _ := certificatetest.Pair(t, t.TempDir(), "b")
	text := filepath.Join(dir, "text.pem")
	must(t, os.WriteFile(text, []byte("S3CRET no PEM"), 0o600))
	base := newClient(t, "https://h.example").cfg.Base
	for _, row := range []struct{ name, cert, key, has string }{
		{"no certificate", filepath.Join(dir, "none"), key, "client_cert " + filepath.Join(dir, "none") + " cannot be read: no such file or directory: name a PEM file"},
		{"no key", cert, filepath.Join(dir, "none"), "client_key " + filepath.Join(dir, "none") + " cannot be read"},
		{"another key", cert, otherKey, "private key does not match public key: name PEM files"},
		{"text for a key", cert, text, "failed to find any PEM data in key input"},
		{"a folder", dir, key, "not a regular file"},
	} {
		_, err := New(Config{Base: base, CustomerID: testID, ClientCert: row.cert, ClientKey: row.key})
		if err == nil || !strings.Contains(err.Error(), row.has) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}
