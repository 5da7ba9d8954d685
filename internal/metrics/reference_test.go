package metrics

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

const referenceFile = "../../docs/metrics.md"

const referenceHead = `# Metrics and alerts

<!-- Generated: SYNCD_UPDATE_DOCS=1 go test ./internal/metrics -run TestSeriesReference -->

- [The metrics](#metrics) of syncd at ` + "`/metrics`" + `. The answer also has those of the Go runtime and of the process (` + "`go_*`, `process_*`" + `).
- [The alerts](#alerts) of [deploy/prometheus/syncd.rules.yml](../deploy/prometheus/syncd.rules.yml) and, [over all regions](monitoring.md#one-fleet-in-many-regions), of [syncd.fleet.rules.yml](../deploy/prometheus/syncd.fleet.rules.yml), and what to do when one fires.

[monitoring.md](monitoring.md) says how to collect them, [events.md](events.md) how to be told of events.

## Metrics

Series with the label ` + "`manifest`, `view` or `hook`" + ` exist from the start for everything that is configured. ` + "`syncd_publish_target_*`" + ` exist while ` + "`publish.s3`" + ` is a list, ` + "`syncd_source_*`" + ` while ` + "`source`" + ` is one, ` + "`syncd_serve_*`" + ` exist while ` + "`serve`" + ` is configured, and ` + "`syncd_fleet_hosts`" + ` once a follower has asked.

| metric | type | labels | meaning |
|---|---|---|---|
`

const alertsHead = `
## Alerts

| alert | severity | summary | what it means, and what to do |
|---|---|---|---|
`

// TestSeriesReferenceIsCurrent compares docs/metrics.md with the registered series and the
// shipped alerts. With SYNCD_UPDATE_DOCS=1 it writes the document.
func TestSeriesReferenceIsCurrent(t *testing.T) {
	_, reg := used(t)
	families, err := reg.Gather()
	must(t, err)
	text := referenceHead
	for _, family := range families {
		text += row(family)
	}
	text += alertsHead
	for _, r := range alerts(t) {
		text += r.row()
	}
	if os.Getenv("SYNCD_UPDATE_DOCS") != "" {
		must(t, os.WriteFile(referenceFile, []byte(text), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(read(t, referenceFile), "\n")); diff != "" {
		t.Errorf("docs/metrics.md is not current: see its first comment\n%s", diff)
	}
}

func row(family *dto.MetricFamily) string {
	var labels []string
	for _, label := range family.GetMetric()[0].GetLabel() {
		labels = append(labels, "`"+label.GetName()+"`")
	}
	kind := strings.ToLower(family.GetType().String())
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", family.GetName(), kind, strings.Join(labels, ", "), family.GetHelp())
}

var (
	bytesText = regexp.MustCompile(`{{ \$value \| humanize1024 }}B`)
	valueText = regexp.MustCompile(`{{ \$value[^}]*}}`)
	branch    = regexp.MustCompile(`{{ with .*{{ end }}`)
	labelText = regexp.MustCompile(`{{ \$labels\.(\w+) }}`)
)

// row shows an alert with a placeholder for each label.
func (r rule) row() string {
	summary := branch.ReplaceAllString(r.Annotations["summary"], "")
	summary = valueText.ReplaceAllString(bytesText.ReplaceAllString(summary, "N bytes"), "N")
	plain := func(text string) string {
		return labelText.ReplaceAllStringFunc(text, func(label string) string {
			return strings.ToUpper(labelText.FindStringSubmatch(label)[1])
		})
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", r.Alert, r.Labels["severity"], plain(summary), plain(r.Annotations["description"]))
}
