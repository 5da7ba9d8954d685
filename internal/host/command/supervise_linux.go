package command

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// name is the first argument of a supervisor. No user starts a program by it.
const name = "syncd-supervisor"

// The descriptors of a supervisor, beside the first three, which are the command's.
const (
	lifelineFD = 3
	resultsFD  = 4
)

// IsSupervisor is true in a process that Run started as the supervisor of a command.
func IsSupervisor() bool { return len(os.Args) > 1 && os.Args[0] == name }

// Supervise runs the command of its arguments and returns when nothing of it is left. It
// is all that a supervisor does: the caller exits with what it returns.
func Supervise() (code int) {
	// No program of the command's user may trace this process. The command gets the first
	// three descriptors only.
	if err := Protect(); err != nil {
		return 1
	}
	// PDEATHSIG is sent when the thread ends that started the command, so this goroutine
	// keeps its thread.
	runtime.LockOSThread()
	found := supervise(os.Args[1:])
	if json.NewEncoder(os.NewFile(resultsFD, "results")).Encode(found) != nil {
		return 1 // the caller is gone
	}
	return 0
}

func supervise(argv []string) result {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return result{Error: "PR_SET_CHILD_SUBREAPER: " + err.Error()}
	}
	// `systemctl kill -s USR1` asks the daemon for a sync, -s HUP for a reload. Both reach
	// every process of its unit. The command inherits that they are ignored.
	signal.Ignore(syscall.SIGUSR1, syscall.SIGHUP)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		isPassing := isPassing(err)
		if why := CheckScript(cmd.Path); why != nil && !isPassing {
			err = why // the kernel's error names the script, although its interpreter is missing
		}
		return result{Error: err.Error(), IsPassing: isPassing}
	}
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		f.Close() // so that the caller sees the end of the output
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		killAll(cmd.Process.Pid)
		return verdict(err)
	case <-callerIsGone():
		killAll(cmd.Process.Pid)
		return result{Signal: syscall.SIGKILL}
	}
}

// isPassing is true for an error that says nothing about the command: the host is short of
// processes, memory or descriptors, or the program is just being replaced.
func isPassing(err error) bool {
	return slices.ContainsFunc([]error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ETXTBSY}, func(passing error) bool { return errors.Is(err, passing) })
}

// callerIsGone is closed when the caller closed its end of the lifeline or died, and when
// someone wants this process to end.
func callerIsGone() <-chan struct{} {
	gone := make(chan struct{})
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	read := make(chan struct{})
	go func() {
		_, _ = os.NewFile(lifelineFD, "lifeline").Read(make([]byte, 1)) // nothing is ever written
		close(read)
	}()
	go func() {
		select {
		case <-asked:
		case <-read:
		}
		close(gone)
	}()
	return gone
}

func verdict(err error) result {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return result{}
	case !errors.As(err, &exit):
		return result{Error: err.Error()}
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return result{Signal: status.Signal()}
	}
	return result{Status: exit.ExitCode()}
}

// killAll kills the process group of the command, and then every child of this process
// until there is none: the children of a killed process become children of this one.
func killAll(group int) {
	_ = syscall.Kill(-group, syscall.SIGKILL) // fails when the group is empty
	for deadline := time.Now().Add(patience - 5*time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails when it has just ended
		}
		if !reap() {
			return
		}
	}
}

// reap collects the children that have ended. It is false when no child is left.
func reap() (some bool) {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return false
		case pid == 0:
			return true
		}
	}
}
