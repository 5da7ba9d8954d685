// Package systemd_test checks the unit with systemd's own tools. The script .ci/systemd
// runs the unit itself.
package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxExposure is the highest allowed exposure, in tenths.
const maxExposure = "--threshold=13"

// analyze runs systemd-analyze and returns its output.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT TESTED: no systemd-analyze: install systemd")
	}
	out, err := exec.Command(path, append(args, "--no-pager")...).CombinedOutput()
	return string(out), err
}

// installed returns the path of the unit with an existing program in place of syncd.
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

// systemd-analyze exits with 0 on an unknown word, so its output must be empty too.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	out, err := analyze(t, "verify", "--man=no", "--recursive-errors=no", installed(t))
	if err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestSystemdAcceptsTheUnitsThatReloadAConsumer(t *testing.T) {
	out, err := analyze(t, "verify", "--man=no", "--recursive-errors=no", "syncd-reload@.service", "syncd-reload@.path")
	if err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestExposureIsLow(t *testing.T) {
	out, err := analyze(t, "security", "--offline=true", maxExposure, "syncd.service")
	level := regexp.MustCompile(`Overall exposure level .*`).FindString(out)
	if err != nil || level == "" {
		t.Fatalf("%v:\n%s", err, out)
	}
	t.Log(level)
}

func TestSystemdAcceptsEveryDropIn(t *testing.T) {
	dropIns, err := filepath.Glob(filepath.Join("syncd.service.d", "*.conf"))
	if err != nil || len(dropIns) == 0 {
		t.Fatalf("%q, %v", dropIns, err)
	}
	for _, dropIn := range dropIns {
		t.Run(filepath.Base(dropIn), func(t *testing.T) {
			unit := installed(t)
			text, err := os.ReadFile(dropIn)
			if err == nil {
				err = os.Mkdir(unit+".d", 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(unit+".d", filepath.Base(dropIn)), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if out, err := analyze(t, "verify", "--man=no", "--recursive-errors=no", unit); err != nil || out != "" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
