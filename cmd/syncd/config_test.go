package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestConfigCheckOfAGoodFileExits0(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.contains("config check", h.expect(0, "config", "check").stdout, "syncd.yaml: ok, 1 manifest\n")
	same(h, "requests", 0, len(h.provider.Requests()))
	if _, err := os.Stat(h.data); err == nil {
		t.Error("the check created the data directory")
	}
}

func TestConfigErrorsNamePositionAndKeyButNoSecret(t *testing.T) {
	t.Parallel()
	const source = "source:\n  url: https://releases.example.net\n  customer_id_file: id\n"
	const manifests = "manifests:\n  - name: m\n"
	for name, test := range map[string]struct{ text, place, key string }{
		"unknown key":          {source + manifests + "retian: 3\n", "6:1", "retian"},
		"misspelled id":        {"source:\n  url: https://x.example\n  custmer_id: " + customerID + "\n" + manifests, "3:3", "source"},
		"id as a list":         {"source:\n  url: https://x.example\n  customer_id: [\"" + customerID + "\"]\n" + manifests, "3:16", "source.customer_id"},
		"id in the wrong key":  {source + "schedule: " + customerID + "\n" + manifests, "4:11", "schedule"},
		"id as a manifest":     {source + "manifests:\n  - name: \"" + customerID + "\"\n", "5:11", "manifests[0].name"},
		"id as the url":        {"source:\n  url: \"" + customerID + "\"\n  customer_id_file: id\n" + manifests, "2:8", "source.url"},
		"id after bad syntax":  {"source: {customer_id: \"" + customerID + "\n" + manifests, "1:", ""},
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
		"two ways for the id":  {source + "  customer_id: " + customerID + "\n" + manifests, "3:", "source.customer_id"},
		"unknown hash":         {source + "  hash: CRC32\n" + manifests, "4:9", "source.hash"},
		"unknown manifest key": {source + "manifests:\n  - name: m\n    fliter: x\n", "6:5", "manifests[0].fliter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("syncd.yaml", test.text, 0o600)
			r := h.expect(2, "config", "check")
			h.contains("stderr", r.stderr, h.path("syncd.yaml")+":"+test.place, test.key)
			if !regexp.MustCompile(`; \w`).MatchString(r.stderr) {
				t.Errorf("no suggestion: %s", r.stderr)
			}
			for _, args := range [][]string{{"run"}, {"sync"}, {"status"}, {"verify"}} {
				h.expect(2, args...)
			}
		})
	}
}

func TestConfigCheckReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.more = "retain: -1\njitter: soon"
	h.configure()
	h.contains("stderr", h.expect(2, "config", "check").stderr, "retain", "jitter")
}

func TestMissingConfigurationNamesTheWaysToProvideIt(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.must(os.Remove(h.path("syncd.yaml")))
	h.contains("stderr", h.expect(2, "sync").stderr, "syncd.yaml", "--config")
	cmd := h.command()
	cmd.Args = []string{cmd.Args[0], "config", "check"} // without --config
	cmd.Env = append(cmd.Env, "SYNCD_CONFIG="+h.path("absent.yaml"))
	out, _ := cmd.CombinedOutput()
	h.contains("output", string(out), "absent.yaml")
}

func TestCustomerIDComesFromExactlyOneOfFourPlaces(t *testing.T) {
	t.Parallel()
	quoted := fmt.Sprintf("customer_id: %q", customerID)
	for name, test := range map[string]struct {
		setting string
		environ []string // %s is the host's folder
		code    int
	}{
		"inline":      {quoted, nil, 0},
		"file":        {"customer_id_file: id", nil, 0},
		"environment": {"hash: SHA256", []string{"SYNCD_CUSTOMER_ID=" + customerID}, 0},
		"credential":  {"hash: SHA256", []string{"CREDENTIALS_DIRECTORY=%s/credentials"}, 0},
		"none":        {"hash: SHA256", nil, 2},
		"two":         {"customer_id_file: id", []string{"SYNCD_CUSTOMER_ID=" + customerID}, 2},
		"no file":     {"customer_id_file: absent", nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.must(os.Mkdir(h.path("credentials"), 0o755))
			h.write("credentials/customer_id", "  "+customerID+"\r\n", 0o600)
			h.settings.id = test.setting
			for _, e := range test.environ {
				h.environ = append(h.environ, strings.ReplaceAll(e, "%s", h.dir))
			}
			h.configure()
			h.expect(test.code, "config", "check")
			h.expect(test.code, "releases", "dq_addr_data")
		})
	}
}

func TestTheLicenceOfTheUpdaterIsTheCustomerIDWhenNoOtherIsSet(t *testing.T) {
	t.Parallel()
	const note = "the Customer ID comes from $MD_LICENSE, because nothing else sets one"
	h := newHost(t)
	h.environ = append(h.environ, "MD_LICENSE="+customerID)
	same(h, "stderr beside a file", "", h.expect(0, "config", "check").stderr)
	h.settings.id = "hash: SHA256"
	h.configure()
	same(h, "stderr", "syncd: note: "+note+"\n", h.expect(0, "config", "check").stderr)
	h.contains("stderr", h.expect(0, "sync").stderr, note)
	p := h.daemon()
	same(h, "level", "info", p.logged(note)["level"])
	p.terminate()
	h.checkSecret()
}

