package signals

import (
	"strings"
	"testing"
)

func TestIsRunFindsTheCommand(t *testing.T) {
	for line, want := range map[string]bool{
		"run": true, "--config f run": true, "--config=f run": true, "run --config f": true, "run --help": true, "--config run run": true,
		"": false, "sync": false, "sync run": false, "--config run": false, "--config run sync": false, "--config": false,
		"help run": false, "-- run": false, "--config -- run": true, "running": false, "emulator run": false,
	} {
		if got := isRun(strings.Fields(line)); got != want {
			t.Errorf("syncd %s: %v, want %v", line, got, want)
		}
	}
}
