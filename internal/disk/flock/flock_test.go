//go:build !windows

package flock

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
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/fsops"
)

// lockVariable names the lock that the re-executed test binary holds until its
// standard input ends.
const lockVariable = "SYNCD_TEST_LOCK"

func TestMain(m *testing.M) {
	path := os.Getenv(lockVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	lock, err := acquire(path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin)
	lock.Release()
}

func acquire(path string) (*Lock, error) {
	dir, err := fsops.OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return Acquire(dir, filepath.Base(path))
}

// holdElsewhere starts a process that acquires the lock, and returns its first line.
func holdElsewhere(t *testing.T, path string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockVariable+"="+path)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	return cmd, strings.TrimSpace(line)
}

func TestAcquireNamesTheProcessThatHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, line := holdElsewhere(t, path)
	if line != "locked" {
		t.Fatal(line)
	}
	_, err := acquire(path)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.PID != holder.Process.Pid || held.Path != path {
		t.Fatalf("got %v, want a HeldError with the holder's PID", err)
	}
	want := fmt.Sprintf("%s is locked by process %d: is another syncd running?", path, holder.Process.Pid)
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	must(t, holder.Process.Kill())
	holder.Wait()
	lock, err := acquire(path)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	lock.Release()
}

func TestReleaseLetsAnotherProcessLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := acquire(path)
	must(t, err)
	if _, line := holdElsewhere(t, path); !strings.Contains(line, "by process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("the other process says %q", line)
	}
	must(t, lock.Release())
	if _, line := holdElsewhere(t, path); line != "locked" {
		t.Errorf("after the release the other process says %q", line)
	}
}

func TestLockFileIsPrivateAndHoldsOneProcessID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	must(t, os.WriteFile(path, []byte(strings.Repeat("9", 30)), 0o600))
	lock, err := acquire(path)
	must(t, err)
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
		must(t, err)
		f.WriteString(text)
		must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
		_, err = acquire(path)
		if held, ok := errors.AsType[*HeldError](err); !ok || held.PID != 0 || !strings.Contains(err.Error(), "by another process") {
			t.Errorf("lock file %q: got %v, want a HeldError without a PID", text, err)
		}
		f.Close()
	}
}

func TestAcquireReportsAMissingDirectory(t *testing.T) {
	if _, err := acquire(filepath.Join(t.TempDir(), "missing", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

func TestCheckNoticesAMovedOrReplacedLockFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "lock")
	must(t, os.Mkdir(dir, 0o755))
	lock, err := acquire(path)
	must(t, err)
	defer lock.Release()
	vanished := func(when, says string, missing bool) {
		t.Helper()
		err := lock.Check()
		if vanished, ok := errors.AsType[*VanishedError](err); !ok || vanished.Path != path || !strings.Contains(err.Error(), says) || errors.Is(err, os.ErrNotExist) != missing {
			t.Errorf("%s: got %v, want a VanishedError", when, err)
		}
	}
	must(t, lock.Check())
	must(t, os.Rename(dir, dir+".away"))
	vanished("moved away", "vanished", true)
	must(t, os.Mkdir(dir, 0o755))
	vanished("an empty directory in its place", "vanished", true)
	other, err := acquire(path)
	must(t, err)
	defer other.Release()
	vanished("another lock in its place", "was replaced", false)
	must(t, other.Check())
	must(t, os.RemoveAll(dir))
	must(t, os.Rename(dir+".away", dir))
	must(t, lock.Check())
}

func TestAcquireSucceedsWhenItCannotWriteTheProcessID(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("NOT TESTED: a full disk needs a tmpfs of its own, which only root may mount here: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	must(t, os.WriteFile(filepath.Join(dir, "full"), make([]byte, 4<<10), 0o600))
	lock, err := acquire(filepath.Join(dir, "lock"))
	must(t, err)
	defer lock.Release()
	if err := lock.Check(); err != nil {
		t.Error(err)
	}
}

func TestAcquireChangesNoFileButItsOwn(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	rows := []struct {
		name string
		make func(path string) error
		says string
	}{
		{"a symlink to a file", func(path string) error { return os.Symlink(victim, path) }, "is not a regular file"},
		{"a symlink to nothing", func(path string) error { return os.Symlink(filepath.Join(dir, "none"), path) }, "is not a regular file"},
		{"a hard link", func(path string) error { return os.Link(victim, path) }, "is a hard link"},
		{"a FIFO", func(path string) error { return unix.Mkfifo(path, 0o600) }, "is not a regular file"},
		{"another user's file", func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("theirs"), 0o666), os.Chown(path, 23456, 23456))
		}, "belongs to user 23456"},
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			must(t, os.WriteFile(victim, []byte("content"), 0o600))
			path := filepath.Join(dir, fmt.Sprint("lock", i))
			if err := row.make(path); errors.Is(err, os.ErrPermission) {
				t.Skip("NOT TESTED: only root can make another user's file")
			} else if err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			lock, err := acquire(path)
			if err == nil {
				lock.Release()
			}
			if err == nil || !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("got %v, want the advice to remove the file", err)
			}
			data, _ := os.ReadFile(victim)
			after, _ := os.Lstat(path)
			if string(data) != "content" || after.Size() != before.Size() {
				t.Errorf("the victim holds %q, the lock %d bytes", data, after.Size())
			}
			if _, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
				t.Error("the target of a link was made")
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A holder that was killed while it started a program: its child still has the lock.
func TestAcquireWaitsForTheChildOfAKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	ended := exec.Command("true")
	must(t, ended.Run())
	_, err = fmt.Fprintln(f, ended.Process.Pid)
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	time.AfterFunc(100*time.Millisecond, func() { f.Close() })
	l, err := acquire(path)
	must(t, err)
	must(t, l.Release())
}
