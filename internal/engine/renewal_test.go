package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"syncd/internal/clients/certificate/certificatetest"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

// startMutual is start with a provider that asks for the certificate in trusted.
func startMutual(t *testing.T, trusted *atomic.Pointer[x509.Certificate]) *world {
	t.Helper()
	ca, key, _ := certificatetest.Pair(t, t.TempDir(), "provider")
	own, err := tls.LoadX509KeyPair(ca, key)
	must(t, err)
	provider, err := emulator.Start(emulator.Config{CustomerID: "customer-id", TLS: &tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			if !state.PeerCertificates[0].Equal(trusted.Load()) {
				return x509.UnknownAuthorityError{}
			}
			return nil
		},
	}})
	must(t, err)
	t.Cleanup(func() { provider.Close() })
	w := start(t, "one")
	w.provider = provider
	w.publish("one", "2026.09", "one")
	w.cfg.Source.URL, err = url.Parse(provider.URL())
	must(t, err)
	w.cfg.Source.CAFile = ca
	return w
}

func TestAReloadTakesARenewedClientCertificate(t *testing.T) {
	var trusted atomic.Pointer[x509.Certificate]
	w, dir := startMutual(t, &trusted), t.TempDir()
	cert, key, first := certificatetest.Pair(t, dir, "first")
	trusted.Store(first)
	w.cfg.Source.ClientCert, w.cfg.Source.ClientKey = cert, key
	e := w.open()
	defer e.Close()
	sync := func() string {
		result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
		must(t, err)
		return result.Manifests[0].Error
	}
	if got := sync(); got != "" || w.content("one") != "one" {
		t.Fatalf("with the first certificate: %s", got)
	}
	_, _, renewed := certificatetest.Pair(t, dir, "renewed")
	trusted.Store(renewed)
	must(t, e.Configure(w.cfg))
	if got := sync(); got != "" {
		t.Errorf("after the reload: %s", got)
	}
	must(t, os.WriteFile(key, []byte("no key"), 0o600))
	if err := e.Configure(w.cfg); err == nil || !strings.Contains(err.Error(), "client_key") {
		t.Errorf("reload with a broken key: %v", err)
	}
	if got := sync(); got != "" {
		t.Errorf("after the refused reload: %s", got)
	}
}
