//go:build linux

package doctor

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/doctor/alert"
	"syncd/internal/metrics"
)

func TestAlertThatWaitsLongIsAHint(t *testing.T) {
	samples := []metrics.Sample{{Name: "x", Labels: map[string]string{"manifest": "a"}, Value: 1}}
	var rules []alert.Rule
	for name, lasting := range map[string]string{"Now": "", "Soon": "15m", "Later": "6h"} {
		rules = append(rules, alert.Rule{Name: name, Expr: "x == 1", For: lasting, Annotations: map[string]string{"summary": "s", "description": "d"}})
	}
	got := map[string]Severity{}
	for _, f := range judge(append(rules, alert.Rule{Name: "Past", Expr: "increase(x[1h]) > 0"}, alert.Rule{Name: "Quiet", Expr: "x == 0"}), samples, time.Now()) {
		got[f.Text] = f.Severity
		if f.Next != "d" {
			t.Errorf("next step: %q", f.Next)
		}
	}
	want := map[string]Severity{"Now would fire: s": Failure, "Soon would fire: s": Failure, "Later would fire if this lasts for 6h: s": Hint}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHardLimits(t *testing.T) {
	for text, want := range map[string]uint64{"64": 64, "1024:4096": 4096, "infinity": 1<<64 - 1, "512:infinity": 1<<64 - 1} {
		if got, ok := hardLimit(text); got != want || !ok {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "many", "5:"} {
		if got, ok := hardLimit(text); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// Every check that another one needs comes before it.
func TestChecksComeAfterTheirCauses(t *testing.T) {
	known := map[string]bool{}
	for _, c := range checks {
		for _, need := range c.needs {
			if !known[need] {
				t.Errorf("%s needs %s, which does not come before it", c.name, need)
			}
		}
		if known[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		known[c.name] = true
	}
}

func TestTheDocumentExplainsEachCheck(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if subjects, rest, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | "); isRow && rest != "" {
			for subject := range strings.SplitSeq(subjects, ", ") {
				explained[subject] = true
			}
		}
	}
	for _, c := range checks {
		if !explained[c.name] {
			t.Errorf("docs/troubleshooting.md does not explain %q", c.name)
		}
	}
}
