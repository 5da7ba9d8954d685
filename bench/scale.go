package main

import (
	"context"
	"log"
	"math"
)

// measureScale syncs growing numbers of files of 1 KiB. It syncs 100,000 files only once.
func measureScale(ctx context.Context, b bench) (string, error) {
	counts := []int64{2500, 10_000, 100_000}
	taken := make([]sample, len(counts))
	for i, count := range counts {
		runs, warmUps := min(b.runs, 3), 1
		if count == 100_000 {
			runs, warmUps = 1, 0
		}
		var err error
		if taken[i], err = b.alone(ctx, "scale", repeat(b.smaller(count), kib), runs, warmUps); err != nil {
			return "", err
		}
	}
	cpu := func(i int) float64 { return taken[i].cpu.Seconds() }
	return figuresTable("First syncs of files of 1 KiB. The target for CPU is 4.4 for each fourfold number of files; 4.0 would be linear.", []figure{
		{"CPU of 10,000 files, relative to 2,500", cpu(1) / cpu(0), "%.2f", 4.4},
		{"CPU of 100,000 files, relative to 10,000, for each fourfold", math.Pow(cpu(2)/cpu(1), math.Log(4)/math.Log(10)), "%.2f", 4.4},
		{"peak memory at 10,000 files, MiB", inMiB(taken[1].peak), "%.0f", 64},
		{"peak memory at 100,000 files, MiB", inMiB(taken[2].peak), "%.0f", 200},
	}), nil
}

// measureHuge measures the memory that one very large file needs.
func measureHuge(ctx context.Context, b bench) (string, error) {
	taken, err := b.alone(ctx, "huge", []int64{b.smaller(10 * gib)}, 1, 0)
	return figuresTable("The first sync of one file of 10 GiB.", []figure{
		{"peak memory, MiB", inMiB(taken.peak), "%.0f", 64},
	}), err
}

// alone measures syncd without other contenders.
func (b bench) alone(ctx context.Context, name string, sizes []int64, runs, warmUps int) (sample, error) {
	s, err := b.serve(ctx, sizes, link{})
	if err != nil {
		return sample{}, err
	}
	defer s.emulator.Close()
	syncd := b.contender("syncd", settings{})
	var samples []sample
	for round := range warmUps + runs {
		taken, err := b.runOnce(ctx, syncd, s)
		if err != nil {
			return sample{}, err
		}
		log.Printf("%s, %d files: %.2f s, CPU %.2f s, %.0f MiB", name, len(sizes), taken.wall.Seconds(), taken.cpu.Seconds(), inMiB(taken.peak))
		if round >= warmUps {
			samples = append(samples, taken)
		}
	}
	return medians(samples), nil
}

func inMiB(bytes int64) float64 { return float64(bytes) / float64(mib) }

func percent(part, whole int64) float64 {
	return 100 * float64(part) / float64(whole)
}
