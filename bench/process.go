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
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is the longest that any run may take.
const patience = 10 * time.Minute

// sample is one run, as the operating system accounts for it, children
// included where it does that.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // bytes of the largest process
	io        ioCounts
}

// ioCounts are those of the process itself, without children.
type ioCounts struct {
	passed  int64 // bytes that it wrote, to sockets too
	written int64 // bytes of pages that it made dirty: what goes to disk
}

// measureProcess runs a command to its end, within bounds.
func measureProcess(ctx context.Context, cmd *exec.Cmd) (sample, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	p, err := startProcess(ctx, cmd)
	if err != nil {
		return sample{}, err
	}
	taken, err := p.wait()
	if err != nil {
		said := output.Bytes()
		return sample{}, fmt.Errorf("%w: %s", err, said[:min(len(said), 2000)])
	}
	return taken, nil
}

// process is a command under way, in a process group of its own.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	memory  memory
	bounds  context.Context //nolint:containedctx // of the time from start to wait
	release func()
}

func startProcess(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, started: started, memory: watchMemory(cmd.Process.Pid)}
	p.bounds, p.release = context.WithTimeout(ctx, patience)
	context.AfterFunc(p.bounds, p.kill)
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the whole group.
func (p *process) kill() { _ = syscall.Kill(-p.pid(), syscall.SIGKILL) } // gone: nothing to end

// wait reads the counters between the end of the process and the reaping, which
// takes them away.
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

// ended is true when the process waits to be reaped.
func (p *process) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.pid(), &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

func countsOf(pid int) (counts ioCounts) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)) // not there: zeros
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "wchar":
			fmt.Sscan(value, &counts.passed)
		case "write_bytes":
			fmt.Sscan(value, &counts.written)
		}
	}
	return counts
}

// cpuOf is what a running process has used so far. Its clock is finer than the
// ticks of /proc/PID/stat.
func cpuOf(pid int) (time.Duration, error) {
	var t unix.Timespec
	clock := ^int32(pid)<<3 | 2 // as clock_getcpuclockid makes it
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// until asks again and again whether something has come true.
func until(ctx context.Context, what string, true func() (bool, error)) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := true(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
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

// medians is a sample of the medians, each by itself.
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
