package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/emulator"
)

// diagnosis is the output of `doctor --json`.
type diagnosis struct {
	User     string
	OK       bool
	Findings []struct{ Check, Severity, Text, Next string }
}

// patientHost is a host without a unit. Its data directory does not exist yet.
func patientHost(t *testing.T, manifests ...string) *host {
	t.Helper()
	h := newHost(t, manifests...)
	h.environ = []string{"SYSTEMD_UNIT_PATH=" + h.path("units")}
	return h
}

func (h *host) doctor(code int, args ...string) (d diagnosis) {
	h.Helper()
	out := h.expect(code, append([]string{"doctor", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		h.Fatalf("doctor --json printed %q: %v", out.stdout, err)
	}
	return d
}

// unit installs a unit that runs this syncd with this configuration.
func (h *host) unit(lines ...string) {
	h.Helper()
	h.must(os.MkdirAll(h.path("units"), 0o755))
	h.write("units/syncd.service", fmt.Sprintf("[Service]\nExecStart=%s --config %s run\n%s\n", h.binary, h.path("syncd.yaml"), strings.Join(lines, "\n")), 0o644)
}

// giveData makes the data directory, of another user.
func (h *host) giveData(uid, gid int, perm os.FileMode) {
	h.Helper()
	h.must(os.MkdirAll(h.data, perm))
	h.must(os.Chown(h.data, uid, gid))
	h.must(os.Chmod(h.data, perm))
}

// fail makes the provider fail.
func (h *host) fail(f emulator.Fault) { h.provider.AddFault(f) }

// sick is one broken set-up: doctor names check first, with a text that holds says.
type sick struct {
	name      string
	manifests string // the sample if empty
	breakIt   func(h *host)
	args      []string
	check     string
	says      []string
}

const stranger = "23456"

var sicknesses = []sick{
	{name: "no configuration", check: "configuration", says: []string{"syncd.yaml", "no such file"},
		breakIt: func(h *host) { h.must(os.Remove(h.path("syncd.yaml"))) }},
	{name: "a misspelt key", check: "configuration", says: []string{"retian", "unknown key"},
		breakIt: func(h *host) { h.settings.more = "retian: 3"; h.configure() }},
	{name: "no Customer ID", check: "customer ID", says: []string{"no Customer ID is configured"},
		breakIt: func(h *host) { h.settings.id = "customer_id_param: id"; h.configure() }},
	{name: "Customer ID in the unit and in the configuration", check: "customer ID", says: []string{"set more than once", "customer_id_file"},
		breakIt: func(h *host) {
			h.write("customer_id", customerID, 0o600)
			h.unit("LoadCredential=customer_id:" + h.path("customer_id"))
		}},
	{name: "credential that does not exist", check: "customer ID", says: []string{"loads the Customer ID from", "does not exist"},
		breakIt: func(h *host) {
			h.settings.id = "customer_id_param: id"
			h.configure()
			h.unit("LoadCredential=customer_id:" + h.path("customer_id"))
		}},
	{name: "Customer ID that the daemon cannot read", check: "customer ID", says: []string{"customer_id_file", "permission denied"},
		breakIt: func(*host) {}, args: []string{"--user", stranger}},
	{name: "wrong Customer ID", manifests: "dq_addr_data|dq_addr_bins", check: "licence", says: []string{"for every manifest", "manifest dq_addr_data", "status 40"},
		breakIt: func(h *host) { h.provider.AddSample(); h.write("id", "WRONG-ID-0001\n", 0o600) }},
	{name: "manifest that is not licensed", check: "licence", says: []string{"dq_addr_data", "invalidProduct"},
		breakIt: func(h *host) {
			h.fail(emulator.Fault{Kind: emulator.KindStatus, Status: 403, Type: "invalidProduct", Path: "/Manifest/*"})
		}},
	{name: "manifest that does not exist", manifests: "dq_adr_data", check: "licence", says: []string{"dq_adr_data", "does not have it"},
		breakIt: func(h *host) { h.provider.AddSample() }},
	{name: "name that does not resolve", check: "name resolution", says: []string{"name.invalid", "cannot be resolved"},
		breakIt: func(h *host) { h.settings.url = "https://name.invalid"; h.configure() }},
	{name: "nothing listens", check: "connection", says: []string{"nothing listens there"},
		breakIt: func(h *host) { h.settings.url = "http://" + freeAddress(h); h.configure() }},
	{name: "proxy that is down", check: "connection", says: []string{"proxy 127.0.0.1", "nothing listens there"},
		breakIt: func(h *host) { h.settings.source = "proxy: http://user:Secret77@" + freeAddress(h); h.configure() }},
	{name: "proxy that wants a password", check: "service", says: []string{"the proxy", "407"},
		breakIt: func(h *host) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
			h.Cleanup(proxy.Close)
			h.settings.url, h.settings.source = "https://releases.example.net", "proxy: "+proxy.URL
			h.configure()
		}},
	{name: "certificate of an unknown authority", check: "TLS", says: []string{"not trusted"},
		breakIt: func(h *host) { h.useTLS(time.Hour); h.settings.source = ""; h.configure() }},
	{name: "certificate that has expired", check: "TLS", says: []string{"not valid at the time of this machine's clock"},
		breakIt: func(h *host) { h.useTLS(-time.Minute) }},
	{name: "plain http where TLS is expected", check: "TLS", says: []string{"handshake failed"},
		breakIt: func(h *host) {
			h.settings.url = strings.Replace(h.settings.url, "http:", "https:", 1)
			h.configure()
		}},
	{name: "service that fails", check: "service", says: []string{"503"},
		breakIt: func(h *host) { h.fail(emulator.Fault{Kind: emulator.KindStatus, Status: 503}) }},
	{name: "service that asks to wait", check: "service", says: []string{"asked to wait until"},
		breakIt: func(h *host) { h.fail(emulator.Fault{Kind: emulator.KindStatus, Status: 429, RetryAfter: "3600"}) }},
	{name: "login page of a network", check: "service", says: []string{"a web page instead of a list"},
		breakIt: func(h *host) { h.fail(emulator.Fault{Kind: emulator.KindShape, Shape: "html"}) }},
	{name: "service that hangs", check: "service", says: []string{"no valid answer", "stall"},
		breakIt: func(h *host) {
			h.settings.stall = "1s"
			h.configure()
			h.fail(emulator.Fault{Kind: emulator.KindStall})
		}},
	{name: "path that leads to no release service", check: "licence", says: []string{"answers with 404, and not as the provider does", "check the path in source.url"},
		breakIt: func(h *host) { h.settings.url += "/wrong"; h.configure() }},
	{name: "filter that no file passes", manifests: "dq_addr_data\n    include: [nosuch]", check: "licence", says: []string{"no file passes its filters"},
		breakIt: func(h *host) { h.provider.AddSample() }},
	{name: "a wrong clock", check: "clock", says: []string{"clock differs by"},
		breakIt: func(h *host) {
			h.throughProxy(func(res *http.Response) { res.Header.Set("Date", "Sat, 01 Jan 2000 00:00:00 GMT") })
		}},
	{name: "download host that cannot be reached", check: "download", says: []string{"downloading", "refused"},
		breakIt: func(h *host) {
			h.fail(emulator.Fault{Kind: emulator.KindRedirect, Path: "/Download/*", Location: "http://" + freeAddress(h) + "/file"})
		}},
	{name: "slow downloads", manifests: "m", check: "download", says: []string{"too slow", "source.min_rate"},
		breakIt: func(h *host) {
			h.provider.SetManifest("m", "2026.10", emulator.File{Name: "large.dat", Content: emulator.Random(1, 1<<20)})
			h.fail(emulator.Fault{Kind: emulator.KindSlow, Rate: 100, Host: emulator.HostDownload})
		}},
	{name: "disk that is too small", manifests: "m", check: "space", says: []string{"needs 8.", "are free"},
		breakIt: func(h *host) {
			h.provider.SetManifest("m", "2026.10", emulator.File{Name: "large.dat", Content: emulator.Random(1, 8<<20)})
			h.onSmallDisk("size=4m")
		}},
	{name: "too few inodes", check: "space", says: []string{"inodes"},
		breakIt: func(h *host) { h.onSmallDisk("size=64m,nr_inodes=100") }},
	{name: "full disk", check: "file system", says: []string{"is full"},
		breakIt: func(h *host) {
			h.onSmallDisk("size=64k")
			h.giveData(0, 0, 0o755)
			_ = os.WriteFile(h.path("disk", "other"), make([]byte, 64<<10), 0o600) // until it is full
		}},
	{name: "read-only disk", check: "data_dir", says: []string{"read-only file system"},
		breakIt: func(h *host) { h.giveData(0, 0, 0o755); h.readOnly(h.data) }},
	{name: "data_dir of root for another user", check: "data_dir", says: []string{"user 23456", "permission denied"}, args: []string{"--user", stranger},
		breakIt: func(h *host) { h.write("id", customerID, 0o644); h.giveData(0, 7, 0o755) }},
	{name: "state that root left", check: "data_dir", says: []string{"state/syncd.db", "user 23456"},
		breakIt: func(h *host) {
			h.giveData(otherUID, otherGID, 0o755)
			h.sync(0)
			h.must(os.Chown(filepath.Join(h.data, "state/syncd.db"), 0, 0))
		}},
	{name: "data_dir with other content", check: "data_dir", says: []string{`holds "notes"`},
		breakIt: func(h *host) {
			h.giveData(0, 0, 0o755)
			h.must(os.WriteFile(filepath.Join(h.data, "notes"), nil, 0o600))
		}},
	{name: "data_dir that everyone can write", check: "data_dir", says: []string{"every user can write"},
		breakIt: func(h *host) { h.giveData(0, 0, 0o777) }},
	{name: "configuration that the daemon cannot read", check: "files", says: []string{"user 23456 cannot read", "syncd.yaml"}, args: []string{"--user", stranger},
		breakIt: func(h *host) { h.must(os.Chmod(h.path("syncd.yaml"), 0o600)) }},
	{name: "ca_file that is missing", check: "files", says: []string{"ca_file", "ca.pem"},
		breakIt: func(h *host) { h.settings.source = "ca_file: ca.pem"; h.configure() }},
	{name: "gate that is missing", check: "files", says: []string{"gate", "/nonexistent/check"},
		breakIt: func(h *host) { h.settings.more = `gate: {command: ["/nonexistent/check"]}`; h.configure() }},
	{name: "gate that the unit does not let run", check: "sandbox", says: []string{"gate", "NoExecPaths="},
		breakIt: func(h *host) {
			h.write("check", "#!/bin/sh\n", 0o755)
			h.settings.more = fmt.Sprintf("gate: {command: [%q]}", h.path("check"))
			h.configure()
			h.unit("NoExecPaths=/", "ExecPaths=/usr")
		}},
	{name: "secret of a hook that the unit does not load", check: "files", says: []string{"does not load the credential hook_secret"},
		breakIt: func(h *host) {
			h.settings.more = `hooks: [{on: [activated], webhook: "https://ops.example.net/Secret77", secret_file: /run/credentials/syncd.service/hook_secret}]`
			h.configure()
			h.unit()
		}},
	{name: "unit that does not let the daemon write", check: "sandbox", says: []string{"data_dir", "ProtectSystem=strict"},
		breakIt: func(h *host) { h.unit("ProtectSystem=strict") }},
	{name: "unit with a folder that does not exist", check: "sandbox", says: []string{"ReadWritePaths=", "does not exist"},
		breakIt: func(h *host) { h.unit("ProtectSystem=strict", "ReadWritePaths="+h.data) }},
	{name: "unit that hides data_dir", check: "sandbox", says: []string{"data_dir", "PrivateTmp=yes"},
		breakIt: func(h *host) { h.unit("PrivateTmp=yes") }},
	{name: "group of the files that the unit's user namespace lacks", check: "sandbox", says: []string{"permissions.group", "PrivateUsers="},
		breakIt: func(h *host) {
			h.settings.more = "permissions: {group: '23456'}"
			h.configure()
			h.unit("PrivateUsers=yes")
		}},
	{name: "unit whose user does not exist", check: "user", says: []string{`no user "nosuchuser"`},
		breakIt: func(h *host) { h.unit("User=nosuchuser") }},
	{name: "unit whose group does not exist", check: "user", says: []string{`no group "nosuchgroup"`},
		breakIt: func(h *host) { h.unit("User=root", "Group=nosuchgroup") }},
	{name: "user that does not exist", check: "user", says: []string{`no user "nosuchuser"`}, args: []string{"--user", "nosuchuser"}, breakIt: func(*host) {}},
	{name: "unit without its program", check: "unit", says: []string{"/nonexistent/syncd"},
		breakIt: func(h *host) { h.unit("ExecStart=/nonexistent/syncd --config " + h.path("syncd.yaml")) }},
	{name: "unit with too few file descriptors", check: "file descriptors", says: []string{"at most 64 files"},
		breakIt: func(h *host) { h.unit("LimitNOFILE=64") }},
	{name: "port in use", check: "port", says: []string{"another program uses the port"},
		breakIt: func(h *host) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			h.must(err)
			h.Cleanup(func() { listener.Close() })
			h.listenOn(listener.Addr().String())
		}},
	{name: "address of another machine", check: "port", says: []string{"does not have the address"},
		breakIt: func(h *host) { h.listenOn("192.0.2.1:9797") }},
	{name: "release that the daemon refused", check: "manifests", says: []string{"dq_addr_data", "refused"},
		breakIt: func(h *host) {
			h.sync(0)
			h.provider.AdvanceSample()
			h.fail(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
			h.sync(1)
			h.provider.ClearFaults()
		}},
}

// listenOn changes http.listen.
func (h *host) listenOn(address string) {
	h.Helper()
	text, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0", address, 1), 0o644)
}

// throughProxy puts a server in front of the provider that changes its answers.
func (h *host) throughProxy(change func(*http.Response)) {
	h.Helper()
	target, err := url.Parse(h.provider.URL())
	h.must(err)
	front := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = target.Host },
		ModifyResponse: func(res *http.Response) error { change(res); return nil },
	}
	server := httptest.NewServer(front)
	h.Cleanup(server.Close)
	h.settings.url = server.URL
	h.configure()
}

