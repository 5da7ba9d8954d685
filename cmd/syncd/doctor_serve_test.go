package main

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
)

// serves lets the host serve followers on a free port, with further settings.
func (h *host) serves(more string) (listen string) {
	h.Helper()
	listen = freeAddress(h)
	h.settings.more = fmt.Sprintf("serve: {listen: %q, %s}", listen, strings.ReplaceAll(more, "LISTEN", listen))
	h.configure()
	return listen
}

// certify writes a certificate for 127.0.0.1 that is good for a time from now on, and a
// file of the exporter-toolkit that names it.
func (h *host) certify(left time.Duration) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	h.must(err)
	h.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	h.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), 0o600)
	h.write("tls.yml", "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n", 0o644)
}

const loopbackOnly = `public_url: "http://LISTEN"`

var sickServers = []sick{
	{name: "port of serve in use", check: "port", says: []string{"serve.listen", "another program uses the port"},
		breakIt: func(h *host) {
			listener, err := net.Listen("tcp", h.serves(loopbackOnly))
			h.must(err)
			h.Cleanup(func() { listener.Close() })
		}},
	{name: "port of serve that the status page has", check: "port", says: []string{"serve.listen", "or another key names it"},
		breakIt: func(h *host) { h.listenOn(h.serves(loopbackOnly)) }},
	{name: "port of serve that is reserved", check: "port", says: []string{"serve.listen 127.0.0.1:443", "choose a port from 1024 on"}, args: []string{"--user", stranger},
		breakIt: func(h *host) {
			h.must(os.Chmod(h.path("id"), 0o644))
			h.giveData(otherUID, otherGID, 0o755)
			h.settings.more = `serve: {listen: "127.0.0.1:443", public_url: "http://127.0.0.1"}`
			h.configure()
		}},
	{name: "web_config of serve that is missing", check: "files", says: []string{"serve.web_config", "no such file"},
		breakIt: func(h *host) { h.serves(loopbackOnly + ", web_config: none.yml") }},
	{name: "certificate of serve without its key", check: "files", says: []string{"serve.web_config", "key_file"},
		breakIt: func(h *host) {
			h.certify(time.Hour)
			h.must(os.Remove(h.path("key.pem")))
			h.serves(`public_url: "https://LISTEN", web_config: tls.yml`)
		}},
	{name: "certificate of serve that has expired", check: "serve", says: []string{"the certificate of serve.web_config expired at", "renew it"},
		breakIt: func(h *host) { h.certify(-time.Minute); h.serves(`public_url: "https://LISTEN", web_config: tls.yml`) }},
	{name: "certificate of the status page that has expired", check: "serve", says: []string{"the certificate of http.web_config expired at"},
		breakIt: func(h *host) {
			h.certify(-time.Minute)
			text, err := os.ReadFile(h.path("syncd.yaml"))
			h.must(err)
			h.write("syncd.yaml", strings.Replace(string(text), "http: {", "http: {web_config: tls.yml, ", 1), 0o644)
		}},
	{name: "ids_file that is missing", check: "files", says: []string{"serve.ids_file", "syncd serve-id add"},
		breakIt: func(h *host) { h.serves(loopbackOnly + ", ids_file: ids") }},
	{name: "ids_file with a line that is no id", check: "files", says: []string{"serve.ids_file", "line 1"},
		breakIt: func(h *host) { h.write("ids", "Secret77 host1\n", 0o644); h.serves(loopbackOnly + ", ids_file: ids") }},
	{name: "ids_file that the owner of data_dir cannot read", check: "serve", says: []string{"serve.ids_file", "permission denied", "let user 23456 read it"},
		breakIt: func(h *host) {
			h.giveData(otherUID, otherGID, 0o755)
			h.serves(loopbackOnly + ", ids_file: ids")
			h.expect(0, "serve-id", "add", "host1")
			h.must(os.Chmod(h.path("ids"), 0o600))
		}},
	{name: "ids_file that the unit hides", check: "sandbox", says: []string{"serve.ids_file", "InaccessiblePaths="},
		breakIt: func(h *host) {
			h.must(os.Mkdir(h.path("hidden"), 0o755))
			h.serves(loopbackOnly + ", ids_file: hidden/ids")
			h.expect(0, "serve-id", "add", "host1")
			h.unit("InaccessiblePaths=" + h.path("hidden"))
		}},
}

func TestDoctorNamesWhatIsWrongWithTheServerForFollowers(t *testing.T) {
	t.Parallel()
	for _, s := range sickServers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			asRoot(t)
			h := patientHost(t)
			s.breakIt(h)
			h.diagnosed(s.check, s.says, s.args...)
		})
	}
}

func TestDoctorGivesHintsAboutTheServerForFollowers(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	hints := func(says ...string) {
		t.Helper()
		out := h.expect(0, "doctor").stdout
		h.contains("the output", out, append([]string{"hint     serve: ", "next: "}, says...)...)
	}
	h.serves(loopbackOnly)
	hints("serve has no ids_file: it answers every program on this host, and everybody through a proxy", "syncd serve-id add")
	h.serves(loopbackOnly + ", ids_file: ids")
	h.write("ids", "# none\n", 0o644)
	hints("serve.ids_file has no id, so that no follower may ask")
	h.expect(0, "serve-id", "add", "host1", "--ring", "canary")
	hints("serve.rings has no ring canary")
	h.serves(loopbackOnly + ", ids_file: ids, rings: [{name: canary}]")
	if out := h.expect(0, "doctor").stdout; !strings.Contains(out, "ok       serve: followers can be served as http://127.0.0.1:") {
		t.Errorf("a sound server:\n%s", out)
	}
	h.serves(`ids_file: ids, public_url: "https://LISTEN"`)
	hints("says https, but serve.listen", "speaks plain http")
	h.certify(time.Hour)
	h.serves(`ids_file: ids, web_config: tls.yml, public_url: "http://LISTEN"`)
	hints("the certificate of serve.web_config expires at", "says http, but serve.listen")
	h.serves(`ids_file: ids, web_config: tls.yml, public_url: "https://name.invalid"`)
	hints("is not for serve.public_url", "serve.public_url https://name.invalid: the name cannot be resolved from here")
	h.settings.more = fmt.Sprintf(`serve: {listen: ":0", ids_file: ids, public_url: "http://127.0.0.1:%d"}`, 1)
	h.configure()
	hints("leads every follower to itself")

	h.serves(`ids_file: ids, public_url: "http://` + freeAddress(h) + `"`)
	p := h.daemon()
	p.logged("sync")
	hints("cannot be reached from here", "check the proxy or the firewall")
	h.contains("the output", h.expect(0, "doctor").stdout, "the daemon listens on serve.listen")
	p.terminate()
}
