package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/host/account"
)

// result is what the supervisor tells before it ends.
type result struct {
	Error     string         `json:"error,omitempty"`   // the command could not be started
	IsPassing bool           `json:"passing,omitempty"` // for a cause that is not the command's
	Status    int            `json:"status"`
	Signal    syscall.Signal `json:"signal,omitempty"`
}

// patience is how long a supervisor may take to kill everything. A process that waits for
// a broken disk cannot be killed; it does not hold up the caller for ever.
const patience = 15 * time.Second

// Run runs the command until it ends. Its error is ErrTimeout, the context's cause, an
// *ExitError, ErrSupervisor, or why the command could not be started. On return, nothing of it is
// running any more.
func (c Command) Run(ctx context.Context) error {
	if len(c.Argv) == 0 {
		return errors.New("no command")
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("%w: it was still running after %s", ErrTimeout, c.Timeout))
		defer cancel()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, err := c.start()
	if err != nil {
		return fmt.Errorf("start the %w: %w", ErrSupervisor, err)
	}
	found, err := s.wait(ctx)
	switch {
	case ctx.Err() != nil && (err != nil || found.Signal == syscall.SIGKILL):
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSupervisor, err)
	case found.IsPassing:
		return fmt.Errorf("%w: %s", ErrSupervisor, found.Error)
	case found.Error != "":
		return errors.New(found.Error)
	case found.Status != 0 || found.Signal != 0:
		return &ExitError{Status: found.Status, Signal: found.Signal}
	}
	return nil
}

// supervisor is a running supervisor.
type supervisor struct {
	cmd      *exec.Cmd
	lifeline *os.File // the supervisor kills everything once this is closed
	results  *os.File
}

func (c Command) start() (*supervisor, error) {
	if err := protect(); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
	}
	lifeline, keep, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer lifeline.Close()
	results, tell, err := os.Pipe()
	if err != nil {
		keep.Close()
		return nil, err
	}
	defer tell.Close()
	s := &supervisor{lifeline: keep, results: results, cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{name}, c.Argv...), Env: c.Env, Dir: "/",
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, WaitDelay: patience,
		ExtraFiles:  []*os.File{lifeline, tell},         // descriptors 3 and 4
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // without the terminal of this process
	}}
	if s.cmd.Env == nil {
		s.cmd.Env = []string{}
	}
	if err := supervisors.start(s.cmd); err != nil {
		keep.Close()
		results.Close()
		return nil, err
	}
	return s, nil
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

// protect keeps what this process holds from the command and from other programs of its
// user. The command may run as the user of this process, who could trace it otherwise, or
// take descriptors of the program that started it from the supervisor.
func protect() error {
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

// wait waits for the supervisor. At the context's end it has everything killed first.
func (s *supervisor) wait(ctx context.Context) (found result, err error) {
	defer s.results.Close()
	defer s.lifeline.Close()
	stop := context.AfterFunc(ctx, func() { s.lifeline.Close() })
	defer stop()
	late := context.AfterFunc(ctx, func() { time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() }) }) // fails when it has ended
	defer late()
	readErr := json.NewDecoder(s.results).Decode(&found)
	s.killOrphans()
	waitErr := s.cmd.Wait()
	supervisors.remove(s.cmd.Process.Pid)
	return found, errors.Join(readErr, waitErr)
}
