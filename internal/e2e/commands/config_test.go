package commands_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

func TestConfigCheckOfAGoodFileExits0(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Contains("config check", h.Expect(0, "config", "check").Stdout, "syncd.yaml: ok, 1 manifest\n")
	e2e.Same(h, "requests", 0, len(h.Provider.Requests()))
	if _, err := os.Stat(h.Data); err == nil {
		t.Error("the check created the data directory")
	}
}

func TestConfigErrorsNamePositionAndKeyButNoSecret(t *testing.T) {
	t.Parallel()
	const source = "source:\n  url: https://releases.example.net\n  customer_id_file: id\n"
	const manifests = "manifests:\n  - name: m\n"
	for name, test := range map[string]struct{ text, place, key string }{
		"unknown key":          {source + manifests + "retian: 3\n", "6:1", "retian"},
		"misspelled id":        {"source:\n  url: https://x.example\n  custmer_id: " + e2e.CustomerID + "\n" + manifests, "3:3", "source"},
		"id as a list":         {"source:\n  url: https://x.example\n  customer_id: [\"" + e2e.CustomerID + "\"]\n" + manifests, "3:16", "source.customer_id"},
		"id in the wrong key":  {source + "schedule: " + e2e.CustomerID + "\n" + manifests, "4:11", "schedule"},
		"id as a manifest":     {source + "manifests:\n  - name: \"" + e2e.CustomerID + "\"\n", "5:11", "manifests[0].name"},
		"id as the url":        {"source:\n  url: \"" + e2e.CustomerID + "\"\n  customer_id_file: id\n" + manifests, "2:8", "source.url"},
		"id after bad syntax":  {"source: {customer_id: \"" + e2e.CustomerID + "\n" + manifests, "1:", ""},
		"duplicate key":        {source + "retain: 1\nretain: 2\n" + manifests, "5:1", "retain"},
		"duplicate manifest":   {source + manifests + "  - name: M\n", "6:11", "manifests[1].name"},
		"manifest of dots":     {source + "manifests:\n  - name: ..\n", "5:11", "manifests[0].name"},
		"bad release":          {source + "manifests:\n  - name: m\n    release: soon\n", "6:14", "manifests[0].release"},
		"impossible schedule":  {source + "schedule: \"0 0 30 2 *\"\n" + manifests, "4:11", "schedule"},
		"no such zone":         {source + "schedule: \"CRON_TZ=Mars/Olympus 0 3 * * *\"\n" + manifests, "4:11", "schedule"},
		"bad duration":         {source + "jitter: soon\n" + manifests, "4:9", "jitter"},
		"bad cache":            {source + "transfers: {cache: none}\n" + manifests, "4:20", "transfers.cache"},
		"bad size":             {source + "transfers: {bandwidth: fast}\n" + manifests, "4:24", "transfers.bandwidth"},
		"plain http":           {strings.Replace(source, "https", "http", 1) + manifests, "2:8", "source.url"},
		"no manifests":         {source, "", "manifests"},
		"two ways for the id":  {source + "  customer_id: " + e2e.CustomerID + "\n" + manifests, "3:", "source.customer_id"},
		"unknown hash":         {source + "  hash: CRC32\n" + manifests, "4:9", "source.hash"},
		"unknown manifest key": {source + "manifests:\n  - name: m\n    fliter: x\n", "6:5", "manifests[0].fliter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			h.Write("syncd.yaml", test.text, 0o600)
			r := h.Expect(2, "config", "check")
			h.Contains("stderr", r.Stderr, h.Path("syncd.yaml")+":"+test.place, test.key)
			if !regexp.MustCompile(`; \w`).MatchString(r.Stderr) {
				t.Errorf("no suggestion: %s", r.Stderr)
			}
			for _, args := range [][]string{{"run"}, {"sync"}, {"status"}, {"verify"}} {
				h.Expect(2, args...)
			}
		})
	}
}

func TestConfigCheckReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.ConfigureWith("retain: -1\njitter: soon")
	h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "retain", "jitter")
}

