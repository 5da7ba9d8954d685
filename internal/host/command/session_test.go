//go:build linux

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stranger is another user. The kernel needs no account for the number.
const stranger = 23456

// A command of another user must not reach the terminal on which root runs syncd: before
// Linux 6.2 it could type into root's shell.
func TestACommandHasNoTerminalOfTheCaller(t *testing.T) {
	var out strings.Builder
	c := shell(`cut -d" " -f6,7 /proc/$PPID/stat /proc/$$/stat; echo $PPID $$`)
	c.Stdout = &out
	must(t, c.Run(t.Context()))
	own, err := unix.Getsid(0)
	must(t, err)
	var of [2]struct{ session, terminal int }
	var supervisor, command int
	if _, err := fmt.Sscan(out.String(), &of[0].session, &of[0].terminal, &of[1].session, &of[1].terminal, &supervisor, &command); err != nil {
		t.Fatal(err)
	}
	if of[0].session != supervisor || of[1].session != command || of[0].session == own || of[0].terminal != 0 || of[1].terminal != 0 {
		t.Errorf("this session is %d, the supervisor %d has %+v, the command %d has %+v", own, supervisor, of[0], command, of[1])
	}
}

// The command runs as the user of the supervisor and of this process.
func TestACommandTracesNeitherSupervisorNorCaller(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can become another user")
	}
	exe, err := os.Executable()
	must(t, err)
	file, err := os.Open(exe) // the test's folder is root's
	must(t, err)
	defer file.Close()
	secret, err := os.CreateTemp(t.TempDir(), "") // a descriptor that root's shell left open
	must(t, err)
	defer secret.Close()
	caller := exec.Command("/proc/self/fd/3")
	caller.ExtraFiles = []*os.File{file, secret}
	caller.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	script := `exec 3>&2 2>/dev/null 1>&3 3>&-; supervisor=$PPID; caller=$(cut -d" " -f4 /proc/$supervisor/stat)
		for pid in $supervisor $caller; do cat /proc/$pid/environ; ls /proc/$pid/fd; ls /proc/$pid/cwd/; done
		test ! -e /proc/$$/fd/4 || echo inherited; exit 0`
	caller.Env = append(os.Environ(), callerVariable+"="+script)
	var out, outcome bytes.Buffer
	caller.Stdout, caller.Stderr = &outcome, &out
	if err := caller.Run(); err != nil {
		t.Fatal(err, out.String())
	}
	if outcome.String() != "<nil>\n" || out.Len() > 0 {
		t.Errorf("%q: the command read %q", outcome.String(), out.String())
	}
}

// Variables for supervisors, which are this test's program.
const (
	keysVariable     = "PROCESSGROUP_KEYS"     // a file for the number of the session's keyring
	shortageVariable = "PROCESSGROUP_SHORTAGE" // no process more can be started
)

// beSupervisor does what the variables ask for, before the supervisor does anything.
func beSupervisor() {
	var err error
	if file := os.Getenv(keysVariable); file != "" {
		var keys int
		if keys, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false); err == nil {
			err = os.WriteFile(file, []byte(strconv.Itoa(keys)), 0o600)
		}
	}
	if os.Getenv(shortageVariable) != "" {
		err = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{})
	}
	if err != nil {
		os.Exit(1)
	}
}

// A program of its user can trace a supervisor before that forbids it.
func TestASupervisorBeginsWithoutTheKeysOfTheCaller(t *testing.T) {
	runtime.LockOSThread() // keyrings belong to threads
	defer runtime.UnlockOSThread()
	own, err := unix.KeyctlJoinSessionKeyring("syncd-test")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip("NOT TESTED: no keyring can be made here: ", err)
	}
	must(t, err)
	file := filepath.Join(t.TempDir(), "keys")
	c := shell("exit 0")
	c.Env = append(c.Env, keysVariable+"="+file)
	must(t, c.Run(t.Context()))
	text, err := os.ReadFile(file)
	must(t, err)
	if keys, err := strconv.Atoi(string(text)); err != nil || keys == own {
		t.Errorf("the supervisor has the keyring %q, the caller %d", text, own)
	}
}

// A gate that the host has no process for has refused nothing.
func TestAShortageOfProcessesSaysNothingAboutTheCommand(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can become another user")
	}
	exe, err := os.Executable()
	must(t, err)
	file, err := os.Open(exe) // the test's folder is root's
	must(t, err)
	defer file.Close()
	caller := exec.Command("/proc/self/fd/3")
	caller.ExtraFiles = []*os.File{file}
	caller.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	caller.Env = append(os.Environ(), callerVariable+"=exit 0", shortageVariable+"=1")
	out, err := caller.Output()
	if err != nil || !strings.HasPrefix(string(out), ErrSupervisor.Error()) {
		t.Errorf("%v: %q", err, out)
	}
}

