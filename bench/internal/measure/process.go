// Package measure runs processes and measures them: wall and CPU time, memory, bytes
// written, and the page cache of their neighbours.
package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RunTimeout is the longest that a run may take.
const RunTimeout = 10 * time.Minute

// Run runs a command to its end, for RunTimeout at most.
func Run(ctx context.Context, cmd *exec.Cmd) (Sample, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	p, err := Start(ctx, cmd)
	if err != nil {
		return Sample{}, err
	}
	taken, err := p.Wait()
	if err != nil {
		text := output.Bytes()
		return Sample{}, fmt.Errorf("%w: %s", err, text[:min(len(text), 2000)])
	}
	return taken, nil
}

// Process is a running command in a process group of its own.
type Process struct {
	Cmd     *exec.Cmd
	started time.Time
	memory  memory
	bounds  context.Context //nolint:containedctx // ends at RunTimeout, between start and wait
	release func()
}

// Start starts a command. It is killed after RunTimeout.
func Start(ctx context.Context, cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Cmd: cmd, started: started, memory: watchMemory(cmd.Process.Pid)}
	p.bounds, p.release = context.WithTimeout(ctx, RunTimeout)
	context.AfterFunc(p.bounds, p.Kill)
	return p, nil
}

// PID returns its process id.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

// Kill kills the whole process group. It ignores the error of a group that has ended.
func (p *Process) Kill() { _ = syscall.Kill(-p.PID(), syscall.SIGKILL) }

// Wait waits for the process. It reads the counters before it reaps the process,
// because reaping removes them.
func (p *Process) Wait() (Sample, error) {
	waited := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
	for errors.Is(waited, unix.EINTR) {
		waited = unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	taken := Sample{Wall: time.Since(p.started), IO: CountsOf(p.PID())}
	taken.Peak = p.memory.end()
	err := errors.Join(waited, p.bounds.Err(), p.Cmd.Wait())
	p.release()
	taken.CPU = p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
	return taken, err
}

// Ended reports whether the process has ended and waits to be reaped.
func (p *Process) Ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.PID(), &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

// CPUOf returns the CPU time of a running process. The process's clock is finer than
// the ticks of /proc/PID/stat.
func CPUOf(pid int) (time.Duration, error) {
	var t unix.Timespec
	clock := ^int32(pid)<<3 | 2 // the encoding of clock_getcpuclockid
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// CPUWithChildren is as CPUOf, with the running processes that pid started.
func CPUWithChildren(pid int) (time.Duration, error) {
	total, err := CPUOf(pid)
	if err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.FieldsSeq(string(children)) {
		child, err := strconv.Atoi(text)
		if err != nil {
			return 0, err
		}
		cpu, err := CPUOf(child)
		if err != nil {
			return 0, err
		}
		total += cpu
	}
	return total, nil
}

// WaitFor polls done until it returns true or an error. what names the condition in the
// error after RunTimeout.
func WaitFor(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, stop := context.WithTimeout(ctx, RunTimeout)
	defer stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
