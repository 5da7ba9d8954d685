package commands_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestVersionHelpAndCompletionNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Remove(h.Path("syncd.yaml")))
	if out := h.Expect(0, "version").Stdout; !regexp.MustCompile(`^syncd \S+ go1\S* \w+/\w+\n$`).MatchString(out) {
		t.Errorf("version printed %q", out)
	}
	h.Expect(0, "--version")
	h.Contains("help", h.Expect(0, "--help").Stdout, "demo", "Exit codes")
	h.Contains("help", h.Expect(0).Stdout, "demo")
	script := h.Expect(0, "completion", "bash").Stdout
	h.Contains("completion", script, "__start_syncd")
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
	h := e2e.NewHost(t)
	help := h.Expect(0, "--help").Stdout
	for _, name := range []string{
		"run", "sync", "status", "history", "verify", "rollback", "lock", "adopt", "readers", "served", "releases", "manifests", "files", "get",
		"emulator", "demo", "config", "version", "completion", "healthcheck",
	} {
		if !regexp.MustCompile(`(?m)^  ` + name + ` `).MatchString(help) {
			t.Errorf("no command %s", name)
		}
		h.Expect(0, name, "--help")
	}
}

func TestDemoRunsThroughAndKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Remove(h.Path("syncd.yaml")))
	dir := h.Path("demo")
	h.Must(os.Mkdir(dir, 0o755))
	started := time.Now()
	out := h.Expect(0, "demo", "--dir", dir)
	t.Logf("the demo took %s", time.Since(started))
	h.Contains("demo", out.Stdout, "first sync", "publishes 2026.11", "generation 2 is served", "rollback", "0 damaged", dir)
	e2e.Same(h, "stderr", "", out.Stderr)
	target, err := os.Readlink(filepath.Join(dir, "current"))
	h.Must(err)
	h.Contains("current", target, "generations/")
	if matches, _ := filepath.Glob(filepath.Join(dir, "current", "dq_addr_data", "*")); len(matches) != 5 {
		t.Errorf("the demo left %v", matches)
	}
}

func TestDemoCreatesATemporaryFolder(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Environ = []string{"TMPDIR=" + h.Dir}
	h.Expect(0, "demo")
	matches, err := filepath.Glob(h.Path("syncd-demo-*", "current"))
	h.Must(err)
	e2e.Same(h, "folders", 1, len(matches))
}

func TestEmulatorServesTheSampleWithFaultsUntilSIGTERM(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	p := h.Start("emulator", "--customer-id", e2e.CustomerID, "--fault", "kind=status,status=503,path=/ManifestReleases/*,times=2")
	h.Settings.URL = announced(p)
	h.Configure()
	h.Sync(0)
	res, err := http.Post(h.Settings.URL+"/-/advance", "", nil)
	h.Must(err)
	h.Must(res.Body.Close())
	e2e.Same(h, "advance", 200, res.StatusCode)
	e2e.Same(h, "release", "2026.11", h.Sync(0).Manifests[0].Release)
	p.Terminate()
	h.Expect(1, "sync")
}

func TestEmulatorServesANewFolderAsANewRelease(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	release := func(name, text string) {
		h.Must(os.MkdirAll(h.Path("root", "m", name), 0o755))
		h.Write(filepath.Join("root", "m", name, "a.txt"), text, 0o644)
	}
	release("2026.10", "one")
	p := h.Start("emulator", "--root", h.Path("root"))
	h.Settings.URL = announced(p)
	h.Configure()
	h.Sync(0)
	release("2026.11", "two")
	e2e.Same(h, "release", "2026.11", h.Sync(0).Manifests[0].Release)
	data, err := os.ReadFile(filepath.Join(h.Data, "current", "m", "a.txt"))
	h.Must(err)
	e2e.Same(h, "content", "two", string(data))
	p.Terminate()
}

// announced waits for the address in the output of an emulator.
func announced(p *e2e.Process) (url string) {
	p.Host.Helper()
	p.Host.Eventually("the emulator's address", func() bool {
		match := regexp.MustCompile(`release service +(\S+)\n`).FindStringSubmatch(p.Stdout.String())
		if match != nil {
			url = match[1]
		}
		return match != nil
	})
	return url
}

func TestHealthcheckAsksTheDaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Contains("stderr", h.Expect(1, "healthcheck").Stderr, "no syncd is running on data_dir "+h.Data)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404})
	p := h.SyncedDaemon()
	e2e.Same(h, "healthcheck", "ok\n", h.Expect(0, "healthcheck").Stdout)
	h.Contains("stderr", h.Expect(1, "healthcheck", "--ready").Stderr, "dq_addr_data has no data yet")
	h.Provider.ClearFaults()
	h.Sync(0)
	e2e.Same(h, "healthcheck", "ok\n", h.Expect(0, "healthcheck", "--ready").Stdout)
	p.Terminate()
	h.Expect(1, "healthcheck", "--ready")
}

func TestHealthcheckSurvivesABrokenConfiguration(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	p := h.SyncedDaemon()
	config := h.Read("syncd.yaml")
	for name, text := range map[string]string{
		"a key that nobody knows": string(config) + "nonsense: 1\n",
		"no YAML":                 string(config) + "manifests: [\n",
	} {
		h.Write("syncd.yaml", text, 0o644)
		r := h.Expect(0, "healthcheck", "--ready")
		h.Contains(name, r.Stderr, "warning: "+h.Path("syncd.yaml"), "the next start would fail")
		e2e.Same(h, name, "ok\n", r.Stdout)
	}
	p.Terminate()
	h.Contains("without a daemon", h.Expect(2, "healthcheck").Stderr, h.Path("syncd.yaml"))
}
