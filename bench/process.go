package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runTimeout is the longest that a run may take.
const runTimeout = 10 * time.Minute

// sample is what the operating system measured in one run. cpu includes child
// processes.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // peak memory of the largest process, in bytes
	io        ioCounts
}

// ioCounts are the I/O counters of the process, without its children.
type ioCounts struct {
	passed  int64 // bytes passed to write calls, sockets included
	written int64 // bytes of pages made dirty, which go to disk
}

// measureProcess runs a command to its end, for runTimeout at most.
func measureProcess(ctx context.Context, cmd *exec.Cmd) (sample, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	p, err := startProcess(ctx, cmd)
	if err != nil {
		return sample{}, err
	}
	taken, err := p.wait()
	if err != nil {
		text := output.Bytes()
		return sample{}, fmt.Errorf("%w: %s", err, text[:min(len(text), 2000)])
	}
	return taken, nil
}

// process is a running command in a process group of its own.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	memory  memory
	bounds  context.Context //nolint:containedctx // ends at runTimeout, between start and wait
	release func()
}

func startProcess(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, started: started, memory: watchMemory(cmd.Process.Pid)}
	p.bounds, p.release = context.WithTimeout(ctx, runTimeout)
	context.AfterFunc(p.bounds, p.kill)
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill kills the whole process group. It ignores the error of a group that has ended.
func (p *process) kill() { _ = syscall.Kill(-p.pid(), syscall.SIGKILL) }

// wait waits for the process. It reads the counters before it reaps the process,
// because reaping removes them.
func (p *process) wait() (sample, error) {
	waited := unix.Waitid(unix.P_PID, p.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
	for errors.Is(waited, unix.EINTR) {
		waited = unix.Waitid(unix.P_PID, p.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	taken := sample{wall: time.Since(p.started), io: countsOf(p.pid())}
	taken.peak = p.memory.end()
	err := errors.Join(waited, p.bounds.Err(), p.cmd.Wait())
	p.release()
	taken.cpu = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	return taken, err
}

// ended reports whether the process has ended and waits to be reaped.
func (p *process) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.pid(), &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

func countsOf(pid int) (counts ioCounts) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)) // a missing file leaves zeros
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "wchar":
			counts.passed, _ = strconv.ParseInt(value, 10, 64)
		case "write_bytes":
			counts.written, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return counts
}

// cpuOf returns the CPU time of a running process. The process's clock is finer than
// the ticks of /proc/PID/stat.
func cpuOf(pid int) (time.Duration, error) {
	var t unix.Timespec
	clock := ^int32(pid)<<3 | 2 // the encoding of clock_getcpuclockid
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// waitFor polls done until it returns true or an error. what names the condition in the
// error after runTimeout.
func waitFor(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, stop := context.WithTimeout(ctx, runTimeout)
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

func median[T int64 | time.Duration](samples []sample, of func(sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// medians returns the median of each value by itself.
func medians(samples []sample) sample {
	return sample{
		wall: median(samples, func(s sample) time.Duration { return s.wall }),
		cpu:  median(samples, func(s sample) time.Duration { return s.cpu }),
		peak: median(samples, func(s sample) int64 { return s.peak }),
		io: ioCounts{
			passed:  median(samples, func(s sample) int64 { return s.io.passed }),
			written: median(samples, func(s sample) int64 { return s.io.written }),
		},
	}
}
