// Package systemd_test holds the unit to what systemd's own tools say of it. .ci/systemd
// runs it.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxExposure is in tenths, as systemd-analyze takes it.
const maxExposure = "--threshold=12"

// analyze runs systemd-analyze and returns all it says.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT TESTED: no systemd-analyze: install systemd")
	}
	out, err := exec.Command(path, append(args, "--no-pager")...).CombinedOutput()
	return string(out), err
}

// installed is the unit with a program that is there in the place of syncd's.
func installed(t *testing.T) string {
	t.Helper()
	unit, err := os.ReadFile("syncd.service")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(unit), "/usr/bin/syncd run", program, 1)
	path := filepath.Join(t.TempDir(), "syncd.service")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// It exits with 0 on a word that it does not know: only silence is success.
func TestSystemdFindsNothingWrong(t *testing.T) {
	out, err := analyze(t, "verify", "--man=no", "--recursive-errors=no", installed(t))
	if err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheExposureIsLow(t *testing.T) {
	out, err := analyze(t, "security", "--offline=true", maxExposure, "syncd.service")
	level := regexp.MustCompile(`Overall exposure level .*`).FindString(out)
	if err != nil || level == "" {
		t.Fatalf("%v:\n%s", err, out)
	}
	t.Log(level)
}
