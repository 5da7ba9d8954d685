package doctor_test

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
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// diagnosis is the output of `doctor --json`.
type diagnosis struct {
	User     string
	OK       bool
	Findings []finding
}

// patientHost is a host without a unit. Its data directory does not exist yet.
func patientHost(t *testing.T, manifests ...string) *e2e.Host {
	t.Helper()
	h := e2e.NewHost(t, manifests...)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	return h
}

// finding is one of a diagnosis.
type finding struct{ Check, Severity, Text, Next string }

func doctor(h *e2e.Host, code int, args ...string) (d diagnosis) {
	h.Helper()
	out := h.Expect(code, append([]string{"doctor", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out.Stdout), &d); err != nil {
		h.Fatalf("doctor --json printed %q: %v", out.Stdout, err)
	}
	return d
}

// unit installs a unit that runs this syncd with this configuration.
func unit(h *e2e.Host, lines ...string) {
	h.Helper()
	h.Must(os.MkdirAll(h.Path("units"), 0o755))
	h.Write("units/syncd.service", fmt.Sprintf("[Service]\nExecStart=%s --config %s run\n%s\n", h.Binary, h.Path("syncd.yaml"), strings.Join(lines, "\n")), 0o644)
}

// giveData makes the data directory, of another user.
func giveData(h *e2e.Host, uid, gid int, perm os.FileMode) {
	h.Helper()
	h.Must(os.MkdirAll(h.Data, perm))
	h.Must(os.Chown(h.Data, uid, gid))
	h.Must(os.Chmod(h.Data, perm))
}

// fail makes the provider fail.
func fail(h *e2e.Host, f emulator.Fault) { h.Provider.AddFault(f) }

// sick is one broken set-up: doctor names check first, with a text that holds says.
type sick struct {
	name      string
	manifests string // the sample if empty
	breakIt   func(h *e2e.Host)
	args      []string
	check     string
	says      []string
}

const stranger = "23456"

var sicknesses = []sick{
	{name: "no configuration", check: "configuration", says: []string{"syncd.yaml", "no such file"},
		breakIt: func(h *e2e.Host) { h.Must(os.Remove(h.Path("syncd.yaml"))) }},
	{name: "a misspelt key", check: "configuration", says: []string{"retian", "unknown key"},
		breakIt: func(h *e2e.Host) { h.Settings.More = "retian: 3"; h.Configure() }},
	{name: "no Customer ID", check: "customer ID", says: []string{"no Customer ID is configured"},
		breakIt: func(h *e2e.Host) { h.Settings.ID = "customer_id_param: id"; h.Configure() }},
	{name: "Customer ID in the unit and in the configuration", check: "customer ID", says: []string{"set more than once", "customer_id_file"},
		breakIt: func(h *e2e.Host) {
			h.Write("customer_id", e2e.CustomerID, 0o600)
			unit(h, "LoadCredential=customer_id:"+h.Path("customer_id"))
		}},
	{name: "credential that does not exist", check: "customer ID", says: []string{"loads the Customer ID from", "does not exist"},
		breakIt: func(h *e2e.Host) {
			h.Settings.ID = "customer_id_param: id"
			h.Configure()
			unit(h, "LoadCredential=customer_id:"+h.Path("customer_id"))
		}},
	{name: "Customer ID that the daemon cannot read", check: "customer ID", says: []string{"customer_id_file", "permission denied"},
		breakIt: func(*e2e.Host) {}, args: []string{"--user", stranger}},
	{name: "wrong Customer ID", manifests: "dq_addr_data|dq_addr_bins", check: "licence", says: []string{"for every manifest", "manifest dq_addr_data", "status 40"},
		breakIt: func(h *e2e.Host) { h.Provider.AddSample(); h.Write("id", "WRONG-ID-0001\n", 0o600) }},
	{name: "manifest that is not licensed", check: "licence", says: []string{"dq_addr_data", "invalidProduct"},
		breakIt: func(h *e2e.Host) {
			fail(h, emulator.Fault{Kind: emulator.KindStatus, Status: 403, Type: "invalidProduct", Path: "/Manifest/*"})
		}},
	{name: "manifest that does not exist", manifests: "dq_adr_data", check: "licence", says: []string{"dq_adr_data", "does not have it"},
		breakIt: func(h *e2e.Host) { h.Provider.AddSample() }},
	{name: "name that does not resolve", check: "name resolution", says: []string{"name.invalid", "cannot be resolved"},
		breakIt: func(h *e2e.Host) { h.Settings.URL = "https://name.invalid"; h.Configure() }},
	{name: "nothing listens", check: "connection", says: []string{"nothing listens there"},
		breakIt: func(h *e2e.Host) { h.Settings.URL = "http://" + e2e.FreeAddress(h); h.Configure() }},
	{name: "proxy that is down", check: "connection", says: []string{"proxy 127.0.0.1", "nothing listens there"},
		breakIt: func(h *e2e.Host) {
			h.Settings.Source = "proxy: http://user:Secret77@" + e2e.FreeAddress(h)
			h.Configure()
		}},
	{name: "proxy that wants a password", check: "service", says: []string{"the proxy", "407"},
		breakIt: func(h *e2e.Host) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
			h.Cleanup(proxy.Close)
			h.Settings.URL, h.Settings.Source = "https://releases.example.net", "proxy: "+proxy.URL
			h.Configure()
		}},
	{name: "certificate of an unknown authority", check: "TLS", says: []string{"not trusted"},
		breakIt: func(h *e2e.Host) { useTLS(h, time.Hour); h.Settings.Source = ""; h.Configure() }},
	{name: "certificate that has expired", check: "TLS", says: []string{"not valid at the time of this machine's clock"},
		breakIt: func(h *e2e.Host) { useTLS(h, -time.Minute) }},
	{name: "plain http where TLS is expected", check: "TLS", says: []string{"handshake failed"},
		breakIt: func(h *e2e.Host) {
			h.Settings.URL = strings.Replace(h.Settings.URL, "http:", "https:", 1)
			h.Configure()
		}},
	{name: "service that fails", check: "service", says: []string{"503"},
		breakIt: func(h *e2e.Host) { fail(h, emulator.Fault{Kind: emulator.KindStatus, Status: 503}) }},
	{name: "service that asks to wait", check: "service", says: []string{"asked to wait until"},
		breakIt: func(h *e2e.Host) { fail(h, emulator.Fault{Kind: emulator.KindStatus, Status: 429, RetryAfter: "3600"}) }},
	{name: "login page of a network", check: "service", says: []string{"a web page instead of a list"},
		breakIt: func(h *e2e.Host) { fail(h, emulator.Fault{Kind: emulator.KindShape, Shape: "html"}) }},
	{name: "service that hangs", check: "service", says: []string{"no valid answer", "stall"},
		breakIt: func(h *e2e.Host) {
			h.Settings.Stall = "1s"
			h.Configure()
			fail(h, emulator.Fault{Kind: emulator.KindStall})
		}},
	{name: "path that leads to no release service", check: "licence", says: []string{"answers with 404, and not as the provider does", "check the path in source.url"},
		breakIt: func(h *e2e.Host) { h.Settings.URL += "/wrong"; h.Configure() }},
	{name: "filter that no file passes", manifests: "dq_addr_data\n    include: [nosuch]", check: "licence", says: []string{"no file passes its filters"},
		breakIt: func(h *e2e.Host) { h.Provider.AddSample() }},
	{name: "a wrong clock", check: "clock", says: []string{"clock differs by"},
		breakIt: func(h *e2e.Host) {
			throughProxy(h, func(res *http.Response) { res.Header.Set("Date", "Sat, 01 Jan 2000 00:00:00 GMT") })
		}},
	{name: "download host that cannot be reached", check: "download", says: []string{"downloading", "refused"},
		breakIt: func(h *e2e.Host) {
			fail(h, emulator.Fault{Kind: emulator.KindRedirect, Path: "/Download/*", Location: "http://" + e2e.FreeAddress(h) + "/file"})
		}},
	{name: "slow downloads", manifests: "m", check: "download", says: []string{"too slow", "source.min_rate"},
		breakIt: func(h *e2e.Host) {
			h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "large.dat", Content: emulator.Random(1, 1<<20)})
			fail(h, emulator.Fault{Kind: emulator.KindSlow, Rate: 100, Host: emulator.HostDownload})
		}},
	{name: "disk that is too small", manifests: "m", check: "space", says: []string{"needs 8.", "are free"},
		breakIt: func(h *e2e.Host) {
			h.Provider.SetManifest("m", "2026.10", emulator.File{Name: "large.dat", Content: emulator.Random(1, 8<<20)})
			e2e.OnSmallDisk(h, "size=4m")
		}},
	{name: "too few inodes", check: "space", says: []string{"inodes"},
		breakIt: func(h *e2e.Host) { e2e.OnSmallDisk(h, "size=64m,nr_inodes=100") }},
	{name: "full disk", check: "file system", says: []string{"is full"},
		breakIt: func(h *e2e.Host) {
			e2e.OnSmallDisk(h, "size=64k")
			giveData(h, 0, 0, 0o755)
			_ = os.WriteFile(h.Path("disk", "other"), make([]byte, 64<<10), 0o600) // until it is full
		}},
	{name: "read-only disk", check: "data_dir", says: []string{"read-only file system"},
		breakIt: func(h *e2e.Host) { giveData(h, 0, 0, 0o755); e2e.ReadOnly(h, h.Data) }},
	{name: "data_dir of root for another user", check: "data_dir", says: []string{"user 23456", "permission denied"}, args: []string{"--user", stranger},
		breakIt: func(h *e2e.Host) { h.Write("id", e2e.CustomerID, 0o644); giveData(h, 0, 7, 0o755) }},
	{name: "state that root left", check: "data_dir", says: []string{"state/syncd.db", "user 23456"},
		breakIt: func(h *e2e.Host) {
			giveData(h, e2e.OtherUID, e2e.OtherGID, 0o755)
			h.Sync(0)
			h.Must(os.Chown(filepath.Join(h.Data, "state/syncd.db"), 0, 0))
		}},
	{name: "data_dir with other content", check: "data_dir", says: []string{`holds "notes"`},
		breakIt: func(h *e2e.Host) {
			giveData(h, 0, 0, 0o755)
			h.Must(os.WriteFile(filepath.Join(h.Data, "notes"), nil, 0o600))
		}},
	{name: "data_dir that everyone can write", check: "data_dir", says: []string{"every user can write"},
		breakIt: func(h *e2e.Host) { giveData(h, 0, 0, 0o777) }},
	{name: "configuration that the daemon cannot read", check: "files", says: []string{"user 23456 cannot read", "syncd.yaml"}, args: []string{"--user", stranger},
		breakIt: func(h *e2e.Host) { h.Must(os.Chmod(h.Path("syncd.yaml"), 0o600)) }},
	{name: "ca_file that is missing", check: "files", says: []string{"ca_file", "ca.pem"},
		breakIt: func(h *e2e.Host) { h.Settings.Source = "ca_file: ca.pem"; h.Configure() }},
	{name: "gate that is missing", check: "files", says: []string{"gate", "/nonexistent/check"},
		breakIt: func(h *e2e.Host) { h.Settings.More = `gate: {command: ["/nonexistent/check"]}`; h.Configure() }},
	{name: "gate whose interpreter is missing", check: "files", says: []string{"gate", "interpreter", "/nonexistent/sh"},
		breakIt: func(h *e2e.Host) { script(h, "#!/nonexistent/sh\n") }},
	{name: "gate with the line ends of Windows", check: "files", says: []string{"gate", "Windows"},
		breakIt: func(h *e2e.Host) { script(h, "#!/bin/sh\r\nexit 0\r\n") }},
	{name: "gate without an interpreter", check: "files", says: []string{"gate", "names no interpreter"},
		breakIt: func(h *e2e.Host) { script(h, "exit 0\n") }},
	{name: "export to a folder in which everyone can write", check: "data_dir", says: []string{"export of view refdata", "every user can write"},
		breakIt: func(h *e2e.Host) {
			h.Must(os.Mkdir(h.Path("open"), 0o755))
			h.Must(os.Chmod(h.Path("open"), 0o777))
			exportTo(h, "open/refdata")
		}},
	{name: "data_dir that is a link to nothing", check: "data_dir", says: []string{"symlink that leads to nothing"},
		breakIt: func(h *e2e.Host) { h.Must(os.Symlink(h.Path("unmounted"), h.Data)) }},
	{name: "data_dir behind a link to nothing", check: "data_dir", says: []string{"symlink that leads to nothing"},
		breakIt: func(h *e2e.Host) {
			h.Must(os.Symlink(h.Path("unmounted"), h.Path("disk")))
			h.Data = h.Path("disk", "data")
			h.Configure()
		}},
	{name: "gate that the unit does not let run", check: "sandbox", says: []string{"gate", "NoExecPaths="},
		breakIt: func(h *e2e.Host) {
			h.Write("check", "#!/bin/sh\n", 0o755)
			h.ConfigureWith(fmt.Sprintf("gate: {command: [%q]}", h.Path("check")))
			unit(h, "NoExecPaths=/", "ExecPaths=/usr")
		}},
	{name: "secret of a hook that the unit does not load", check: "files", says: []string{"does not load the credential hook_secret"},
		breakIt: func(h *e2e.Host) {
			h.ConfigureWith(`hooks: [{on: [activated], webhook: "https://ops.example.net/Secret77", secret_file: /run/credentials/syncd.service/hook_secret}]`)
			unit(h)
		}},
	{name: "unit that does not let the daemon write", check: "sandbox", says: []string{"data_dir", "ProtectSystem=strict"},
		breakIt: func(h *e2e.Host) { unit(h, "ProtectSystem=strict") }},
	{name: "unit with a folder that does not exist", check: "sandbox", says: []string{"ReadWritePaths=", "does not exist"},
		breakIt: func(h *e2e.Host) { unit(h, "ProtectSystem=strict", "ReadWritePaths="+h.Data) }},
	{name: "unit that hides data_dir", check: "sandbox", says: []string{"data_dir", "PrivateTmp=yes"},
		breakIt: func(h *e2e.Host) { unit(h, "PrivateTmp=yes") }},
	{name: "group of the files that the unit's user namespace lacks", check: "sandbox", says: []string{"permissions.group", "PrivateUsers="},
		breakIt: func(h *e2e.Host) {
			h.ConfigureWith("permissions: {group: '23456'}")
			unit(h, "PrivateUsers=yes")
		}},
	{name: "unit whose user does not exist", check: "user", says: []string{`no user "nosuchuser"`},
		breakIt: func(h *e2e.Host) { unit(h, "User=nosuchuser") }},
	{name: "unit whose group does not exist", check: "user", says: []string{`no group "nosuchgroup"`},
		breakIt: func(h *e2e.Host) { unit(h, "User=root", "Group=nosuchgroup") }},
	{name: "user that does not exist", check: "user", says: []string{`no user "nosuchuser"`}, args: []string{"--user", "nosuchuser"}, breakIt: func(*e2e.Host) {}},
	{name: "unit without its program", check: "unit", says: []string{"/nonexistent/syncd"},
		breakIt: func(h *e2e.Host) { unit(h, "ExecStart=/nonexistent/syncd --config "+h.Path("syncd.yaml")) }},
	{name: "unit with too few file descriptors", check: "file descriptors", says: []string{"at most 64 files"},
		breakIt: func(h *e2e.Host) { unit(h, "LimitNOFILE=64") }},
	{name: "port in use", check: "port", says: []string{"another program uses the port"},
		breakIt: func(h *e2e.Host) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			h.Must(err)
			h.Cleanup(func() { listener.Close() })
			listenOn(h, listener.Addr().String())
		}},
	{name: "address of another machine", check: "port", says: []string{"does not have the address"},
		breakIt: func(h *e2e.Host) { listenOn(h, "192.0.2.1:9797") }},
	{name: "address of a service where nothing listens", check: "services", says: []string{"services.list.url", "connection refused"},
		breakIt: func(h *e2e.Host) { h.ConfigureWith("services: {list: {url: 'http://" + e2e.FreeAddress(h) + "'}}") }},
	{name: "address of a service that does not resolve", check: "services", says: []string{"services.autocomplete.jsonp_url", "name.invalid"},
		breakIt: func(h *e2e.Host) { h.ConfigureWith("services: {autocomplete: {jsonp_url: 'https://name.invalid'}}") }},
	{name: "current is missing", check: "manifests", says: []string{"current is missing, although dq_addr_data", "was served"},
		breakIt: func(h *e2e.Host) {
			h.Sync(0)
			h.Must(os.Remove(filepath.Join(h.Data, "current")))
		}},
	{name: "generations are missing", check: "manifests", says: []string{"current names generation 1, which is not complete"},
		breakIt: func(h *e2e.Host) {
			h.Sync(0)
			h.Must(os.RemoveAll(filepath.Join(h.Data, "generations")))
		}},
	{name: "data that may be used no more", check: "manifests", says: []string{"dq_addr_data", "expired on", "is still served", "on_expiry: withdraw"},
		breakIt: func(h *e2e.Host) {
			h.Sync(0)
			h.Settings.Manifests = []string{"dq_addr_data\n    expires: {after: 1d}"}
			h.Configure()
		}},
	{name: "data that was withdrawn", check: "manifests", says: []string{"dq_addr_data", "expired on", "was withdrawn", "sync --force"},
		breakIt: func(h *e2e.Host) {
			h.Sync(0)
			h.Settings.Manifests = []string{"dq_addr_data\n    expires: {after: 1d}\n    on_expiry: withdraw"}
			h.Configure()
			h.Sync(0)
		}},
	{name: "release that the daemon refused", check: "manifests", says: []string{"dq_addr_data", "refused"},
		breakIt: func(h *e2e.Host) {
			h.Sync(0)
			h.Provider.AdvanceSample()
			fail(h, emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload})
			h.Sync(1)
			h.Provider.ClearFaults()
		}},
}

