package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
)

func TestVersionHelpAndCompletionNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.must(os.Remove(h.path("syncd.yaml")))
	if out := h.expect(0, "version").stdout; !regexp.MustCompile(`^syncd \S+ go1\S* \w+/\w+\n$`).MatchString(out) {
		t.Errorf("version printed %q", out)
	}
	h.expect(0, "--version")
	h.contains("help", h.expect(0, "--help").stdout, "demo", "Exit codes")
	h.contains("help", h.expect(0).stdout, "demo")
	script := h.expect(0, "completion", "bash").stdout
	h.contains("completion", script, "__start_syncd")
	if bash, err := exec.LookPath("bash"); err == nil {
		check := exec.Command(bash, "-n")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("bash -n: %v: %s", err, out)
		}
	}
}

func TestEveryCommandOfTheContractExists(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	help := h.expect(0, "--help").stdout
	for _, name := range []string{
		"run", "sync", "status", "history", "verify", "rollback", "lock", "adopt", "readers", "served", "releases", "manifests", "files", "get",
		"emulator", "demo", "config", "version", "completion", "healthcheck",
	} {
		if !regexp.MustCompile(`(?m)^  ` + name + ` `).MatchString(help) {
			t.Errorf("no command %s", name)
		}
		h.expect(0, name, "--help")
	}
}

func TestDemoRunsThroughAndKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.must(os.Remove(h.path("syncd.yaml")))
	dir := h.path("demo")
	h.must(os.Mkdir(dir, 0o755))
	started := time.Now()
	out := h.expect(0, "demo", "--dir", dir)
	t.Logf("the demo took %s", time.Since(started))
	h.contains("demo", out.stdout, "first sync", "publishes 2026.11", "generation 2 is served", "rollback", "0 damaged", dir)
	same(h, "stderr", "", out.stderr)
	target, err := os.Readlink(filepath.Join(dir, "current"))
	h.must(err)
	h.contains("current", target, "generations/")
	if matches, _ := filepath.Glob(filepath.Join(dir, "current", "dq_addr_data", "*")); len(matches) != 5 {
		t.Errorf("the demo left %v", matches)
	}
}

func TestDemoCreatesATemporaryFolder(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.environ = []string{"TMPDIR=" + h.dir}
	h.expect(0, "demo")
	matches, err := filepath.Glob(h.path("syncd-demo-*", "current"))
	h.must(err)
	same(h, "folders", 1, len(matches))
}

func TestEmulatorServesTheSampleWithFaultsUntilSIGTERM(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := h.start("emulator", "--customer-id", customerID, "--fault", "kind=status,status=503,path=/ManifestReleases/*,times=2")
	h.settings.url = p.announced()
	h.configure()
	h.sync(0)
	res, err := http.Post(h.settings.url+"/-/advance", "", nil)
	h.must(err)
	h.must(res.Body.Close())
	same(h, "advance", 200, res.StatusCode)
	same(h, "release", "2026.11", h.sync(0).Manifests[0].Release)
	p.terminate()
	h.expect(1, "sync")
}

func TestEmulatorServesANewFolderAsANewRelease(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	release := func(name, text string) {
		h.must(os.MkdirAll(h.path("root", "m", name), 0o755))
		h.write(filepath.Join("root", "m", name, "a.txt"), text, 0o644)
	}
	release("2026.10", "one")
	p := h.start("emulator", "--root", h.path("root"))
	h.settings.url = p.announced()
	h.configure()
	h.sync(0)
	release("2026.11", "two")
	same(h, "release", "2026.11", h.sync(0).Manifests[0].Release)
	data, err := os.ReadFile(filepath.Join(h.data, "current", "m", "a.txt"))
	h.must(err)
	same(h, "content", "two", string(data))
	p.terminate()
}

// announced waits for the address in the output of an emulator.
func (p *process) announced() (url string) {
	p.h.Helper()
	p.h.eventually("the emulator's address", func() bool {
		match := regexp.MustCompile(`release service +(\S+)\n`).FindStringSubmatch(p.stdout.String())
		if match != nil {
			url = match[1]
		}
		return match != nil
	})
	return url
}

func TestHealthcheckAsksTheDaemon(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.contains("stderr", h.expect(1, "healthcheck").stderr, "no syncd is running on data_dir "+h.data)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	p := h.daemon()
	p.logged("sync")
	same(h, "healthcheck", "ok\n", h.expect(0, "healthcheck").stdout)
	h.contains("stderr", h.expect(1, "healthcheck", "--ready").stderr, "dq_addr_data has no data yet")
	h.provider.ClearFaults()
	h.sync(0)
	same(h, "healthcheck", "ok\n", h.expect(0, "healthcheck", "--ready").stdout)
	p.terminate()
	h.expect(1, "healthcheck", "--ready")
}

func TestHealthcheckSurvivesABrokenConfiguration(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := h.daemon()
	p.logged("sync")
	config, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	for name, text := range map[string]string{
		"a key that nobody knows": string(config) + "nonsense: 1\n",
		"no YAML":                 string(config) + "manifests: [\n",
	} {
		h.write("syncd.yaml", text, 0o644)
		r := h.expect(0, "healthcheck", "--ready")
		h.contains(name, r.stderr, "warning: "+h.path("syncd.yaml"), "the next start would fail")
		same(h, name, "ok\n", r.stdout)
	}
	p.terminate()
	h.contains("without a daemon", h.expect(2, "healthcheck").stderr, h.path("syncd.yaml"))
}