// useTLS lets the provider speak TLS, with a certificate that is good for the given time
// from now on and that the configuration trusts.
func (h *host) useTLS(left time.Duration) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.must(err)
	secure, err := emulator.Start(emulator.Config{CustomerID: customerID, TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}})
	h.must(err)
	h.Cleanup(func() { secure.Close() })
	secure.AddSample()
	h.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	h.settings.url, h.settings.source = secure.URL(), "ca_file: ca.pem"
	h.configure()
}

func TestDoctorNamesTheCauseFirst(t *testing.T) {
	t.Parallel()
	for _, s := range sicknesses {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			asRoot(t)
			h := patientHost(t, strings.FieldsFunc(s.manifests, func(r rune) bool { return r == '|' })...)
			s.breakIt(h)
			h.diagnosed(s.check, s.says, s.args...)
		})
	}
}

// diagnosed expects that doctor names check first, and no secret.
func (h *host) diagnosed(check string, says []string, args ...string) {
	h.Helper()
	d := h.doctor(1, args...)
	first := d.Findings[0]
	same(h, "the first finding", [2]string{check, "failure"}, [2]string{first.Check, first.Severity})
	h.contains("the first finding", first.Text+" next: "+first.Next, says...)
	if first.Next == "" || d.OK {
		h.Errorf("no next step in %+v", d)
	}
	text := h.expect(1, append([]string{"doctor"}, args...)...)
	h.contains("the output", text.stdout, "failure  "+check+": ", "next: ")
	for _, secret := range []string{"Secret77", "WRONG-ID-0001", buckettest.SecretKey, "another-secret-key"} {
		if strings.Contains(text.stdout+text.stderr, secret) {
			h.Errorf("the output holds %q:\n%s", secret, text.stdout)
		}
	}
	if h.Failed() {
		h.Log(text.stdout)
	}
}

