package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
)

// measure runs the contenders in turn, so that a machine that slows down affects all of
// them. Each round begins with another contender (A B C, B C A, C A B), so that none
// always follows the same one. The first round does not count.
func (r race) measure(ctx context.Context, b bench) (string, error) {
	p, err := provider.Start(ctx, b.work, b.smallerAll(r.sizes), r.over)
	if err != nil {
		return "", err
	}
	defer p.Close()
	var present []contender.Contender
	for _, c := range r.contenders(b) {
		if missing := c.Missing(); missing != nil {
			log.Printf("skipping %s: %s not installed", c.Name, strings.Join(missing, ", "))
			continue
		}
		present = append(present, c)
	}
	samples := map[string][]measure.Sample{}
	for round := range b.runs + 1 {
		first := round % len(present)
		for _, c := range append(present[first:len(present):len(present)], present[:first]...) {
			taken, err := b.runOnce(ctx, c, p)
			if err != nil {
				return "", fmt.Errorf("%s: %w", c.Name, err)
			}
			log.Printf("%s, %s: %.2f s, CPU %.2f s", r.name, c.Name, taken.Wall.Seconds(), taken.CPU.Seconds())
			if round > 0 {
				samples[c.Name] = append(samples[c.Name], taken)
			}
		}
	}
	return r.table(b, present, samples), nil
}

// manyFiles is the number of files from which a case deletes nothing before its end,
// see benchCase.run.
const manyFiles = 1000

// runOnce runs a contender and removes the fetched files, unless there are many. The
// scripts do not sync their files: without the removal, the kernel would write them out
// during the next run.
func (b bench) runOnce(ctx context.Context, c contender.Contender, p provider.Provider) (measure.Sample, error) {
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return measure.Sample{}, err
	}
	if len(p.Files()) < manyFiles {
		defer os.RemoveAll(dir)
	}
	if err := p.Forget(); err != nil { // frees the memory of the request log
		return measure.Sample{}, err
	}
	cmd, err := c.Command(p, dir)
	if err != nil {
		return measure.Sample{}, err
	}
	measure.WarmMemory(b.smaller(measure.WarmBytes))
	taken, err := measure.Run(ctx, cmd)
	if err == nil && c.Check != nil {
		err = c.Check(dir, len(p.Files()))
	}
	return taken, err
}

func (r race) table(b bench, present []contender.Contender, samples map[string][]measure.Sample) string {
	all := map[string]measure.Sample{}
	for name, taken := range samples {
		all[name] = measure.Medians(taken)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s. Ratios of the medians of %d runs.\n\n", r.what, b.runs)
	out.WriteString("| | against | wall | target | met | CPU | target | met |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.pairs {
		best, found := bestOf(all, p.against)
		if !found {
			continue
		}
		name := p.against[0]
		if len(p.against) > 1 {
			name = "the better of the two"
		}
		of := all[p.of]
		wall := figure{value: of.Wall.Seconds() / best.Wall.Seconds(), format: "%.2f", target: p.wall}
		cpu := figure{value: of.CPU.Seconds() / best.CPU.Seconds(), format: "%.2f", target: p.cpu}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", p.of, name, wall.cells(), cpu.cells())
	}
	var peaks []string
	for _, c := range present {
		peaks = append(peaks, fmt.Sprintf("%s %d MiB", c.Name, all[c.Name].Peak/provider.MiB))
	}
	fmt.Fprintf(&out, "\nPeak memory of the largest process: %s.\n", strings.Join(peaks, "; "))
	return out.String()
}

// bestOf returns the shortest wall time and the least CPU time, possibly of two
// different contenders.
func bestOf(all map[string]measure.Sample, names []string) (best measure.Sample, found bool) {
	for _, name := range names {
		taken, ok := all[name]
		if !ok {
			continue
		}
		if !found || taken.Wall < best.Wall {
			best.Wall = taken.Wall
		}
		if !found || taken.CPU < best.CPU {
			best.CPU = taken.CPU
		}
		found = true
	}
	return best, found
}
