package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	ended    func() // call it after cmd.Wait
}

func (c Command) start() (*supervisor, error) {
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
		Args: append([]string{name}, c.Argv...), Env: c.Env,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, WaitDelay: patience,
		ExtraFiles: []*os.File{lifeline, tell}, // descriptors 3 and 4
	}}
	if s.ended, err = StartSelf(s.cmd); err != nil {
		keep.Close()
		results.Close()
		return nil, err
	}
	return s, nil
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
	s.ended()
	return found, errors.Join(readErr, waitErr)
}
