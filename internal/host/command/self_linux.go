package command

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"syncd/internal/host/account"
)

// StartSelf starts this program again, for work of its own that its first argument names. No
// program is started in another way: the user of this process can be another one than who
// started it, and can trace the new process in its first moment. So that has a session without
// a terminal, and neither the descriptors, nor the keys, nor the working directory of who started
// this process, by which files could be reached past folders that are private. It must not get
// os.Stderr, which can be a terminal.
//
// ended must be called after cmd.Wait.
func StartSelf(cmd *exec.Cmd) (ended func(), err error) {
	if err := Protect(); err != nil {
		return nil, err
	}
	cmd.Path = "/proc/self/exe" // an update may have replaced the file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := own.start(cmd); err != nil {
		return nil, err
	}
	return func() { own.remove(cmd.Process.Pid) }, nil
}

// leaveKeys keeps the kernel's keys of the program that started syncd from what this thread
// starts. The supervisor could not do that itself: programs of its user can trace it in its
// first moment. A container may forbid the call, and then those that read keys, too. An owner
// of data_dir who has used up his quota of keys must not get those of root.
func leaveKeys() error {
	// unix.KeyctlJoinSessionKeyring always passes a name, and an empty one is refused.
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if err == nil || !account.BegunByRoot() || os.Geteuid() == 0 || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	// EDQUOT in it would count as a full disk.
	return errors.New("KEYCTL_JOIN_SESSION_KEYRING: " + err.Error() + ": /proc/key-users shows how many keys each user has")
}

// Protect keeps what this process holds from a command and from other programs of its user.
// They may run as the user of this process, who could trace it otherwise, or take descriptors
// of the program that started it. It is also the first thing that a process of StartSelf does.
func Protect() error {
	if err := account.ForbidTracing(); err != nil {
		return err
	}
	return closeOnExec()
}

// firstOwn is the first descriptor that no program inherits.
const firstOwn = 3

// closeOnExec keeps all descriptors but the first three from programs that this process
// starts. A kernel before 5.11 does not have CLOSE_RANGE_CLOEXEC, and a sandbox may forbid it.
func closeOnExec() error {
	if unix.CloseRange(firstOwn, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return closeListed("/proc/self/fd")
}

// closeListed is closeOnExec for the descriptors that a folder lists. One that has just been
// closed is no error.
func closeListed(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("descriptors that a command would inherit: %w", err)
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < firstOwn {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && !errors.Is(err, unix.EBADF) {
			return fmt.Errorf("descriptor %d, which a command would inherit: %w", fd, err)
		}
	}
	return nil
}
