package alert

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/metrics"
)

var samples = []metrics.Sample{
	{Name: "age", Labels: map[string]string{"manifest": "a"}, Value: 100},
	{Name: "age", Labels: map[string]string{"manifest": "b"}, Value: 0},
	{Name: "pinned", Labels: map[string]string{"manifest": "a"}, Value: 1},
	{Name: "bytes", Labels: map[string]string{"manifest": "a"}, Value: 30},
	{Name: "bytes", Labels: map[string]string{"manifest": "b"}, Value: 20},
	{Name: "free", Value: 40},
}

func TestExpressionsGiveTheSeriesOfPrometheus(t *testing.T) {
	for expr, want := range map[string][]string{
		"age":                                  {"a=100", "b=0"},
		"age == 0":                             {"b=0"},
		`age{manifest="a"}`:                    {"a=100"},
		`age{manifest!="a"}`:                   {"b=0"},
		`age{manifest=~"a|c"} >= 100`:          {"a=100"},
		`age{manifest!~"a|c"}`:                 {"b=0"},
		"time() - (age > 0) > 800":             {"a=900"},
		"time() - (age > 0) > 900":             nil,
		"age unless on (manifest) pinned == 1": {"b=0"},
		"age and on (manifest) pinned == 1":    {"a=100"},
		"pinned or age":                        {"a=1", "b=0"},
		"sum by (job) (bytes) > on (job) free": {"=50"},
		"free < on (job, instance) 0.9 * sum by (job) (bytes)":    {"=40"},
		"free < on (job, instance) 0.5 * sum(bytes)":              nil,
		"bytes > on (job) group_left () free - 15":                {"a=30"},
		"2 * 3 + 4 < bytes":                                       {"a=30", "b=20"},
		"nosuch > 1":                                              nil,
		"age > 0 unless on (manifest) pinned == 1 unless on () x": nil,
	} {
		got, err := Evaluate(expr, samples, time.Unix(1000, 0))
		var lines []string
		for _, s := range got {
			lines = append(lines, s.Labels["manifest"]+"="+strconv.FormatFloat(s.Value, 'f', -1, 64))
		}
		slices.Sort(lines)
		if diff := cmp.Diff(want, lines); err != nil || diff != "" {
			t.Errorf("%s: %s, %v", expr, diff, err)
		}
	}
}

func TestExpressionsThatNeedMoreThanOneLookAreNotJudged(t *testing.T) {
	for _, expr := range []string{
		"increase(age[1h]) > 0", "absent(age)", "age[5m]", "rate(age[1m])", "age offset 1h", "1 > 2", "sum without (x) (age)",
		"age{manifest=a}", "age ==", "(age", "age)", "§", `age{manifest=~"("}`, "sum by (", "",
	} {
		if got, err := Evaluate(expr, samples, time.Unix(1000, 0)); !errors.Is(err, ErrUnjudged) {
			t.Errorf("%s: %v, %v", expr, got, err)
		}
	}
}

// A new rule that the doctor cannot judge must be a decision, not an accident.
func TestShippedRulesAreJudgedExceptThoseThatNeedTime(t *testing.T) {
	file, err := os.ReadFile("../../../deploy/prometheus/syncd.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Parse(file)
	if err != nil || len(rules) < 20 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	var unjudged []string
	for _, r := range rules {
		if _, err := r.Judge(nil, time.Now()); errors.Is(err, ErrUnjudged) {
			unjudged = append(unjudged, r.Name)
		} else if err != nil {
			t.Error(err)
		}
	}
	want := []string{"SyncdAbsent", "SyncdRestarting", "SyncdVerifyFailures", "SyncdDiskFull", "SyncdDeliveryGivenUp", "SyncdSourceChanged"}
	if diff := cmp.Diff(want, unjudged); diff != "" {
		t.Error(diff)
	}
}

func TestAnnotationsAreFilledIn(t *testing.T) {
	rule := Rule{Name: "Old", Expr: "age > 0", For: "1d", Annotations: map[string]string{
		"summary": "{{ $labels.manifest }} on {{ $labels.instance }} is {{ $value | humanizeDuration }} old", "description": "{{ broken",
	}}
	alerts, err := rule.Judge(samples, time.Unix(1000, 0))
	if err != nil || len(alerts) != 1 {
		t.Fatal(alerts, err)
	}
	if diff := cmp.Diff([]string{"a on this host is 1m40s old", "{{ broken"}, []string{alerts[0].Summary, alerts[0].Description}); diff != "" {
		t.Error(diff)
	}
	if rule.Lasting() != 24*time.Hour || (Rule{}).Lasting() != 0 || (Rule{For: "15m"}).Lasting() != 15*time.Minute {
		t.Error("the duration is wrong")
	}
}
