package states_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/host/command"
)

// TestMain runs the tests without the race detector: it would make the thousands of starts of
// the program in this process take minutes, and other tests run all of this code under it.
func TestMain(m *testing.M) {
	if command.IsSupervisor() { // of a gate
		os.Exit(command.Supervise())
	}
	if !isRaced {
		e2e.Main(m)
		return
	}
	os.Exit(plainly())
}

// plainly builds the tests without the race detector, with the tag of the end-to-end tests,
// which has these packages compiled already, and runs them.
func plainly() int {
	dir, err := os.MkdirTemp("", "syncd-states-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "states.test")
	if out, err := exec.Command("go", "test", "-c", "-tags", "torture", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go test -c: %v\n%s", err, out)
		return 1
	}
	run := exec.Command(binary, os.Args[1:]...)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return 1
	}
	return 0
}
