package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"syncd/bench/internal/measure"
)

// monitor is a Prometheus with the shipped rules over all regions.
type monitor struct {
	url     string
	process *measure.Process
}

// startPrometheus scrapes hosts by the name of their region; nil without a Prometheus.
func startPrometheus(ctx context.Context, dir string, every time.Duration, hosts map[string]*node) (*monitor, error) {
	binary, _ := exec.LookPath("prometheus")
	if binary == "" {
		return nil, nil
	}
	rules, err := filepath.Abs(filepath.Join(root(), "deploy", "prometheus", "syncd.fleet.rules.yml"))
	if err != nil {
		return nil, err
	}
	var targets strings.Builder
	for name, n := range hosts {
		fmt.Fprintf(&targets, "      - {targets: [%q], labels: {region: %s}}\n", n.web, name)
	}
	config := fmt.Sprintf("global: {scrape_interval: %[1]s, evaluation_interval: %[1]s}\nrule_files: [%[2]q]\nscrape_configs:\n  - job_name: syncd\n    static_configs:\n%[3]s", every, rules, targets.String())
	path := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p, err := measure.Start(ctx, exec.Command(binary, "--config.file="+path, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+address))
	return &monitor{"http://" + address, p}, err
}

func (m *monitor) end() {
	if m != nil {
		m.process.Kill()
		_, _ = m.process.Wait() // killed
	}
}

// value is the first value of a query, "" for none.
func (m *monitor) value(ctx context.Context, query string) string {
	text, err := get(ctx, m.url+"/api/v1/query?query="+url.QueryEscape(query))
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err != nil || json.Unmarshal(text, &answer) != nil || len(answer.Data.Result) == 0 {
		return ""
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}

// root is the folder of the source, above that of this program's tests.
func root() string {
	for _, dir := range []string{".", "../.."} {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}