func TestDoctorIsContentWithASoundSetUp(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	d := h.doctor(0)
	severities := map[string]string{}
	for _, f := range d.Findings {
		severities[f.Check] = f.Severity
	}
	for check, want := range map[string]string{"unit": "hint", "daemon": "hint", "manifests": "hint", "licence": "ok", "download": "ok", "space": "ok", "clock": "ok", "port": "ok", "alerts": "skipped"} {
		same(h, check, want, severities[check])
	}
	if !d.OK || d.Findings[0].Severity != "hint" {
		t.Errorf("%+v", d)
	}
	if _, err := os.Lstat(h.data); !os.IsNotExist(err) {
		t.Errorf("doctor made data_dir: %v", err)
	}

	p := h.daemon()
	p.logged("sync")
	before := h.current()
	d = h.doctor(0)
	for _, f := range d.Findings {
		if f.Severity != "ok" && f.Check != "unit" {
			t.Errorf("%+v", f)
		}
	}
	same(h, "current", before, h.current())
	left, err := filepath.Glob(filepath.Join(h.data, ".tmp-*"))
	h.must(err)
	same(h, "leftovers", 0, len(left))
	p.terminate()
}

func TestDoctorGivesHintsForWhatWorksButIsUnsafe(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.environ = []string{"SYSTEMD_UNIT_PATH=" + h.path("units")}
	h.settings.id = fmt.Sprintf("customer_id: %q", customerID)
	h.configure()
	for _, dir := range []string{"lower", "upper", "work", "disk"} {
		h.must(os.Mkdir(h.path(dir), 0o755))
	}
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", h.path("lower"), h.path("upper"), h.path("work"))
	h.must(unix.Mount("overlay", h.path("disk"), "overlay", 0, layers))
	h.Cleanup(func() { h.must(unix.Unmount(h.path("disk"), unix.MNT_DETACH)) })
	h.use(h.path("disk"))
	h.must(os.Mkdir(h.data, 0o755))
	h.contains("the output", h.expect(0, "doctor").stdout,
		"hint     configuration: ", "is a secret, and this file can be read by its group or by others\n         next: chmod 600",
		"hint     file system: data_dir lies in a container's own layer", "hint     daemon: no daemon runs")
}

