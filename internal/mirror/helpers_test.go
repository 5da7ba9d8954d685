package mirror

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"syncd/internal/disk/durable"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tb is what tests and rapid's checks have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// files is the content of a revision by path.
type files map[string]string

// newMirror is a recovered mirror in an empty folder.
func newMirror(t testing.TB) *Mirror {
	t.Helper()
	return recovered(t, filepath.Join(t.TempDir(), "data"))
}

// recovered opens a data directory as a starting syncd does.
func recovered(t tb, dir string) *Mirror {
	t.Helper()
	m, err := Open(dir, &durable.Disk{})
	if _, ok := errors.AsType[*BrokenError](err); err != nil && !ok {
		t.Fatalf("open: %v", err)
	}
	if err := m.Recover(); err != nil {
		t.Fatalf("recover: %v", err)
	}
	return m
}

func (m *Mirror) path(elem ...string) string {
	return filepath.Join(append([]string{m.dir}, elem...)...)
}

func (m *Mirror) revisionPath(r Record) string { return m.path(r.Dir()) }

func (m *Mirror) objectPath(id manifest.ObjectID) string { return m.path(objectName(id)) }

func sumOf(text string) manifest.ObjectID { return sha256.Sum256([]byte(text)) }

// adopt makes an object of a text, as a finished download does.
func adopt(t tb, m *Mirror, text string) manifest.Object {
	t.Helper()
	object := manifest.Object{ID: sumOf(text), Size: int64(len(text))}
	name := "sha256-" + object.ID.String()
	path := m.path("partial", name)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o444)); err != nil {
		t.Fatalf("%v", err)
	}
	if err := m.Objects.Adopt(verify.Proven{Name: name, Object: object}); err != nil {
		t.Fatalf("adopt: %v", err)
	}
	return object
}

// recordOf adopts the files of a revision and describes it.
func recordOf(t tb, m *Mirror, name string, release manifest.Release, content files) Record {
	t.Helper()
	r := Record{Manifest: name, Source: "https://releases.example.net", Release: release, Listed: len(content), Version: "test"}
	var sums []manifest.Sum
	for _, path := range slices.Sorted(maps.Keys(content)) {
		object := adopt(t, m, content[path])
		sums = append(sums, manifest.Sum{Object: object.ID, Path: path})
		r.Bytes += object.Size
		r.Files = append(r.Files, File{
			Path: path, Reference: manifest.Parts{Class: manifest.Data, Release: release, Name: "x"}.Reference(), Size: object.Size,
			Object: object.ID, Expected: object.ID.Digest(),
		})
	}
	r.Revision = manifest.RevisionID(sums)
	return r
}

// mustPublish publishes records and checks what readers see then.
func mustPublish(t tb, m *Mirror, set ...Record) Generation {
	t.Helper()
	return mustChange(t, m, Change{Set: set})
}

func mustChange(t tb, m *Mirror, change Change) Generation {
	t.Helper()
	g, err := m.Publish(context.Background(), change)
	if err != nil {
		t.Fatalf("publish: %v", err)
	}
	checkWhole(t, m)
	return g
}

// checkWhole requires that `current`, on disk and in memory, is the highest
// generation and that it and every other one are complete.
func checkWhole(t tb, m *Mirror) {
	t.Helper()
	again, err := Open(m.dir, &durable.Disk{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	current := m.Current().Number
	if again.Current().Number != current {
		t.Fatalf("current is %d on disk and %d in memory", again.Current().Number, current)
	}
	numbers, err := m.Generations.numbers()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if current > 0 && (len(numbers) == 0 || numbers[len(numbers)-1] != current) {
		t.Fatalf("current is %d, on disk are %d", current, numbers)
	}
	for _, n := range numbers {
		checkGeneration(t, m, n)
	}
}

// checkGeneration reads a generation as its users do.
func checkGeneration(t tb, m *Mirror, number int) {
	t.Helper()
	g, err := m.Generations.read(number)
	if err != nil {
		t.Fatalf("generation %d: %v", number, err)
	}
	dir := m.path("generations", generationName(number))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3*(len(g.Records)+len(g.Views)) {
		t.Fatalf("generation %d has %d entries for %d manifests, %v", number, len(entries), len(g.Records), err)
	}
	for name, record := range g.Records {
		target, err := os.Readlink(filepath.Join(dir, name))
		if want := "../../revisions/" + name + "/" + record.ID(); err != nil || target != want {
			t.Fatalf("generation %d: %s points to %q, want %q: %v", number, name, target, want, err)
		}
		var sums strings.Builder
		want := map[string]manifest.ObjectID{}
		for _, f := range record.Files {
			want[f.Path] = f.Object
			fmt.Fprintf(&sums, "%s  %s/%s\n", f.Object, name, f.Path)
		}
		if diff := cmp.Diff(want, hashTree(t, filepath.Join(dir, target))); diff != "" {
			t.Fatalf("generation %d: %s: %s", number, name, diff)
		}
		if text, err := os.ReadFile(filepath.Join(dir, name+".SHA256SUMS")); err != nil || string(text) != sums.String() {
			t.Fatalf("generation %d: sums %q, %v", number, text, err)
		}
	}
}

// hashTree returns the SHA-256 of every file below dir, which must be read-only.
func hashTree(t tb, dir string) map[string]manifest.ObjectID {
	t.Helper()
	sums := map[string]manifest.ObjectID{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode() != 0o444 {
			return fmt.Errorf("%s has mode %v: %w", path, info.Mode(), err)
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		sums[name] = sumOf(string(data))
		return err
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return sums
}

// listing describes everything below dir, one line a name.
func listing(t tb, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%v %s", info.Mode(), name)
		if entry.Type() == fs.ModeSymlink {
			target, _ := os.Readlink(path)
			line = name + " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return lines
}

// below lists what matches a glob, relative to the data directory.
func below(t tb, m *Mirror, glob string) []string {
	t.Helper()
	paths, err := filepath.Glob(m.path(glob))
	if err != nil {
		t.Fatalf("%v", err)
	}
	list := []string{}
	for _, path := range paths {
		name, _ := filepath.Rel(m.dir, path)
		list = append(list, name)
	}
	return list
}

// underUmask runs f with another umask. Tests that use it do not run in parallel.
func underUmask(mask int, f func()) {
	defer unix.Umask(unix.Umask(mask))
	f()
}

// asOrdinaryUser is true in a process without root's rights. Root runs the test
// once more as nobody and reports that instead.
func asOrdinaryUser(t *testing.T) bool {
	t.Helper()
	const nobody = 65534
	if os.Getuid() != 0 {
		return true
	}
	home := t.TempDir()
	must(t, errors.Join(os.Chmod(filepath.Dir(home), 0o755), os.Chown(home, nobody, nobody)))
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = home, append(os.Environ(), "TMPDIR="+home, "HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status):
		t.Errorf("run as the user nobody: %v\n%s", err, out)
	case err != nil:
		t.Skipf("NOT TESTED: cannot run as another user: %v", err)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Errorf("the test did not run as the user nobody:\n%s", out)
	}
	return false
}

// days is a time so far ahead that every generation has left `current` long ago.
func days(n int) time.Time { return time.Now().Add(time.Duration(n) * 24 * time.Hour) }

func must(t tb, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
}

func same(t tb, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s", diff)
	}
}
