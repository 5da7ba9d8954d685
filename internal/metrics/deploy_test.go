package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
)

// What is shipped for Prometheus and Grafana.
var (
	rulesFile     = filepath.Join("..", "..", "deploy", "prometheus", "syncd.rules.yml")
	fixturesFile  = filepath.Join("..", "..", "deploy", "prometheus", "syncd.rules.test.yml")
	longFixtures  = filepath.Join("..", "..", "deploy", "prometheus", "syncd.rules.long.test.yml")
	dashboardFile = filepath.Join("..", "..", "deploy", "grafana", "syncd.json")
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// exported are the names under which reg's metrics can be asked for.
func exported(t *testing.T, reg *prometheus.Registry) map[string]bool {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
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

func TestRulesAndDashboardUseExistingMetrics(t *testing.T) {
	_, reg := used(t)
	names := exported(t, reg)
	metric := regexp.MustCompile(`\bsyncd_[a-z_]+`)
	for _, path := range []string{rulesFile, fixturesFile, longFixtures, dashboardFile} {
		found := metric.FindAllString(read(t, path), -1)
		if len(found) == 0 {
			t.Errorf("%s names no metric", path)
		}
		for _, name := range found {
			if !names[name] {
				t.Errorf("%s names %s, which syncd does not export", path, name)
			}
		}
	}
}

func TestDashboardShowsEveryMetric(t *testing.T) {
	_, reg := used(t)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	dashboard := read(t, dashboardFile)
	for _, family := range families {
		switch name := family.GetName(); name {
		case "syncd_last_check_timestamp_seconds", "syncd_release_pinned", "syncd_sync_last_progress_timestamp_seconds", "syncd_orphaned_manifests",
			"syncd_staged_since_timestamp_seconds", "syncd_quarantined_since_timestamp_seconds", "syncd_held_until_timestamp_seconds", "syncd_hook_oldest_pending_timestamp_seconds": // only alerts use them
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

func TestEveryAlertHasFixturesThatFireAndThatDoNot(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, rulesFile)), &rules); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, path := range []string{fixturesFile, longFixtures} {
		var tested fixtures
		if err := yaml.Unmarshal([]byte(read(t, path)), &tested); err != nil {
			t.Fatal(err)
		}
		for _, test := range tested.Tests {
			for _, check := range test.Checks {
				fires[check.Alert] = fires[check.Alert] || len(check.Firing) > 0
				silent[check.Alert] = silent[check.Alert] || len(check.Firing) == 0
			}
		}
	}
	if len(rules.Groups) != 1 { // another would go untested here
		t.Fatalf("%d groups of rules", len(rules.Groups))
	}
	for _, rule := range rules.Groups[0].Rules {
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a fixture where it fires: %v, one where it does not: %v", rule.Alert, fires[rule.Alert], silent[rule.Alert])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s does not say what to do", rule.Alert)
		}
	}
}

// board is the part of a dashboard that is asked of Prometheus.
type board struct {
	Panels []struct {
		ID      int
		Title   string
		Targets []struct{ Expr string }
	}
}

func TestDashboardPanelsAreValid(t *testing.T) {
	seen := map[int]string{}
	for _, panel := range dashboard(t).Panels {
		if other, taken := seen[panel.ID]; taken || panel.Title == "" {
			t.Errorf("panel %d is %q and %q", panel.ID, other, panel.Title)
		}
		seen[panel.ID] = panel.Title
	}
}

func dashboard(t *testing.T) (b board) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &b); err != nil {
		t.Fatal(err)
	}
	return b
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
	promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", rulesFile)
	promtool(t, "", "test", "rules", fixturesFile, longFixtures)
}

// Prometheus reads the queries of the dashboard as rules; Grafana's own variables
// are filled in.
func TestDashboardQueriesParse(t *testing.T) {
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, panel := range dashboard(t).Panels {
		for _, target := range panel.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			rules = append(rules, rule{Record: fmt.Sprintf("q%d", len(rules)), Expr: expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", path)
}
