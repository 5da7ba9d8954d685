package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package. No goroutine may outlive them.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(buildDir())
		os.Exit(code)
	}))
}

// variant is a way to build the program.
type variant struct {
	name  string
	flags []string
}

var (
	// plain has the tag of internal/disk/fsops that lets the environment kill or fail the
	// program at any change on disk.
	plain = variant{"syncd", []string{"-tags", "torture"}}
	raced = variant{"syncd-race", raceFlags}
)

// buildDir holds the programs of this test process.
var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "syncd-build-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // other users run the program, too
	}
	if err != nil {
		panic(err)
	}
	return dir
})

var builds sync.Map // variant's name -> func() error

// built is the path of the program, which is built at its first use.
func built(t *testing.T, v variant) string {
	t.Helper()
	binary := filepath.Join(buildDir(), v.name)
	once, _ := builds.LoadOrStore(v.name, sync.OnceValue(func() error { return v.build(binary) }))
	if err := once.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return binary
}

// build makes a program that other users can run, too. The packages of all tests share one
// build in the folder .cache: the toolchain sees whether it is current. Each process takes
// its own copy, because the next change of the source replaces the shared one.
func (v variant) build(binary string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	if err := lookAtSources(root); err != nil {
		return err
	}
	shared := filepath.Join(root, ".cache", "e2e")
	if err := os.MkdirAll(shared, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(shared, v.name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	current := filepath.Join(shared, v.name)
	args := append([]string{"build", "-ldflags=-w", "-o", current}, v.flags...) // without debug information, which takes a second
	if out, err := exec.Command("go", append(args, "syncd/cmd/syncd")...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return install(current, binary)
}

// install copies a program in another process: one that a test starts meanwhile would
// inherit the file that this process writes, and the copy could not be executed ("text file
// busy").
func install(program, as string) error {
	out, err := exec.Command("install", "-m", "755", program, as).CombinedOutput()
	if err != nil {
		return fmt.Errorf("install %s: %w: %s", as, err, out)
	}
	return nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the tests run outside of the module")
		}
		dir = filepath.Dir(dir)
	}
	return dir, err
}

// lookAtSources makes the results of the tests depend on the program. The toolchain keeps a
// result until a file changes that the test looked at, and the program is no part of the
// test's own binary.
func lookAtSources(root string) (err error) {
	for _, name := range []string{"go.mod", "go.sum", "cmd", "internal", "deploy"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, name), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, "_test.go") {
				_, _ = os.Stat(path) // an editor's file may be gone
			}
			return err
		}))
	}
	return err
}