// script makes a gate of the text.
func script(h *e2e.Host, text string) {
	h.Helper()
	h.Write("check", text, 0o755)
	h.ConfigureWith(fmt.Sprintf("gate: {command: [%q]}", h.Path("check")))
}

// exportTo has a view with all files exported.
func exportTo(h *e2e.Host, path string) {
	h.Helper()
	h.ConfigureWith(fmt.Sprintf("views: [{name: refdata, layout: flat, export: %q}]", h.Path(path)))
}

// listenOn changes http.listen.
func listenOn(h *e2e.Host, address string) {
	h.Helper()
	text := h.Read("syncd.yaml")
	h.Write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0", address, 1), 0o644)
}

// throughProxy puts a server in front of the provider that changes its answers.
func throughProxy(h *e2e.Host, change func(*http.Response)) {
	h.Helper()
	target, err := url.Parse(h.Provider.URL())
	h.Must(err)
	front := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = target.Host },
		ModifyResponse: func(res *http.Response) error { change(res); return nil },
	}
	server := httptest.NewServer(front)
	h.Cleanup(server.Close)
	h.Settings.URL = server.URL
	h.Configure()
}

// useTLS lets the provider speak TLS, with a certificate that is good for the given time
// from now on and that the configuration trusts.
func useTLS(h *e2e.Host, left time.Duration) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.Must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.Must(err)
	secure, err := emulator.Start(emulator.Config{CustomerID: e2e.CustomerID, TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}})
	h.Must(err)
	h.Cleanup(func() { secure.Close() })
	secure.AddSample()
	h.Write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	h.Settings.URL, h.Settings.Source = secure.URL(), "ca_file: ca.pem"
	h.Configure()
}

