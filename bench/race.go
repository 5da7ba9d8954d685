package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
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
	return r.report(b, present, samples), nil
}

// manyFiles is the number of files from which a case deletes nothing before its end,
// see benchCase.run.
const manyFiles = 1000

// runOnce runs a contender and removes the fetched files, unless there are many. The
// scripts of other contenders leave their files unwritten in the page cache. runOnce writes
// them to the disk first, because an fsync of the contender would wait for them.
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
	unix.Sync()
	taken, err := measure.Run(ctx, cmd)
	if err == nil && c.Check != nil {
		err = c.Check(dir, len(p.Files()))
	}
	return taken, err
}

func (r race) report(b bench, present []contender.Contender, samples map[string][]measure.Sample) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s. Medians of the ratios of %d rounds.\n\n", r.what, b.runs)
	out.WriteString("| | against | wall | target | met | CPU | target | met |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.pairs {
		wall, cpu, found := p.ratios(samples)
		if !found {
			continue
		}
		name := p.against[0]
		if len(p.against) > 1 {
			name = "the better of the two"
		}
		wallFigure := table.Figure{Value: wall, Format: "%.2f", Target: p.wall}
		cpuFigure := table.Figure{Value: cpu, Format: "%.2f", Target: p.cpu}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", p.of, name, wallFigure.Cells(), cpuFigure.Cells())
	}
	var peaks []string
	for _, c := range present {
		peaks = append(peaks, fmt.Sprintf("%s %d MiB", c.Name, measure.Medians(samples[c.Name]).Peak/provider.MiB))
	}
	fmt.Fprintf(&out, "\nPeak memory of the largest process: %s.\n", strings.Join(peaks, "; "))
	return out.String()
}

// ratios returns the ratios of wall and CPU time. Against several contenders each is the
// ratio to the best, possibly of two different ones.
func (p pair) ratios(samples map[string][]measure.Sample) (wall, cpu float64, found bool) {
	for _, name := range p.against {
		if samples[p.of] == nil || samples[name] == nil {
			continue
		}
		w, c := measure.Ratios(samples[p.of], samples[name])
		wall, cpu, found = max(wall, w), max(cpu, c), true
	}
	return wall, cpu, found
}