func TestMissingConfigurationNamesTheWaysToProvideIt(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Remove(h.Path("syncd.yaml")))
	h.Contains("stderr", h.Expect(2, "sync").Stderr, "syncd.yaml", "--config")
	cmd := h.Command()
	cmd.Args = []string{cmd.Args[0], "config", "check"} // without --config
	cmd.Env = append(cmd.Env, "SYNCD_CONFIG="+h.Path("absent.yaml"))
	out, _ := cmd.CombinedOutput()
	h.Contains("output", string(out), "absent.yaml")
}

func TestCustomerIDComesFromExactlyOneOfFourPlaces(t *testing.T) {
	t.Parallel()
	quoted := fmt.Sprintf("customer_id: %q", e2e.CustomerID)
	for name, test := range map[string]struct {
		setting string
		environ []string // %s is the host's folder
		code    int
	}{
		"inline":      {quoted, nil, 0},
		"file":        {"customer_id_file: id", nil, 0},
		"environment": {"hash: SHA256", []string{"SYNCD_CUSTOMER_ID=" + e2e.CustomerID}, 0},
		"credential":  {"hash: SHA256", []string{"CREDENTIALS_DIRECTORY=%s/credentials"}, 0},
		"none":        {"hash: SHA256", nil, 2},
		"two":         {"customer_id_file: id", []string{"SYNCD_CUSTOMER_ID=" + e2e.CustomerID}, 2},
		"no file":     {"customer_id_file: absent", nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			h.Must(os.Mkdir(h.Path("credentials"), 0o755))
			h.Write("credentials/customer_id", "  "+e2e.CustomerID+"\r\n", 0o600)
			h.Settings.ID = test.setting
			for _, e := range test.environ {
				h.Environ = append(h.Environ, strings.ReplaceAll(e, "%s", h.Dir))
			}
			h.Configure()
			h.Expect(test.code, "config", "check")
			h.Expect(test.code, "releases", "dq_addr_data")
		})
	}
}

func TestTheLicenceOfTheUpdaterIsTheCustomerIDWhenNoOtherIsSet(t *testing.T) {
	t.Parallel()
	const note = "the Customer ID comes from $MD_LICENSE, because nothing else sets one"
	h := e2e.NewHost(t)
	h.Environ = append(h.Environ, "MD_LICENSE="+e2e.CustomerID)
	e2e.Same(h, "stderr beside a file", "", h.Expect(0, "config", "check").Stderr)
	h.Settings.ID = "hash: SHA256"
	h.Configure()
	e2e.Same(h, "stderr", "syncd: note: "+note+"\n", h.Expect(0, "config", "check").Stderr)
	h.Contains("stderr", h.Expect(0, "sync").Stderr, note)
	p := h.Daemon()
	e2e.Same(h, "level", "info", p.Logged(note)["level"])
	p.Terminate()
	h.CheckSecret()
}

func TestReadableConfigurationWithTheIDIsWarnedAbout(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.ID = fmt.Sprintf("customer_id: %q", e2e.CustomerID)
	h.Configure() // 0644
	for _, args := range [][]string{{"config", "check"}, {"sync"}, {"status"}} {
		h.Contains("stderr", h.Expect(0, args...).Stderr, "warning", "source.customer_id", "chmod 600")
	}
	p := h.Daemon()
	h.Contains("log", p.Stderr.String(), `"level":"warn"`, "chmod 600")
	p.Terminate()

	h.Must(os.Chmod(h.Path("syncd.yaml"), 0o600))
	e2e.Same(h, "stderr", "", h.Expect(0, "config", "check").Stderr)
	h.Settings.ID = "customer_id_file: id"
	h.Configure()
	e2e.Same(h, "stderr", "", h.Expect(0, "config", "check").Stderr)
}

func TestMissingCAFileFailsConfigCheck(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Settings.Source = "ca_file: absent.pem"
	h.Configure()
	h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "syncd.yaml:", ": source.ca_file: ", "absent.pem cannot be read", "no such file", "; name a PEM file")
	h.Settings.Source = ""
	h.ConfigureWith("services: {list: {url: 'https://list.example.net', ca_file: absent.pem}, property: {url: 'https://property.example.net'}}")
	h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "services.list.ca_file: ", "no such file")
	h.ConfigureWith("services: {autocomplete: {jsonp_url: 'https://autocomplete.example.net/jsonp'}}")
	h.Expect(0, "config", "check")
}

