package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

// race is a case in which several contenders fetch the same files in turn.
type race struct {
	name, what string
	sizes      []int64
	over       link
	contenders func(bench) []contender
	pairs      []pair
}

// pair compares one contender with the best of others. wall and cpu are the highest
// ratios that meet the target; 0 means no target.
type pair struct {
	of        string
	against   []string
	wall, cpu float64
}

func races() []race {
	return []race{
		{
			name: "big", what: "7 files, 800 MiB, one of 500 MiB",
			sizes: mixed(append(repeat(6, 50*mib), 500*mib)), contenders: allContenders, pairs: against(1),
		},
		{
			name: "typical", what: "60 files from 1 KiB to 128 MiB",
			sizes: mixed(spread(60, kib, 128*mib)), contenders: allContenders, pairs: against(1),
		},
		{
			name: "many", what: "3,000 files of 4 KiB",
			sizes:      repeat(3000, 4*kib),
			contenders: func(b bench) []contender { return append(allContenders(b), bareLoop()) },
			pairs: append(against(1.5),
				pair{of: loopName, against: []string{wgetName, curlName}},
				pair{of: "syncd", against: []string{loopName}}),
		},
		{
			name: "capped", what: "one file of 512 MiB, 12 MB/s a connection",
			sizes: []int64{512 * mib}, over: link{rate: 12e6},
			contenders: func(b bench) []contender {
				return []contender{b.contender("syncd", settings{}), aria("aria2 -x4 -s4", "-x4 -s4")}
			},
			pairs: []pair{{of: "syncd", against: []string{"aria2 -x4 -s4"}, wall: 1}},
		},
		{
			name: "uncapped", what: "one file of 512 MiB",
			sizes: []int64{512 * mib},
			contenders: func(b bench) []contender {
				return []contender{b.contender("syncd, segments: 4", settings{segments: 4}), b.contender("syncd, segments: 1", settings{segments: 1})}
			},
			pairs: []pair{{of: "syncd, segments: 4", against: []string{"syncd, segments: 1"}, wall: 1}},
		},
		{
			name: "latency", what: "60 files from 1 KiB to 1 MiB, a round trip of 50 ms",
			sizes: mixed(spread(60, kib, mib)), over: link{roundTrip: 50 * time.Millisecond},
			contenders: func(b bench) []contender {
				return []contender{
					b.contender("syncd, files: 16", settings{files: 16}),
					b.contender("syncd, its defaults", settings{}),
					aria("aria2 -j16", "-j16"),
				}
			},
			pairs: []pair{
				{of: "syncd, files: 16", against: []string{"aria2 -j16"}, wall: 1},
				{of: "syncd, its defaults", against: []string{"aria2 -j16"}},
			},
		},
	}
}

// allContenders gives each tool the number of connections that was fastest for it, of 2,
// 4, 8, 16 and 32.
func allContenders(b bench) []contender {
	return []contender{b.contender("syncd", settings{}), wget(16), curl(8), aria(ariaName, "-j8")}
}

// against returns the pairs of a race of all contenders.
func against(cpu float64) []pair {
	return []pair{
		{of: "syncd", against: []string{wgetName}},
		{of: "syncd", against: []string{curlName}},
		{of: "syncd", against: []string{wgetName, curlName}, wall: 1, cpu: cpu},
		{of: "syncd", against: []string{ariaName}, wall: 0.5},
	}
}

// measure runs the contenders in turn, so that a machine that slows down affects all of
// them. Each round begins with another contender (A B C, B C A, C A B), so that none
// always follows the same one. The first round does not count.
func (r race) measure(ctx context.Context, b bench) (string, error) {
	s, err := b.serve(ctx, b.smallerAll(r.sizes), r.over)
	if err != nil {
		return "", err
	}
	defer s.emulator.Close()
	var present []contender
	for _, c := range r.contenders(b) {
		if missing := c.missing(); missing != nil {
			log.Printf("skipping %s: %s not installed", c.name, strings.Join(missing, ", "))
			continue
		}
		present = append(present, c)
	}
	samples := map[string][]sample{}
	for round := range b.runs + 1 {
		first := round % len(present)
		for _, c := range append(present[first:len(present):len(present)], present[:first]...) {
			taken, err := b.runOnce(ctx, c, s)
			if err != nil {
				return "", fmt.Errorf("%s: %w", c.name, err)
			}
			log.Printf("%s, %s: %.2f s, CPU %.2f s", r.name, c.name, taken.wall.Seconds(), taken.cpu.Seconds())
			if round > 0 {
				samples[c.name] = append(samples[c.name], taken)
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
func (b bench) runOnce(ctx context.Context, c contender, s *served) (sample, error) {
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return sample{}, err
	}
	if len(s.files) < manyFiles {
		defer os.RemoveAll(dir)
	}
	s.emulator.ResetRequests() // frees the memory of the request log
	cmd, err := c.command(s, dir)
	if err != nil {
		return sample{}, err
	}
	warmMemory(b.smaller(warmBytes))
	taken, err := measureProcess(ctx, cmd)
	if err == nil && c.check != nil {
		err = c.check(dir, len(s.files))
	}
	return taken, err
}

func (r race) table(b bench, present []contender, samples map[string][]sample) string {
	all := map[string]sample{}
	for name, taken := range samples {
		all[name] = medians(taken)
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
		wall := figure{value: of.wall.Seconds() / best.wall.Seconds(), format: "%.2f", target: p.wall}
		cpu := figure{value: of.cpu.Seconds() / best.cpu.Seconds(), format: "%.2f", target: p.cpu}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", p.of, name, wall.cells(), cpu.cells())
	}
	var peaks []string
	for _, c := range present {
		peaks = append(peaks, fmt.Sprintf("%s %d MiB", c.name, all[c.name].peak/mib))
	}
	fmt.Fprintf(&out, "\nPeak memory of the largest process: %s.\n", strings.Join(peaks, "; "))
	return out.String()
}

// bestOf returns the shortest wall time and the least CPU time, possibly of two
// different contenders.
func bestOf(all map[string]sample, names []string) (best sample, found bool) {
	for _, name := range names {
		taken, ok := all[name]
		if !ok {
			continue
		}
		if !found || taken.wall < best.wall {
			best.wall = taken.wall
		}
		if !found || taken.cpu < best.cpu {
			best.cpu = taken.cpu
		}
		found = true
	}
	return best, found
}
