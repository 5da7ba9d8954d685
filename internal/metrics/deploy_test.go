package metrics

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
)

// What is shipped for Prometheus and Grafana.
var (
	rulesFolder   = filepath.Join("..", "..", "deploy", "prometheus")
	rulesFiles    = []string{filepath.Join(rulesFolder, "syncd.rules.yml"), filepath.Join(rulesFolder, "syncd.fleet.rules.yml")}
	fixturesFiles = []string{filepath.Join(rulesFolder, "syncd.rules.test.yml"), filepath.Join(rulesFolder, "syncd.rules.long.test.yml"), filepath.Join(rulesFolder, "syncd.fleet.rules.test.yml")}
	dashboardFile = filepath.Join("..", "..", "deploy", "grafana", "syncd.json")
	fleetBoard    = filepath.Join("..", "..", "deploy", "grafana", "syncd-fleet.json")
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// exported are the names under which reg's metrics can be asked for.
func exported(t *testing.T, reg *prometheus.Registry) map[string]bool {
	t.Helper()
	families, err := reg.Gather()
	must(t, err)
	names := map[string]bool{}
	for _, family := range families {
		names[family.GetName()] = true
		if family.GetType().String() == "HISTOGRAM" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				names[family.GetName()+suffix] = true
			}
		}
	}
	return names
}

// docsLabel is the external label of Prometheus that tells where the runbooks are.
const docsLabel = "syncd_docs"

func TestRulesAndDashboardUseExistingMetrics(t *testing.T) {
	_, reg := used(t)
	names := exported(t, reg)
	metric := regexp.MustCompile(`\bsyncd_[a-z_]+`)
	for _, path := range slices.Concat(rulesFiles, fixturesFiles, []string{dashboardFile, fleetBoard}) {
		found := metric.FindAllString(read(t, path), -1)
		if len(found) == 0 {
			t.Errorf("%s names no metric", path)
		}
		for _, name := range found {
			if !names[name] && name != docsLabel {
				t.Errorf("%s names %s, which syncd does not export", path, name)
			}
		}
	}
}

func TestDashboardShowsEveryMetric(t *testing.T) {
	_, reg := used(t)
	families, err := reg.Gather()
	must(t, err)
	dashboard := read(t, dashboardFile)
	for _, family := range families {
		switch name := family.GetName(); name {
		case "syncd_last_check_timestamp_seconds", "syncd_release_pinned", "syncd_sync_last_progress_timestamp_seconds": // only alerts use them
		default:
			if !strings.Contains(dashboard, name) {
				t.Errorf("%s is on no panel", name)
			}
		}
	}
}

// fixtures are the part of the rules' tests that says when an alert fires.
type fixtures struct {
	Tests []struct {
		Checks []struct {
			Alert  string `yaml:"alertname"`
			Firing []any  `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

// rule is a shipped alert, or a recording rule, which has no name of an alert.
type rule struct {
	Alert               string
	Labels, Annotations map[string]string
}

// alerts are those of one host, and then those over all regions.
func alerts(t *testing.T) (found []rule) {
	t.Helper()
	for _, path := range rulesFiles {
		var rules struct {
			Groups []struct{ Rules []rule }
		}
		must(t, yaml.Unmarshal([]byte(read(t, path)), &rules))
		for _, group := range rules.Groups {
			found = append(found, slices.DeleteFunc(group.Rules, func(r rule) bool { return r.Alert == "" })...)
		}
	}
	return found
}

func TestEveryAlertHasFixturesThatFireAndThatDoNot(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, path := range fixturesFiles {
		var tested fixtures
		must(t, yaml.Unmarshal([]byte(read(t, path)), &tested))
		for _, test := range tested.Tests {
			for _, check := range test.Checks {
				fires[check.Alert] = fires[check.Alert] || len(check.Firing) > 0
				silent[check.Alert] = silent[check.Alert] || len(check.Firing) == 0
			}
		}
	}
	for _, rule := range alerts(t) {
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a fixture where it fires: %v, one where it does not: %v", rule.Alert, fires[rule.Alert], silent[rule.Alert])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s does not say what to do", rule.Alert)
		}
	}
}

// TestEveryAlertHasARunbook compares the chapters of docs/runbooks.md with the alerts, whose
// runbook_url must lead to theirs.
func TestEveryAlertHasARunbook(t *testing.T) {
	chapters := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(read(t, filepath.Join("..", "..", "docs", "runbooks.md")), -1) {
		chapters[heading[1]] = true
	}
	for _, rule := range alerts(t) {
		want := `{{ or $externalLabels.syncd_docs "file:///usr/share/doc/syncd/docs" }}/runbooks.md#` + strings.ToLower(rule.Alert)
		if got := rule.Annotations["runbook_url"]; got != want || !chapters[rule.Alert] {
			t.Errorf("%s: runbook_url %q, want %q; a chapter: %v", rule.Alert, got, want, chapters[rule.Alert])
		}
		delete(chapters, rule.Alert)
	}
	if len(chapters) > 0 {
		t.Errorf("chapters of no alert: %v", chapters)
	}
}

// promtool runs Prometheus' own checker, which must be content, and returns what it printed.
func promtool(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("NOT TESTED: promtool is not installed: it comes with Debian's prometheus")
	}
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	_, reg := used(t)
	if out := promtool(t, scrape(reg), "check", "metrics"); out != "" {
		t.Errorf("promtool check metrics:\n%s", out)
	}
}

func TestPromtoolAcceptsTheRulesAndTheirFixtures(t *testing.T) {
	promtool(t, "", slices.Concat([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rulesFiles)...)
	promtool(t, "", slices.Concat([]string{"test", "rules"}, fixturesFiles)...)
}

// TestPromtoolAcceptsTheConfigurationOfTheDocuments checks what docs/monitoring.md shows,
// with the rules of this folder in place of those of the package.
func TestPromtoolAcceptsTheConfigurationOfTheDocuments(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n((?:rule_files|global):.*?)```").FindAllStringSubmatch(read(t, filepath.Join("..", "..", "docs", "monitoring.md")), -1)
	folder, err := filepath.Abs(rulesFolder)
	must(t, err)
	named := ""
	for _, block := range blocks {
		path := filepath.Join(t.TempDir(), "prometheus.yml")
		config := strings.ReplaceAll(block[1], "/usr/share/syncd/prometheus", folder)
		must(t, os.WriteFile(path, []byte(config), 0o644))
		promtool(t, "", "check", "config", "--lint=all", "--lint-fatal", path)
		named += config
	}
	for _, path := range rulesFiles {
		if !strings.Contains(named, filepath.Join(folder, filepath.Base(path))) {
			t.Errorf("no configuration of docs/monitoring.md names %s", path)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