func TestDoctorNamesTheCauseFirst(t *testing.T) {
	t.Parallel()
	for _, s := range sicknesses {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			e2e.AsRoot(t)
			h := patientHost(t, strings.FieldsFunc(s.manifests, func(r rune) bool { return r == '|' })...)
			s.breakIt(h)
			diagnosed(h, s.check, s.says, s.args...)
		})
	}
}

// diagnosed expects that doctor names check first, and no secret.
func diagnosed(h *e2e.Host, check string, says []string, args ...string) {
	h.Helper()
	d := doctor(h, 1, args...)
	first := d.Findings[0]
	e2e.Same(h, "the first finding", [2]string{check, "failure"}, [2]string{first.Check, first.Severity})
	h.Contains("the first finding", first.Text+" next: "+first.Next, says...)
	if first.Next == "" || d.OK {
		h.Errorf("no next step in %+v", d)
	}
	text := h.Expect(1, append([]string{"doctor"}, args...)...)
	h.Contains("the output", text.Stdout, "failure  "+check+": ", "next: ")
	for _, secret := range []string{"Secret77", "WRONG-ID-0001", buckettest.SecretKey, "another-secret-key"} {
		if strings.Contains(text.Stdout+text.Stderr, secret) {
			h.Errorf("the output holds %q:\n%s", secret, text.Stdout)
		}
	}
	if h.Failed() {
		h.Log(text.Stdout)
	}
}

