package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// maxCalls is the target for the system calls of a small file.
const maxCalls = 16

// schedulerCalls come from Go's scheduler. Their number depends on time, and under strace
// each call takes many times as long: the scheduler's monitor wakes up while one lasts.
var schedulerCalls = []string{"futex", "nanosleep", "sched_yield", "tgkill", "getpid", "rt_sigreturn", "rt_sigaction", "rt_sigprocmask"}

// measureCalls counts the system calls of first syncs of many small files with strace, which
// needs no root.
func measureCalls(ctx context.Context, b bench) (string, error) {
	const files = 3000
	if missing := (contender.Contender{Needs: []string{"strace"}}).Missing(); missing != nil {
		return "", fmt.Errorf("%w: %s", errNoTool, strings.Join(missing, ", "))
	}
	var figures []table.Figure
	for _, way := range []struct {
		name   string
		over   link.Link
		target float64
	}{{"over plain HTTP", link.Link{}, maxCalls}, {"over https", https, maxCalls}} {
		own, scheduler, err := b.countCalls(ctx, b.smallerAll(provider.Repeat(files, 4*provider.KiB)), way.over)
		if err != nil {
			return "", err
		}
		figures = append(figures,
			table.Row("system calls a file, "+way.name, own, "%.1f", way.target),
			table.Row("those of Go's scheduler under strace, "+way.name, scheduler, "%.1f", 0))
	}
	return table.Figures("First syncs of 3,000 files of 4 KiB, start and publish included.", figures), nil
}

// countCalls returns the system calls for each file of a first sync: syncd's own, and those of
// Go's scheduler.
func (b bench) countCalls(ctx context.Context, sizes []int64, over link.Link) (own, scheduler float64, err error) {
	dir, err := os.MkdirTemp(b.work, "calls-")
	if err != nil {
		return 0, 0, err
	}
	p, err := provider.Start(ctx, dir, sizes, over)
	if err != nil {
		return 0, 0, err
	}
	defer p.Close()
	counts := filepath.Join(dir, "counts")
	sync, err := contender.SyncCommand(b.binary, p, dir, contender.Settings{})
	if err != nil {
		return 0, 0, err
	}
	traced := exec.Command("strace", append([]string{"-f", "-c", "-U", "name,calls", "-o", counts, sync.Path}, sync.Args[1:]...)...)
	if _, err := measure.Run(ctx, traced); err != nil {
		return 0, 0, err
	}
	calls, err := parseCalls(counts)
	if err != nil {
		return 0, 0, err
	}
	for name, n := range calls {
		if slices.Contains(schedulerCalls, name) {
			scheduler += n
		} else {
			own += n
		}
	}
	return own / float64(len(sizes)), scheduler / float64(len(sizes)), nil
}

// parseCalls reads the table of strace -c: a line with name and number of each call.
func parseCalls(path string) (map[string]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	calls := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || fields[0] == "total" {
			continue
		}
		if n, err := strconv.ParseFloat(fields[1], 64); err == nil {
			calls[fields[0]] = n
		}
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("strace counted no system calls: %s", text)
	}
	return calls, nil
}
