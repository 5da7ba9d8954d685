package commands_test

import (
	"os"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

func TestATerminalGetsColoursAndNoJSONLines(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	screen, _ := e2e.OnTerminal(h, "status")
	h.Contains("colours", screen, "\x1b[1mMANIFEST\x1b[0m", "\x1b[32min_sync\x1b[0m", " UTC")
	h.Must(os.WriteFile(h.Path("data/state/syncd.db"), []byte("no database"), 0o600))
	screen, _ = e2e.OnTerminal(h, "sync")
	h.Contains("a log line", screen, "syncd: warning:", "state/syncd.db")
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(strings.TrimSpace(line), "{") {
			t.Errorf("a line of JSON: %q", line)
		}
	}
	h.Environ = append(h.Environ, "NO_COLOR=1")
	if screen, _ = e2e.OnTerminal(h, "status"); strings.Contains(screen, "\x1b") {
		t.Errorf("colours in spite of NO_COLOR: %q", screen)
	}
}