// hiddenVariable makes the test binary a process that no other user may trace. It names a
// file for its number.
const hiddenVariable = "PROCESSGROUP_HIDDEN"

func hide(file string) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		os.Exit(1)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		os.Exit(1)
	}
	time.Sleep(waiting)
	os.Exit(0)
}

// The unit mounts /proc so that such a process cannot be seen (ProtectProc=invisible).
func TestAnOrphanThatHidesIsKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can mount /proc")
	}
	dir, err := os.MkdirTemp("", "") // whose folders the other user can pass
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program, number := filepath.Join(dir, "program"), filepath.Join(dir, "hidden")
	for _, err := range []error{os.WriteFile(program, exe, 0o755), os.Chmod(dir, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	hidden := "unset " + callerVariable + "; " + hiddenVariable + "=" + number + " setsid " + program + " & while [ ! -s " + number + " ]; do sleep 0.01; done; "
	for _, end := range []string{"exit 0", "kill -9 $PPID; sleep 1000"} {
		mounted := `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid "$1" --regid "$1" --clear-groups "$2"`
		caller := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", mounted, "sh", strconv.Itoa(stranger), program)
		caller.Env = append(os.Environ(), callerVariable+"="+hidden+end)
		if err := caller.Run(); err != nil {
			t.Skipf("NOT TESTED: /proc cannot be mounted: %v", err)
		}
		text, err := os.ReadFile(number)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil && !isZombie(pid) {
			t.Errorf("after %q, process %d survived", end, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = os.Remove(number) // the next round writes it
	}
}

// A process that takes the name of a supervisor is an orphan like any other.
func TestNoNameProtectsAnOrphan(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "exe")
	must(t, os.Symlink("/bin/sleep", name))
	script := `(exec setsid bash -c 'echo $$ >"$0/orphan"; exec -a ` + "syncd-supervisor" + ` "$0/exe" 1000' "$1" &)
		while [ ! -s "$1/orphan" ]; do sleep 0.01; done
		sleep 0.1; kill -9 $PPID; sleep 1000`
	if err := shell(script, dir).Run(t.Context()); err == nil {
		t.Error("a killed supervisor went unnoticed")
	}
	text, err := os.ReadFile(filepath.Join(dir, "orphan"))
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	if syscall.Kill(pid, 0) == nil && !isZombie(pid) {
		t.Errorf("process %d survived", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Such as systemctl: this process waits for it itself.
func TestOwnChildrenAreNoOrphans(t *testing.T) {
	own := exec.Command("sleep", "1000")
	must(t, own.Start())
	if err := shell("exit 0").Run(context.Background()); err != nil {
		t.Error(err)
	}
	if isZombie(own.Process.Pid) {
		t.Error("it was killed")
	}
	_ = own.Process.Kill()
	_ = own.Wait() // it was killed
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A kernel before 5.11 and some sandboxes have no CLOSE_RANGE_CLOEXEC.
func TestWithoutCloseRangeACommandInheritsNoDescriptor(t *testing.T) {
	file, err := os.Open(t.TempDir())
	must(t, err)
	defer file.Close()
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETFD, 0)
	must(t, err)
	if err := closeListed(filepath.Join(file.Name(), "no such folder")); err == nil {
		t.Error("it is no error that the descriptors are not known")
	}
	must(t, closeListed("/proc/self/fd"))
	flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0)
	must(t, err)
	if flags&unix.FD_CLOEXEC == 0 {
		t.Error("a command inherits the descriptor")
	}
}

// Where the caller and the supervisor are killed at once, such as for want of memory, nobody
// else ends the command.
func TestTheKernelEndsACommandWithItsSupervisor(t *testing.T) {
	dir := t.TempDir()
	ended := make(chan error, 1)
	go func() {
		ended <- shell(`echo $PPID $$ >"$1/new"; mv "$1/new" "$1/ready"; exec sleep 1000`, dir).Run(context.WithoutCancel(t.Context()))
	}()
	wantFile(t, filepath.Join(dir, "ready"))
	text, err := os.ReadFile(filepath.Join(dir, "ready"))
	must(t, err)
	var supervisor, pid int
	_, err = fmt.Sscan(string(text), &supervisor, &pid)
	must(t, err)
	own.mu.Lock() // this process does not look for orphans meanwhile
	err = syscall.Kill(supervisor, syscall.SIGKILL)
	isOver := false
	for deadline := time.Now().Add(time.Minute); err == nil && !isOver && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stat, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		isOver = readErr != nil || strings.Contains(string(stat), ") Z ")
	}
	own.mu.Unlock()
	if err != nil || !isOver {
		t.Errorf("the command goes on, %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("a killed supervisor went unnoticed")
	}
}