func TestBadMapFilesFailConfigCheck(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.ConfigureWith("views: [{name: refdata, layout: map, map_files: {dq_addr_data: a.map}}]")
	h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "views[0].map_files", "no such file")
	h.Write("a.map", "mdAddr.dat|DATA|ANY|ANY|ANY|/etc/passwd\n", 0o600)
	h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "views[0].map_files", "line 1", "mdAddr.dat", "is absolute")
	h.Write("a.map", "mdAddr.dat|DATA|ANY|ANY|ANY|addr/mdAddr.dat\n", 0o600)
	h.Expect(0, "config", "check")
}

func TestFIFOsAndFoldersAreRefusedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(h *e2e.Host, path string){
		"fifo":   func(h *e2e.Host, path string) { h.Must(syscall.Mkfifo(path, 0o600)) },
		"folder": func(h *e2e.Host, path string) { h.Must(os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			p := h.Daemon()
			make(h, h.Path("special"))

			h.Settings.ID = "customer_id_file: special"
			h.Configure()
			h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "source.customer_id_file", "not a regular file")
			h.Settings.ID, h.Settings.Source = "customer_id_file: id", "ca_file: special"
			h.Configure()
			h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "source.ca_file: ", "not a regular file")
			h.Expect(2, "releases", "dq_addr_data")
			h.Settings.Source = ""
			h.Configure()
			text := h.Read("syncd.yaml")
			h.Write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "127.0.0.1:0, web_config: special}", 1), 0o600)
			h.Contains("stderr", h.Expect(2, "config", "check").Stderr, "http.web_config", "not a regular file")

			h.Must(os.Remove(h.Path("syncd.yaml")))
			make(h, h.Path("syncd.yaml"))
			for _, args := range [][]string{{"config", "check"}, {"sync"}, {"status"}, {"run"}} {
				h.Contains("stderr", h.Expect(2, args...).Stderr, "syncd.yaml: cannot be read: not a regular file")
			}
			p.Signal(syscall.SIGHUP)
			p.Logged("configuration not reloaded: the old one stays in force")
			p.Terminate()
		})
	}
}

func TestConfigurationThatOthersCanWriteIsWarnedAbout(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for _, mode := range []os.FileMode{0o664, 0o646} {
		h.Must(os.Chmod(h.Path("syncd.yaml"), mode))
		for _, args := range [][]string{{"config", "check"}, {"sync"}, {"status"}, {"verify"}} {
			h.Contains("stderr", h.Expect(0, args...).Stderr, "warning", "syncd.yaml: can be written by its group or by others; chmod go-w")
		}
	}
	p := h.Daemon()
	h.Contains("log", p.Stderr.String(), `"level":"warn"`, "chmod go-w")
	h.Contains("stderr", h.Expect(0, "healthcheck").Stderr, "warning", "chmod go-w")
	p.Signal(syscall.SIGHUP)
	p.Logged("configuration reloaded")
	e2e.Same(h, "warnings", 2, strings.Count(p.Stderr.String(), "chmod go-w"))
	p.Terminate()
}

// The daemon does not start without them.
func TestConfigCheckReadsKeysAndTrustTexts(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	key := strings.TrimSpace(h.Expect(0, "trust", "keygen", "a", "-o", h.Path("key")).Stdout)
	h.Expect(0, "trust", "init", "--origin", "mirror.example.net", "-o", h.Path("trust"), key)
	h.Settings.Source = "trust_file: trust"
	h.ConfigureWith("sign: {key_file: key, trust_file: trust}")
	h.Expect(0, "config", "check")
	for _, name := range []string{"key", "trust"} {
		h.Must(os.Rename(h.Path(name), h.Path("aside")))
		h.Contains("config check without "+name, h.Expect(2, "config", "check").Stderr, name+"_file", h.Path(name)+" cannot be read")
		h.Must(os.Rename(h.Path("aside"), h.Path(name)))
	}
}