func TestDoctorIsContentWithASoundSetUp(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	d := doctor(h, 0)
	severities := map[string]string{}
	for _, f := range d.Findings {
		severities[f.Check] = f.Severity
	}
	for check, want := range map[string]string{"unit": "hint", "daemon": "hint", "manifests": "hint", "licence": "ok", "download": "ok", "space": "ok", "clock": "ok", "port": "ok", "alerts": "skipped"} {
		e2e.Same(h, check, want, severities[check])
	}
	if !d.OK || d.Findings[0].Severity != "hint" {
		t.Errorf("%+v", d)
	}
	if _, err := os.Lstat(h.Data); !os.IsNotExist(err) {
		t.Errorf("doctor made data_dir: %v", err)
	}

	p := h.SyncedDaemon()
	before := h.Current()
	d = doctor(h, 0)
	for _, f := range d.Findings {
		if f.Severity != "ok" && f.Check != "unit" {
			t.Errorf("%+v", f)
		}
	}
	e2e.Same(h, "current", before, h.Current())
	left, err := filepath.Glob(filepath.Join(h.Data, ".tmp-*"))
	h.Must(err)
	e2e.Same(h, "leftovers", 0, len(left))
	p.Terminate()
}

func TestDoctorGivesHintsForWhatWorksButIsUnsafe(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	h.Settings.ID = fmt.Sprintf("customer_id: %q", e2e.CustomerID)
	h.Configure()
	for _, dir := range []string{"lower", "upper", "work", "disk"} {
		h.Must(os.Mkdir(h.Path(dir), 0o755))
	}
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", h.Path("lower"), h.Path("upper"), h.Path("work"))
	h.Must(unix.Mount("overlay", h.Path("disk"), "overlay", 0, layers))
	h.Cleanup(func() { h.Must(unix.Unmount(h.Path("disk"), unix.MNT_DETACH)) })
	e2e.UseDisk(h, h.Path("disk"))
	h.Must(os.Mkdir(h.Data, 0o755))
	h.Contains("the output", h.Expect(0, "doctor").Stdout,
		"hint     configuration: ", "is a secret, and this file can be read by its group or by others\n         next: chmod 600",
		"hint     file system: data_dir lies in a container's own layer", "hint     daemon: no daemon runs")
}

