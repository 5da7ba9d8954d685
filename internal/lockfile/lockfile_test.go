package lockfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lockVariable names the lock that the re-executed test binary holds until its
// standard input ends.
const lockVariable = "SYNCD_TEST_LOCK"

func TestMain(m *testing.M) {
	path := os.Getenv(lockVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	lock, err := Acquire(path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin)
	lock.Release()
}

// holdElsewhere starts a process that acquires the lock, and returns its first line.
func holdElsewhere(t *testing.T, path string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockVariable+"="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func TestAcquireNamesTheProcessThatHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, line := holdElsewhere(t, path)
	if line != "locked" {
		t.Fatal(line)
	}
	_, err := Acquire(path)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != holder.Process.Pid || held.Path != path {
		t.Fatalf("%v", err)
	}
	want := fmt.Sprintf("%s is locked by process %d: is another syncd running?", path, holder.Process.Pid)
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait()
	lock, err := Acquire(path)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	lock.Release()
}

func TestReleaseLetsAnotherProcessLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, line := holdElsewhere(t, path); !strings.Contains(line, "by process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("the other process says %q", line)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, line := holdElsewhere(t, path); line != "locked" {
		t.Errorf("after the release the other process says %q", line)
	}
}

func TestLockFileIsPrivateAndHoldsOneProcessID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte(strings.Repeat("9", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	data, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if string(data) != strconv.Itoa(os.Getpid())+"\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("content %q, mode %v", data, info.Mode())
	}
}

func TestAcquireFailsBeforeTheHolderWroteItsProcessID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, text := range []string{"", "garbage\x00\n"} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		_, err = Acquire(path)
		var held *HeldError
		if !errors.As(err, &held) || held.PID != 0 || !strings.Contains(err.Error(), "by another process") {
			t.Errorf("%q: %v", text, err)
		}
		f.Close()
	}
}

func TestAcquireReportsAMissingDirectory(t *testing.T) {
	if _, err := Acquire(filepath.Join(t.TempDir(), "missing", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestCheckNoticesAMovedOrReplacedLockFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "lock")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o755))
	lock, err := Acquire(path)
	must(err)
	defer lock.Release()
	vanished := func(when, says string, missing bool) {
		t.Helper()
		err := lock.Check()
		var vanished *VanishedError
		if !errors.As(err, &vanished) || vanished.Path != path || !strings.Contains(err.Error(), says) || errors.Is(err, os.ErrNotExist) != missing {
			t.Errorf("%s: %v", when, err)
		}
	}
	must(lock.Check())
	must(os.Rename(dir, dir+".away"))
	vanished("moved away", "vanished", true)
	must(os.Mkdir(dir, 0o755))
	vanished("an empty directory in its place", "vanished", true)
	other, err := Acquire(path)
	must(err)
	defer other.Release()
	vanished("another lock in its place", "was replaced", false)
	must(other.Check())
	must(os.RemoveAll(dir))
	must(os.Rename(dir+".away", dir))
	must(lock.Check())
}

func TestAcquireSucceedsWhenItCannotWriteTheProcessID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.Symlink("/dev/full", path); err != nil { // takes no byte and no truncation
		t.Fatal(err)
	}
	lock, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := lock.Check(); err != nil {
		t.Error(err)
	}
}
