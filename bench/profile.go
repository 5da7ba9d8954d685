package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
)

func (b bench) profileCase(ctx context.Context, name, file string) error {
	for _, r := range races() {
		if r.name == name {
			return r.profile(ctx, b, file)
		}
	}
	return fmt.Errorf("no case %q to profile: name one with -only, such as https-big", name)
}

// profile samples the CPU time of one first sync of a race with perf, keeps the samples
// in a file, and prints the functions that took most.
func (r race) profile(ctx context.Context, b bench, file string) error {
	dir, err := os.MkdirTemp(b.dir, "syncd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := provider.Start(ctx, dir, r.sizes, r.over)
	if err != nil {
		return err
	}
	defer p.Close()
	sync, err := b.syncd().Command(p, dir)
	if err != nil {
		return err
	}
	measure.WarmMemory(measure.WarmBytes)
	record := append([]string{"record", "-q", "-e", "cpu-clock", "-g", "-o", file, "--", sync.Path}, sync.Args[1:]...)
	if out, err := exec.CommandContext(ctx, "perf", record...).CombinedOutput(); err != nil {
		return fmt.Errorf("perf record: %w: %s", err, out)
	}
	report := exec.CommandContext(ctx, "perf", "report", "-i", file, "--no-children", "-g", "none", "--stdio", "--fields", "overhead,symbol", "--percent-limit", "0.5")
	report.Stdout, report.Stderr = os.Stdout, os.Stderr
	if err := report.Run(); err != nil {
		return fmt.Errorf("perf report: %w", err)
	}
	path, err := filepath.Abs(file)
	fmt.Printf("The samples are in %s, for `perf report -i`.\n", path)
	return err
}
