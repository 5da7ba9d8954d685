package commands_test

import (
	"os"
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
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

// bash evaluates the line at each tab, and has put the common beginning of names there.
func TestCompletionOffersNothingThatAShellRuns(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	var files []emulator.File
	for _, name := range []string{"plain-1.dat", "two words.dat", "$(id)", "`id`", "a;id", "a&id", "a|id", "a>id", "'", "\"", "{a,b}", "!id", "\u202e.dat"} {
		files = append(files, emulator.File{Name: name, Content: emulator.Text("x")})
	}
	h.Provider.SetManifest("m", "2026.10", files...)
	h.Sync(0)
	for command, folder := range map[string]string{"get": "Data/2026.10/", "served": "m/"} {
		offered, _, _ := strings.Cut(h.Expect(0, "__complete", command, "").Stdout, "\n:")
		e2e.Same(h, command, folder+"plain-1.dat\n"+folder+"two words.dat", offered)
	}
}