// Everything that looks like a secret stays out of a ticket.
func TestDoctorPrintsNoSecret(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.write("hook_secret", "whsec_MfKQ9r8GKYqTwUPD8I7BmWXMaoOT3v0N", 0o644)
	h.settings.source = "proxy: http://user:Password77@" + strings.TrimPrefix(h.provider.URL(), "http://") + "/"
	h.settings.url = strings.Replace(h.settings.url, "//", "//basic:Password78@", 1) + "?token=Token79"
	h.settings.more = `hooks: [{on: [activated, failed], webhook: "http://127.0.0.1:1/Token80?key=Token81", secret_file: hook_secret}]`
	h.configure()
	h.syncd("sync")
	out := ""
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
		r := h.syncd(args...)
		out += r.stdout + r.stderr
	}
	for _, secret := range []string{"Password77", "Password78", "Token79", "Token80", "Token81", "MfKQ9r8GKYqTwUPD8I7BmWXMaoOT3v0N"} {
		if strings.Contains(out, secret) {
			t.Errorf("the output holds %q:\n%s", secret, out)
		}
	}
	h.contains("the output", out, "hint     configuration: ", "next: ")
}

func TestDoctorReadsTheUnitLikeSystemd(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.environ = []string{"SYSTEMD_UNIT_PATH=" + h.path("units"), "HTTP_PROXY=http://" + freeAddress(h), "SYNCD_CUSTOMER_ID=of-this-shell"}
	h.settings.id = "customer_id_param: id"
	h.configure()
	h.write("customer_id", customerID+"\n", 0o600)
	h.giveData(otherUID, otherGID, 0o755)
	h.unit("User="+stranger, "LoadCredential=customer_id:"+h.path("customer_id"), "ProtectSystem=strict", "ReadWritePaths="+h.data)
	d := h.doctor(0)
	same(h, "user", stranger, d.User)
	for _, f := range d.Findings {
		if f.Severity != "ok" && f.Check != "daemon" && f.Check != "alerts" && f.Check != "manifests" {
			t.Errorf("%+v", f)
		}
	}
	h.write("other.yaml", "x", 0o644)
	h.unit("ExecStart=/usr/bin/syncd --config " + h.path("other.yaml") + " run")
	h.contains("with another unit", h.expect(1, "doctor").stdout, "other.yaml", "it is not checked")
}