func TestReadableConfigurationWithTheIDIsWarnedAbout(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.id = fmt.Sprintf("customer_id: %q", customerID)
	h.configure() // 0644
	for _, args := range [][]string{{"config", "check"}, {"sync"}, {"status"}} {
		h.contains("stderr", h.expect(0, args...).stderr, "warning", "source.customer_id", "chmod 600")
	}
	p := h.daemon()
	h.contains("log", p.stderr.String(), `"level":"warn"`, "chmod 600")
	p.terminate()

	h.must(os.Chmod(h.path("syncd.yaml"), 0o600))
	same(h, "stderr", "", h.expect(0, "config", "check").stderr)
	h.settings.id = "customer_id_file: id"
	h.configure()
	same(h, "stderr", "", h.expect(0, "config", "check").stderr)
}

func TestMissingCAFileFailsConfigCheck(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.source = "ca_file: absent.pem"
	h.configure()
	h.contains("stderr", h.expect(2, "config", "check").stderr, "syncd.yaml: source: ca_file ", "no such file", ": name a PEM file")
	h.settings.source = ""
	h.settings.more = "services: {list: {url: 'https://list.example.net', ca_file: absent.pem}, property: {url: 'https://property.example.net'}}"
	h.configure()
	h.contains("stderr", h.expect(2, "config", "check").stderr, "services.list: ca_file ", "no such file")
	h.settings.more = "services: {autocomplete: {jsonp_url: 'https://autocomplete.example.net/jsonp'}}"
	h.configure()
	h.expect(0, "config", "check")
}

func TestBadMapFilesFailConfigCheck(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.settings.more = "views: [{name: refdata, layout: map, map_files: {dq_addr_data: a.map}}]"
	h.configure()
	h.contains("stderr", h.expect(2, "config", "check").stderr, "views[0].map_files", "no such file")
	h.write("a.map", "mdAddr.dat|DATA|ANY|ANY|ANY|/etc/passwd\n", 0o600)
	h.contains("stderr", h.expect(2, "config", "check").stderr, "views[0].map_files", "line 1", "mdAddr.dat", "is absolute")
	h.write("a.map", "mdAddr.dat|DATA|ANY|ANY|ANY|addr/mdAddr.dat\n", 0o600)
	h.expect(0, "config", "check")
}

func TestFIFOsAndFoldersAreRefusedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(h *host, path string){
		"fifo":   func(h *host, path string) { h.must(syscall.Mkfifo(path, 0o600)) },
		"folder": func(h *host, path string) { h.must(os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			p := h.daemon()
			make(h, h.path("special"))

			h.settings.id = "customer_id_file: special"
			h.configure()
			h.contains("stderr", h.expect(2, "config", "check").stderr, "source.customer_id_file", "not a regular file")
			h.settings.id, h.settings.source = "customer_id_file: id", "ca_file: special"
			h.configure()
			h.contains("stderr", h.expect(2, "config", "check").stderr, "source: ca_file", "not a regular file")
			h.expect(1, "releases", "dq_addr_data")
			h.settings.source = ""
			h.configure()
			text, err := os.ReadFile(h.path("syncd.yaml"))
			h.must(err)
			h.write("syncd.yaml", strings.Replace(string(text), "127.0.0.1:0}", "127.0.0.1:0, web_config: special}", 1), 0o600)
			h.contains("stderr", h.expect(2, "config", "check").stderr, "http.web_config", "not a regular file")

			h.must(os.Remove(h.path("syncd.yaml")))
			make(h, h.path("syncd.yaml"))
			for _, args := range [][]string{{"config", "check"}, {"sync"}, {"status"}, {"run"}} {
				h.contains("stderr", h.expect(2, args...).stderr, "syncd.yaml: cannot be read: not a regular file")
			}
			p.signal(syscall.SIGHUP)
			p.logged("configuration not reloaded: the old one stays in force")
			p.terminate()
		})
	}
}

func TestConfigurationThatOthersCanWriteIsWarnedAbout(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, mode := range []os.FileMode{0o664, 0o646} {
		h.must(os.Chmod(h.path("syncd.yaml"), mode))
		for _, args := range [][]string{{"config", "check"}, {"sync"}, {"status"}, {"verify"}} {
			h.contains("stderr", h.expect(0, args...).stderr, "warning", "syncd.yaml: can be written by its group or by others; chmod go-w")
		}
	}
	p := h.daemon()
	h.contains("log", p.stderr.String(), `"level":"warn"`, "chmod go-w")
	h.contains("stderr", h.expect(0, "healthcheck").stderr, "warning", "chmod go-w")
	p.signal(syscall.SIGHUP)
	p.logged("configuration reloaded")
	same(h, "warnings", 2, strings.Count(p.stderr.String(), "chmod go-w"))
	p.terminate()
}