// Everything that looks like a secret stays out of a ticket.
func TestDoctorPrintsNoSecret(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	h.Write("hook_secret", "whsec_MfKQ9r8GKYqTwUPD8I7BmWXMaoOT3v0N", 0o644)
	h.Settings.Source = "proxy: http://user:Password77@" + strings.TrimPrefix(h.Provider.URL(), "http://") + "/"
	const hooks = `hooks: [{on: [activated, failed], webhook: "http://127.0.0.1:1/Token80?key=Token81", secret_file: hook_secret}]`
	h.ConfigureWith(hooks)
	h.Syncd("sync")
	out := h.Syncd("doctor").Stdout
	h.Contains("the output", out, "hint     ", "next: ")

	url := h.Settings.URL
	for _, refused := range []string{strings.Replace(url, "//", "//basic:Password78@", 1), url + "?token=Token79"} {
		h.Settings.URL = refused
		h.ConfigureWith(hooks)
		for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
			r := h.Expect(1, args...)
			h.Contains("the output", r.Stdout, "configuration", "source.url")
			out += r.Stdout + r.Stderr
		}
	}
	for _, secret := range []string{"Password77", "Password78", "Token79", "Token80", "Token81", "MfKQ9r8GKYqTwUPD8I7BmWXMaoOT3v0N"} {
		if strings.Contains(out, secret) {
			t.Errorf("the output holds %q:\n%s", secret, out)
		}
	}
}