func TestDoctorJudgesAlertsOfTheRunningDaemon(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	p := h.daemon()
	p.logged("sync")
	h.settings.more = "nosuchkey: 1"
	h.configure()
	p.signal(syscall.SIGHUP)
	h.eventually("a failed reload", func() bool {
		_, metrics := p.get("/metrics")
		return strings.Contains(metrics, "syncd_config_last_reload_successful 0")
	})
	h.settings.more = ""
	h.configure()
	first := h.doctor(1).Findings[0]
	same(h, "check", "alerts", first.Check)
	h.contains("text", first.Text, "SyncdReloadFailed", "this host")
	h.contains("next", first.Next, "syncd config check")
	p.terminate()
}

func TestDoctorOfAnotherUserSaysWhatItCannotCheck(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.environ = []string{"SYSTEMD_UNIT_PATH=" + h.path("units")}
	h.binary = copyBinary(h)
	h.write("id", customerID, 0o644)
	h.unit("User=root")
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	out := h.syncd("doctor").stdout
	h.environ = append(h.environ, "MD_LICENSE="+customerID)
	h.write("customer_id", customerID, 0o600)
	h.settings.id = "customer_id_param: id"
	h.configure()
	h.unit("User=root", "LoadCredential=customer_id:"+h.path("customer_id"))
	h.contains("without the Customer ID", h.expect(0, "doctor").stdout, "skipped  customer ID: user 23456 cannot read the Customer ID of the daemon", "next: run this as root", `"customer ID" did not pass`)
	h.environ = append(h.environ, "SYNCD_CUSTOMER_ID="+customerID)
	h.contains("with one in the shell", h.expect(0, "doctor").stdout, "hint     customer ID: the Customer ID of this shell is checked", "ok       licence")
	h.contains("the output", out, "skipped  user: the permissions of user root are not checked", "next: run this as root", "ok       customer ID", "ok       licence")
}
