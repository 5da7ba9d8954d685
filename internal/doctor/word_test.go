//go:build linux

package doctor

import (
	"os/exec"
	"testing"
	"time"

	"syncd/internal/doctor/alert"
	"syncd/internal/metrics"
)

var hostileNames = map[string]string{ // and what a command must get
	"x; touch PWNED #": "x; touch PWNED #", "$(id)": "$(id)", "a`id`": "a`id`", `it's "so"`: `it's "so"`, "--config=/tmp/x": "config=/tmp/x", "": "",
	"dq_addr_data": "dq_addr_data", "/srv/a b": "/srv/a b", "a\n": "a\n",
}

func TestNamesInCommandsAreOneWordAndNoOption(t *testing.T) {
	for name, want := range hostileNames {
		got, err := exec.Command("/bin/sh", "-c", "printf '<%s>' "+word(name)).Output()
		if err != nil || string(got) != "<"+want+">" {
			t.Errorf("%q: a shell reads %q as %q, %v", name, word(name), got, err)
		}
	}
	if got := word("/var/lib/syncd"); got != "/var/lib/syncd" {
		t.Error(got)
	}
}

// The daemon's user can run another program in its place.
func TestLabelsOfTheDaemonAreOneWordInNextSteps(t *testing.T) {
	rule := alert.Rule{Name: "A", Expr: "x == 1", Annotations: map[string]string{"summary": "s", "description": "run `syncd sync {{ $labels.manifest }}`"}}
	for name := range hostileNames {
		samples := []metrics.Sample{{Name: "x", Labels: map[string]string{"manifest": name}, Value: 1}}
		for _, f := range judge([]alert.Rule{rule}, asWords(samples), time.Now()) {
			if want := "run `syncd sync " + word(name) + "`"; f.Next != want {
				t.Errorf("%q: got %q, want %q", name, f.Next, want)
			}
		}
	}
}
