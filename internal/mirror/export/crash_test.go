package export

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"syncd/internal/disk/durable"
)

// buildTorture builds this test with the tag of internal/disk/fsops that kills the process, or
// fails, at any change on disk.
var buildTorture = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "syncd-export-")
	if err != nil {
		return "", err
	}
	buildDir = dir // TestMain removes it
	binary := filepath.Join(dir, "torture")
	if out, err := exec.Command("go", "test", "-c", "-tags", "torture", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return binary, nil
})

var buildDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// childVariable tells the child process of a test where its bench is: top, release, and
// "take-over" or nothing.
const childVariable = "SYNCD_TEST_EXPORT"

// TestFollowInAnotherProcess is the child process of the crash tests.
func TestFollowInAnotherProcess(t *testing.T) {
	spec := os.Getenv(childVariable)
	if spec == "" {
		return
	}
	parts := strings.Split(spec, "|")
	b := benchAt(t, parts[0])
	b.release(parts[1])
	if _, err := Follow(t.Context(), &durable.Disk{}, b.target, b.source, Options{TakeOver: parts[2] != ""}); err != nil {
		t.Fatal(err)
	}
}

// child makes the folder follow a release in another process. It returns the steps.
func (b *bench) child(release, option, fault string) (steps int, out string, err error) {
	b.Helper()
	binary, err := buildTorture()
	b.must(err)
	trace := filepath.Join(b.top, "steps")
	b.must(os.RemoveAll(trace))
	cmd := exec.Command(binary, "-test.run=^TestFollowInAnotherProcess$")
	cmd.Env = append(os.Environ(), childVariable+"="+b.top+"|"+release+"|"+option, "SYNCD_STEPS="+trace)
	if fault != "" {
		cmd.Env = append(cmd.Env, "SYNCD_STEP="+fault)
	}
	text, err := cmd.CombinedOutput()
	lines, _ := os.ReadFile(trace)
	return strings.Count(string(lines), "\n"), string(text), err
}

// faults of a step, as internal/disk/fsops names them.
var faults = []string{"kill-before", "kill-after", "fail-lost:5", "fail-stored:5", "fail-lost:28"}

func TestFolderIsWholeAfterAFaultAtAnyStep(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("NOT TESTED: no Go toolchain: %v", err)
	}
	for name, row := range map[string]struct {
		prepare func(b *bench) (old map[string]string)
		release string
		option  string
	}{
		"first":            {missing, "2", ""},
		"first, copies":    {onAnotherDisk(missing), "2", ""},
		"update":           {exported, "2", ""},
		"update, copies":   {onAnotherDisk(exported), "2", ""},
		"layout":           {exported, anotherLayout, ""},
		"layout, copies":   {onAnotherDisk(exported), anotherLayout, ""},
		"foreign":          {foreign, "2", "take-over"},
		"foreign, copies":  {onAnotherDisk(foreign), "2", "take-over"},
		"changed":          {changedByHand, "2", "take-over"},
		"changed, copies":  {onAnotherDisk(changedByHand), "2", "take-over"},
		"layout take-over": {changedByHand, anotherLayout, "take-over"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			row.prepare(b)
			steps, out, err := b.child(row.release, row.option, "")
			if err != nil || steps < 20 {
				t.Fatalf("%d steps, %v\n%s", steps, err, out)
			}
			done := 0
			t.Cleanup(func() { reliability(t, name, steps, done) })
			every := 31 // has no common divisor with the number of faults
			if os.Getenv("SYNCD_TORTURE") == "full" {
				every = 1
			}
			for at := rand.IntN(every); at < steps*len(faults); at += every {
				fault := strconv.Itoa(at/len(faults)+1) + ":" + faults[at%len(faults)]
				t.Run(fault, func(t *testing.T) {
					done++
					b := newBench(t)
					old := row.prepare(b)
					b.suffer(old, row.release, row.option, fault)
				})
			}
		})
	}
}

// reliability logs a figure for RELIABILITY.md.
func reliability(t *testing.T, name string, steps, times int) {
	lost := "0"
	if t.Failed() {
		lost = "something, see above"
	}
	t.Logf("RELIABILITY steps of an export, %s: an export of %d steps on disk killed before or after one of them, or failing there: %d times, lost %s", name, steps, times, lost)
}

// suffer exports a release with a fault, and again without.
func (b *bench) suffer(old map[string]string, release, option, fault string) {
	b.Helper()
	_, out, err := b.child(release, option, fault)
	if ended, ok := errors.AsType[*exec.ExitError](err); strings.Contains(fault, "kill") && (!ok || ended.ExitCode() != -1) {
		b.Errorf("it was not killed: %v\n%s", err, out)
	}
	b.isWhole(old, b.filesOf(release))
	_, out, err = b.child(release, option, "")
	if err != nil {
		b.Fatalf("the next export: %v\n%s", err, out)
	}
	b.release(release)
	b.source.Generation = 1
	b.shows()
	if option != "" {
		b.holds(b.target.Path+keptSuffix, old)
	} else if _, err := os.Lstat(b.target.Path + keptSuffix); err == nil {
		b.Error("a folder was kept although none was taken over")
	}
	b.target.KeepFor = 0
	if _, err := b.follow(Options{Thorough: true}); err != nil {
		b.Error(err)
	}
	if names := listing(b.T, b.work()); len(names) != 4 {
		b.Errorf("left behind: %q", names)
	}
}

// isWhole requires that the folder is the old one or the new one.
func (b *bench) isWhole(before, after map[string]string) {
	b.Helper()
	if _, err := os.Lstat(b.target.Path); err != nil && before == nil {
		return
	}
	if found := b.contents(b.target.Path); !maps.Equal(found, before) && !maps.Equal(found, after) {
		b.Errorf("the folder is neither the old nor the new one: %v", found)
	}
}

func missing(*bench) map[string]string { return nil }

// onAnotherDisk prepares the folder on a file system of its own.
func onAnotherDisk(prepare func(*bench) map[string]string) func(*bench) map[string]string {
	return func(b *bench) map[string]string {
		b.mount("size=4m")
		return prepare(b)
	}
}

func exported(b *bench) map[string]string {
	b.exports(Options{})
	return b.files
}

func foreign(b *bench) map[string]string {
	b.must(os.MkdirAll(b.target.Path, 0o755), os.WriteFile(filepath.Join(b.target.Path, "notes"), []byte("mine"), 0o644))
	return map[string]string{"notes": "mine"}
}

func changedByHand(b *bench) map[string]string {
	b.exports(Options{})
	b.must(os.WriteFile(filepath.Join(b.target.Path, "notes"), []byte("mine"), 0o644))
	b.files["notes"] = "mine"
	return b.files
}
