package downstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// TestShippedAlertsFireAndResolveInPrometheus runs Prometheus with the shipped rules
// against a daemon whose provider fails and recovers.
func TestShippedAlertsFireAndResolveInPrometheus(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	p := h.SyncedDaemon()
	m := prometheus(h, strings.TrimPrefix(p.Web, "http://"), "--enable-feature=native-histograms") // it scrapes by protobuf then
	h.Eventually("a scrape", func() bool { return m.value(`syncd_manifest_state{state="in_sync"}`) == "1" })
	e2e.Same(h, "syncs in the native histogram", "1", m.value(`histogram_count(syncd_sync_duration_seconds)`))
	m.wantAlert("SyncdFailing", "")
	m.wantAlert("SyncdCoolDown", "")

	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus})
	p.Signal(syscall.SIGUSR1)
	m.wantAlert("SyncdFailing", "firing")
	h.Provider.ClearFaults()
	p.Signal(syscall.SIGUSR1)
	m.wantAlert("SyncdFailing", "")

	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "html"})
	p.Signal(syscall.SIGUSR1)
	m.wantAlert("SyncdRefused", "firing")
	h.Provider.ClearFaults()
	p.Signal(syscall.SIGUSR1)
	m.wantAlert("SyncdRefused", "")

	h.ConfigureWith("schedule: never")
	p.Signal(syscall.SIGHUP)
	m.wantAlert("SyncdReloadFailed", "firing")
	h.ConfigureWith("")
	p.Signal(syscall.SIGHUP)
	m.wantAlert("SyncdReloadFailed", "")

	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, RetryAfter: "3600"})
	p.Signal(syscall.SIGUSR1)
	m.wantAlert("SyncdCoolDown", "firing")
	h.Provider.ClearFaults()
	h.Settings.URL = strings.Replace(h.Settings.URL, "127.0.0.1", "localhost", 1) // another origin, without a cool-down
	h.Configure()
	p.Signal(syscall.SIGHUP)
	m.wantAlert("SyncdCoolDown", "")

	m.wantAlert("SyncdAbsent", "")
	p.Terminate()
	m.wantAlert("SyncdAbsent", "firing")
}

// TestStateSeriesOutliveTheDaemon starts a new process without a provider: it must show
// the values of the last one.
func TestStateSeriesOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	h.Provider.AdvanceSample()
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "html", Path: "/Manifest/*"})
	h.Sync(1)
	before := stateSeries(h)
	h.Contains("series", strings.Join(before, "\n"),
		`syncd_releases_behind{manifest="dq_addr_data"} 1`,
		`syncd_manifest_state{manifest="dq_addr_data",state="refused"} 1`,
		`syncd_newest_release_info{manifest="dq_addr_data",release="`)
	for _, line := range before {
		canBeZero := strings.HasPrefix(line, "syncd_manifest_expires_") || strings.HasPrefix(line, "syncd_probe_") // it neither expires nor has a probe
		if strings.Contains(line, "_timestamp_seconds") && strings.HasSuffix(line, " 0") && !canBeZero {
			t.Errorf("not restored: %s", line)
		}
	}
	h.Must(os.RemoveAll(filepath.Join(h.Data, "state", "syncd.db")))
	h.Contains("series without a state", strings.Join(stateSeries(h), "\n"),
		`syncd_manifest_state{manifest="dq_addr_data",state="in_sync"} 1`,
		`syncd_release_info{manifest="dq_addr_data",release="`)
}

// stateSeries are the series of the manifests' status.
func stateSeries(h *e2e.Host) (lines []string) {
	h.Helper()
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStall})
	defer h.Provider.ClearFaults()
	p := h.Daemon()
	_, text := p.Get("/metrics")
	p.Terminate()
	state := regexp.MustCompile(`^syncd_(last|active|release|newest|manifest)[a-z_]*{`)
	for line := range strings.Lines(text) {
		if state.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// monitor is a running Prometheus.
type monitor struct {
	h       *e2e.Host
	url     string
	process *os.Process
}

// prometheus starts a Prometheus that scrapes target twice per second, with the shipped
// rules and a shorter `for`.
func prometheus(h *e2e.Host, target string, options ...string) *monitor {
	h.Helper()
	return runPrometheus(h, "syncd.rules.yml", fmt.Sprintf(`global: {scrape_interval: 500ms, evaluation_interval: 500ms}
rule_files: [syncd.rules.yml]
scrape_configs:
  - {job_name: syncd, static_configs: [{targets: [%q]}]}
`, target), options...)
}

// runPrometheus starts a Prometheus with a configuration and a file of shipped rules, which
// have a shorter `for`.
func runPrometheus(h *e2e.Host, rules, config string, options ...string) *monitor {
	h.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		h.Skip("NOT TESTED: prometheus is not installed")
	}
	shipped, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "prometheus", rules))
	h.Must(err)
	h.Write(rules, string(regexp.MustCompile(`(?m)^( +for:).*`).ReplaceAll(shipped, []byte("$1 500ms"))), 0o644)
	h.Write("prometheus.yml", config, 0o644)
	address := e2e.FreeAddress(h)
	out := &e2e.Buffer{}
	options = append(options, "--config.file="+h.Path("prometheus.yml"), "--storage.tsdb.path="+h.Path("tsdb"), "--web.listen-address="+address)
	cmd := exec.Command(binary, options...)
	cmd.Stdout, cmd.Stderr = out, out
	h.Must(cmd.Start())
	h.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		h.SecretFree("the log of prometheus", out.String())
		if h.Failed() {
			h.Logf("prometheus wrote:\n%s", out)
		}
	})
	return &monitor{h: h, url: "http://" + address, process: cmd.Process}
}

// measured is a series with its present value.
type measured struct {
	Metric map[string]string
	Value  [2]any // time and number
}

// ask returns the series of a query; none while Prometheus is not ready.
func (m *monitor) ask(query string) (series []measured) {
	m.h.Helper()
	m.fetch("query", url.Values{"query": {query}}, &struct{ Result any }{&series})
	return series
}

// fetch reads an answer of the API into data, which stays as it is while Prometheus is not
// ready. A query that Prometheus refuses fails the test.
func (m *monitor) fetch(path string, parameters url.Values, data any) {
	m.h.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	res, err := client.Get(m.url + "/api/v1/" + path + "?" + parameters.Encode())
	if err != nil {
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	m.h.Must(err)
	switch res.StatusCode {
	case http.StatusOK:
		m.h.Must(json.Unmarshal(text, &struct{ Data any }{data}))
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		m.h.Fatalf("prometheus refuses %s: %s", parameters, text)
	}
}

// value is the value of the first series of a query, "" for none.
func (m *monitor) value(query string) string {
	for _, s := range m.ask(query) {
		return s.Value[1].(string)
	}
	return ""
}

// wantAlert waits until an alert has a state; "" means no alert.
func (m *monitor) wantAlert(name, state string) {
	m.h.Helper()
	m.h.Eventually(fmt.Sprintf("alert %s in state %q", name, state), func() bool {
		var now string
		for _, s := range m.ask(fmt.Sprintf("ALERTS{alertname=%q}", name)) {
			now = s.Metric["alertstate"]
		}
		return now == state
	})
}
