package command

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// Command is a program to run, without a shell.
type Command struct {
	Argv    []string
	Env     []string      // all of it; nothing is inherited
	Stdin   io.Reader     // nil for none
	Stdout  io.Writer     // nil to discard it; must take what it gets, or the command waits
	Stderr  io.Writer     // as Stdout; may be the same
	Timeout time.Duration // everything is killed then; 0 for none
}

// ErrTimeout says that the command did not end in time, so it was killed.
var ErrTimeout = errors.New("timeout")

// ErrSupervisor says that the supervisor could not be started or was killed, or could not
// start the command, such as when memory or processes are short. It says nothing about the
// command.
var ErrSupervisor = errors.New("supervisor")

// ExitError is the verdict of a command that began and ended by itself.
type ExitError struct {
	Status int            // above 0, unless Signal is set
	Signal syscall.Signal // that ended it; 0 for none
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return "ended by signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Status)
}
