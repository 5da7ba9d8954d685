package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// sample is one run of one tool, as the operating system accounts for it,
// children included.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // bytes of the largest process
}

// result is what a tool took for a workload.
type result struct {
	workload workload
	tool     string
	samples  []sample
}

// measure runs every tool on a workload in turn, A B C A B C …, so that a
// machine that slows down slows them all.
func measure(w workload, syncd, work string, runs int) ([]result, error) {
	s, err := serve(w)
	if err != nil {
		return nil, err
	}
	defer s.emulator.Close()
	var results []result
	var installed []tool
	for _, t := range tools(syncd) {
		switch {
		case w.alone && t.name != "syncd":
		case !t.installed():
			log.Printf("%s is not installed (%s): left out", t.name, strings.Join(t.needs, ", "))
		default:
			installed = append(installed, t)
			results = append(results, result{workload: w, tool: t.name})
		}
	}
	if w.alone {
		runs = 1
	}
	for round := range runs + 1 {
		for i, t := range installed {
			taken, err := runOnce(t, s, work)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			log.Printf("%s %s: %.2fs", w.name, t.name, taken.wall.Seconds())
			if round > 0 {
				results[i].samples = append(results[i].samples, taken)
			}
		}
	}
	return results, nil
}

// runOnce leaves its directory behind: on some file systems creating files is
// many times slower just after thousands were deleted.
func runOnce(t tool, s *served, work string) (sample, error) {
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return sample{}, err
	}
	cmd, err := t.command(s, dir)
	if err != nil {
		return sample{}, err
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	memory := watchMemory(cmd.Process.Pid)
	err = cmd.Wait()
	taken := sample{wall: time.Since(started), peak: memory.end()}
	if err != nil {
		return sample{}, fmt.Errorf("%w: %s", err, output.Bytes())
	}
	taken.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return taken, complete(s, dir)
}

// complete makes sure that a tool fetched everything.
func complete(s *served, dir string) error {
	for _, place := range []string{"files", wgetPlace, filepath.Join("data", "current", manifestName)} {
		entries, err := os.ReadDir(filepath.Join(dir, place))
		if err == nil && len(entries) == len(s.files) {
			return nil
		}
	}
	return fmt.Errorf("it did not fetch all of %d files", len(s.files))
}

func median[T int64 | time.Duration](samples []sample, of func(sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// tableOf writes medians, each as a multiple of syncd's.
func tableOf(results []result) string {
	var b strings.Builder
	b.WriteString("| workload | tool | wall | CPU | wall, syncd = 1 | CPU, syncd = 1 | peak memory |\n|---|---|---|---|---|---|---|\n")
	var base sample
	for _, r := range results {
		m := sample{
			wall: median(r.samples, func(s sample) time.Duration { return s.wall }),
			cpu:  median(r.samples, func(s sample) time.Duration { return s.cpu }),
			peak: median(r.samples, func(s sample) int64 { return s.peak }),
		}
		if r.tool == "syncd" {
			base = m
		}
		fmt.Fprintf(&b, "| %s: %s | %s | %.2f s | %.2f s | %.2f | %.2f | %d MiB |\n", r.workload.name, r.workload.what, r.tool,
			m.wall.Seconds(), m.cpu.Seconds(), m.wall.Seconds()/base.wall.Seconds(), m.cpu.Seconds()/base.cpu.Seconds(), m.peak/mib)
	}
	return b.String()
}

const beginMark, endMark = "<!-- results -->\n", "<!-- end of results -->"

// replaceResults puts a table between the marks of a Markdown file.
func replaceResults(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return fmt.Errorf("%s has no place for results", path)
	}
	return os.WriteFile(path, []byte(before+beginMark+table+endMark+after), 0o644)
}