func TestDoctorReadsTheUnitLikeSystemd(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units"), "HTTP_PROXY=http://" + e2e.FreeAddress(h), "SYNCD_CUSTOMER_ID=of-this-shell"}
	h.Settings.ID = "customer_id_param: id"
	h.Configure()
	h.Write("customer_id", e2e.CustomerID+"\n", 0o600)
	giveData(h, e2e.OtherUID, e2e.OtherGID, 0o755)
	unit(h, "User="+stranger, "LoadCredential=customer_id:"+h.Path("customer_id"), "ProtectSystem=strict", "ReadWritePaths="+h.Data)
	d := doctor(h, 0)
	e2e.Same(h, "user", stranger, d.User)
	for _, f := range d.Findings {
		if f.Severity != "ok" && f.Check != "daemon" && f.Check != "alerts" && f.Check != "manifests" {
			t.Errorf("%+v", f)
		}
	}
	h.Write("other.yaml", "x", 0o644)
	unit(h, "ExecStart=/usr/bin/syncd --config "+h.Path("other.yaml")+" run")
	h.Contains("with another unit", h.Expect(1, "doctor").Stdout, "other.yaml", "it is not checked")
}

func TestDoctorJudgesAlertsOfTheRunningDaemon(t *testing.T) {
	t.Parallel()
	h := patientHost(t)
	p := h.SyncedDaemon()
	h.ConfigureWith("nosuchkey: 1")
	p.Signal(syscall.SIGHUP)
	h.Eventually("a failed reload", func() bool {
		_, metrics := p.Get("/metrics")
		return strings.Contains(metrics, "syncd_config_last_reload_successful 0")
	})
	h.ConfigureWith("")
	first := doctor(h, 1).Findings[0]
	e2e.Same(h, "check", "alerts", first.Check)
	h.Contains("text", first.Text, "SyncdReloadFailed", "this host")
	h.Contains("next", first.Next, "syncd config check")
	p.Terminate()
}

func TestDoctorOfAnotherUserSaysWhatItCannotCheck(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	h.Binary = e2e.CopyBinary(h)
	h.Write("id", e2e.CustomerID, 0o644)
	unit(h, "User=root")
	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	out := h.Syncd("doctor").Stdout
	h.Environ = append(h.Environ, "MD_LICENSE="+e2e.CustomerID)
	h.Write("customer_id", e2e.CustomerID, 0o600)
	h.Settings.ID = "customer_id_param: id"
	h.Configure()
	unit(h, "User=root", "LoadCredential=customer_id:"+h.Path("customer_id"))
	h.Contains("without the Customer ID", h.Expect(0, "doctor").Stdout, "skipped  customer ID: user 23456 cannot read the Customer ID of the daemon", "next: run this as root", `"customer ID" did not pass`)
	h.Environ = append(h.Environ, "SYNCD_CUSTOMER_ID="+e2e.CustomerID)
	h.Contains("with one in the shell", h.Expect(0, "doctor").Stdout, "hint     customer ID: the Customer ID of this shell is checked", "ok       licence")
	h.Contains("the output", out, "skipped  user: the permissions of user root are not checked", "next: run this as root", "ok       customer ID", "ok       licence")
}
