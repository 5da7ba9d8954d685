package doctor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// serves lets the host serve followers on a free port, with further settings.
func serves(h *e2e.Host, more string) (listen string) {
	h.Helper()
	listen = e2e.FreeAddress(h)
	h.ConfigureWith(fmt.Sprintf("serve: {listen: %q, %s}", listen, strings.ReplaceAll(more, "LISTEN", listen)))
	return listen
}

// certify writes a certificate for 127.0.0.1 that is good for a time from now on, and a
// file of the exporter-toolkit that names it.
func certify(h *e2e.Host, left time.Duration) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.Must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.Must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	h.Must(err)
	h.Write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	h.Write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), 0o600)
	h.Write("tls.yml", "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n", 0o644)
}

const loopbackOnly = `public_url: "http://LISTEN"`

var sickServers = []sick{
	{name: "port of serve in use", check: "port", says: []string{"serve.listen", "another program uses the port"},
		breakIt: func(h *e2e.Host) {
			listener, err := net.Listen("tcp", serves(h, loopbackOnly))
			h.Must(err)
			h.Cleanup(func() { listener.Close() })
		}},
	{name: "port of serve that the status page has", check: "port", says: []string{"serve.listen", "or another key names it"},
		breakIt: func(h *e2e.Host) { listenOn(h, serves(h, loopbackOnly)) }},
	{name: "port of serve that is reserved", check: "port", says: []string{"serve.listen 127.0.0.1:443", "choose a port from 1024 on"}, args: []string{"--user", stranger},
		breakIt: func(h *e2e.Host) {
			h.Must(os.Chmod(h.Path("id"), 0o644))
			giveData(h, e2e.OtherUID, e2e.OtherGID, 0o755)
			h.ConfigureWith(`serve: {listen: "127.0.0.1:443", public_url: "http://127.0.0.1"}`)
		}},
	{name: "web_config of serve that is missing", check: "files", says: []string{"serve.web_config", "no such file"},
		breakIt: func(h *e2e.Host) { serves(h, loopbackOnly+", web_config: none.yml") }},
	{name: "certificate of serve without its key", check: "files", says: []string{"serve.web_config", "key_file"},
		breakIt: func(h *e2e.Host) {
			certify(h, time.Hour)
			h.Must(os.Remove(h.Path("key.pem")))
			serves(h, `public_url: "https://LISTEN", web_config: tls.yml`)
		}},
	{name: "certificate of serve that has expired", check: "serve", says: []string{"the certificate of serve.web_config expired at", "renew it"},
		breakIt: func(h *e2e.Host) {
			certify(h, -time.Minute)
			serves(h, `public_url: "https://LISTEN", web_config: tls.yml`)
		}},
	{name: "certificate of the status page that has expired", check: "serve", says: []string{"the certificate of http.web_config expired at"},
		breakIt: func(h *e2e.Host) {
			certify(h, -time.Minute)
			text := h.Read("syncd.yaml")
			h.Write("syncd.yaml", strings.Replace(string(text), "http: {", "http: {web_config: tls.yml, ", 1), 0o644)
		}},
	{name: "ids_file that is missing", check: "files", says: []string{"serve.ids_file", "syncd serve-id add"},
		breakIt: func(h *e2e.Host) { serves(h, loopbackOnly+", ids_file: ids") }},
	{name: "ids_file with a line that is no id", check: "files", says: []string{"serve.ids_file", "line 1"},
		breakIt: func(h *e2e.Host) {
			h.Write("ids", "Secret77 host1\n", 0o644)
			serves(h, loopbackOnly+", ids_file: ids")
		}},
	{name: "ids_file that the owner of data_dir cannot read", check: "serve", says: []string{"serve.ids_file", "permission denied", "let user 23456 read it"},
		breakIt: func(h *e2e.Host) {
			giveData(h, e2e.OtherUID, e2e.OtherGID, 0o755)
			serves(h, loopbackOnly+", ids_file: ids")
			h.Expect(0, "serve-id", "add", "host1")
			h.Must(os.Chmod(h.Path("ids"), 0o600))
		}},
	{name: "ids_file that the unit hides", check: "sandbox", says: []string{"serve.ids_file", "InaccessiblePaths="},
		breakIt: func(h *e2e.Host) {
			h.Must(os.Mkdir(h.Path("hidden"), 0o755))
			serves(h, loopbackOnly+", ids_file: hidden/ids")
			h.Expect(0, "serve-id", "add", "host1")
			unit(h, "InaccessiblePaths="+h.Path("hidden"))
		}},
}

func TestDoctorNamesWhatIsWrongWithTheServerForFollowers(t *testing.T) {
	t.Parallel()
	for _, s := range sickServers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			e2e.AsRoot(t)
			h := patientHost(t)
			s.breakIt(h)
			diagnosed(h, s.check, s.says, s.args...)
		})
	}
}

func TestDoctorGivesHintsAboutTheServerForFollowers(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	hints := func(says ...string) {
		t.Helper()
		out := h.Expect(0, "doctor").Stdout
		h.Contains("the output", out, append([]string{"hint     serve: ", "next: "}, says...)...)
	}
	serves(h, loopbackOnly)
	hints("serve has no ids_file: it answers every program on this host, and everybody through a proxy", "syncd serve-id add")
	serves(h, loopbackOnly+", ids_file: ids")
	h.Write("ids", "# none\n", 0o644)
	hints("serve.ids_file has no id, so that no follower may ask")
	h.Expect(0, "serve-id", "add", "host1", "--ring", "canary")
	hints("serve.rings has no ring canary")
	serves(h, loopbackOnly+", ids_file: ids, rings: [{name: canary}]")
	if out := h.Expect(0, "doctor").Stdout; !strings.Contains(out, "ok       serve: followers can be served as http://127.0.0.1:") {
		t.Errorf("a sound server:\n%s", out)
	}
	serves(h, `ids_file: ids, public_url: "https://LISTEN"`)
	hints("says https, but serve.listen", "speaks plain http")
	certify(h, time.Hour)
	serves(h, `ids_file: ids, web_config: tls.yml, public_url: "http://LISTEN"`)
	hints("the certificate of serve.web_config expires at", "says http, but serve.listen")
	serves(h, `ids_file: ids, web_config: tls.yml, public_url: "https://name.invalid"`)
	hints("is not for serve.public_url", "serve.public_url https://name.invalid: the name cannot be resolved from here")
	h.ConfigureWith(fmt.Sprintf(`serve: {listen: ":0", ids_file: ids, public_url: "http://127.0.0.1:%d"}`, 1))
	hints("leads every follower to itself")

	serves(h, `ids_file: ids, public_url: "http://`+e2e.FreeAddress(h)+`"`)
	p := h.SyncedDaemon()
	hints("cannot be reached from here", "check the proxy or the firewall")
	h.Contains("the output", h.Expect(0, "doctor").Stdout, "the daemon listens on serve.listen")
	p.Terminate()
}
