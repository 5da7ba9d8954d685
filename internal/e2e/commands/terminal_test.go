package commands_test

import (
	"os"
	"os/exec"
	"path/filepath"
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

// fish gives the script the words of the line without quotes, and the script evaluates them.
func TestCompletionOfFishRunsNoNameOfAFile(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("SKIPPED: fish is not installed; .ci/parts does it")
	}
	for _, script := range []string{h.Expect(0, "completion", "fish").Stdout, h.Expect(0, "completion", "fish", "--no-descriptions").Stdout} {
		h.Contains("the script", script, "set -l args (string escape -- (commandline -opc) |")
		for _, name := range []string{`x\;touch\ ran`, `x\(touch\ ran\)`, `'x -;touch ran;='`, `~/x\;touch\ ran`} {
			cmd := exec.Command(fish, "--no-config", "-c", script+"\ncomplete -C "+"\"syncd adopt $argv[1] \"", name)
			cmd.Dir = t.TempDir()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", name, err, out)
			}
			if _, err := os.Lstat(filepath.Join(cmd.Dir, "ran")); err == nil {
				t.Errorf("the completion after %s ran what the name holds", name)
			}
		}
	}
}
