package alert

import (
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/goccy/go-yaml"

	"syncd/internal/metrics"
)

// Rule is one alert of a rules file.
type Rule struct {
	Name        string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// Parse reads a rules file.
func Parse(file []byte) ([]Rule, error) {
	var content struct {
		Groups []struct{ Rules []Rule }
	}
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil, fmt.Errorf("alert rules: %w", err)
	}
	var rules []Rule
	for _, group := range content.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules, nil
}

// Lasting is how long the expression must hold before the alert fires.
func (r Rule) Lasting() time.Duration {
	text, unit := r.For, time.Duration(1)
	if days, isDays := strings.CutSuffix(text, "d"); isDays { // as Prometheus writes it
		text, unit = days+"h", 24
	}
	lasting, _ := time.ParseDuration(text) // without `for` it is zero
	return lasting * unit
}

// Alert is an alert whose expression holds.
type Alert struct {
	Rule
	Summary, Description string // the rule's annotations for this series
}

// Judge returns the alerts whose expression holds now, one for each series. The error is
// ErrUnjudged for a rule that needs more than one look.
func (r Rule) Judge(samples []metrics.Sample, now time.Time) ([]Alert, error) {
	series, err := Evaluate(r.Expr, samples, now)
	if err != nil {
		return nil, fmt.Errorf("alert %s: %w", r.Name, err)
	}
	alerts := make([]Alert, len(series))
	for i, s := range series {
		alerts[i] = Alert{Rule: r, Summary: s.render(r.Annotations["summary"]), Description: s.render(r.Annotations["description"])}
	}
	return alerts, nil
}

// helpers are the functions of Prometheus that the annotations use.
var helpers = template.FuncMap{
	"humanizeDuration":  func(v float64) string { return (time.Duration(v) * time.Second).String() },
	"humanizeTimestamp": func(v float64) string { return time.Unix(int64(v), 0).UTC().Format(time.RFC3339) },
	"humanize1024":      func(v float64) string { return strings.TrimSuffix(humanize.IBytes(uint64(max(v, 0))), "B") },
}

// render fills a text in. One that is no template stays as it is.
func (s Series) render(text string) string {
	const head = "{{$labels := .Labels}}{{$value := .Value}}"
	t, err := template.New("").Funcs(helpers).Option("missingkey=zero").Parse(head + text)
	var out strings.Builder
	labels := map[string]string{"instance": "this host"}
	for name, value := range s.Labels {
		labels[name] = value
	}
	if err != nil || t.Execute(&out, Series{labels, s.Value}) != nil {
		return text
	}
	return out.String()
}
