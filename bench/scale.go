package main

import (
	"context"
	"log"

	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
)

// measureScale syncs growing numbers of files of 1 KiB. It syncs the larger ones once.
func measureScale(ctx context.Context, b bench) (string, error) {
	counts := []int64{10_000, 100_000, 250_000}
	taken := make([]measure.Sample, len(counts))
	for i, count := range counts {
		runs, warmUps := min(b.runs, 3), 1
		if i > 0 {
			runs, warmUps = 1, 0
		}
		var err error
		if taken[i], err = b.alone(ctx, "scale", provider.Repeat(b.smaller(count), provider.KiB), runs, warmUps); err != nil {
			return "", err
		}
	}
	perFile := func(i int) float64 { return taken[i].CPU.Seconds() / float64(counts[i]) }
	return figuresTable("First syncs of files of 1 KiB.", []figure{
		{"CPU per file at 10,000 files, ms", 1000 * perFile(0) * float64(b.shrink), "%.2f", 0},
		{"CPU per file at 100,000 files, relative to 10,000", perFile(1) / perFile(0), "%.2f", 1.1},
		{"CPU per file at 250,000 files, relative to 10,000", perFile(2) / perFile(0), "%.2f", 1.1},
		{"peak memory at 10,000 files, MiB", inMiB(taken[0].Peak), "%.0f", 64},
		{"peak memory at 100,000 files, MiB", inMiB(taken[1].Peak), "%.0f", 200},
		{"peak memory at 250,000 files, MiB", inMiB(taken[2].Peak), "%.0f", 0},
	}), nil
}

// measureHuge measures the memory that one very large file needs.
func measureHuge(ctx context.Context, b bench) (string, error) {
	taken, err := b.alone(ctx, "huge", []int64{b.smaller(10 * provider.GiB)}, 1, 0)
	return figuresTable("The first sync of one file of 10 GiB.", []figure{
		{"peak memory, MiB", inMiB(taken.Peak), "%.0f", 64},
	}), err
}

// alone measures syncd without other contenders.
func (b bench) alone(ctx context.Context, name string, sizes []int64, runs, warmUps int) (measure.Sample, error) {
	p, err := provider.Start(ctx, b.work, sizes, link.Link{})
	if err != nil {
		return measure.Sample{}, err
	}
	defer p.Close()
	var samples []measure.Sample
	for round := range warmUps + runs {
		taken, err := b.runOnce(ctx, b.syncd(), p)
		if err != nil {
			return measure.Sample{}, err
		}
		log.Printf("%s, %d files: %.2f s, CPU %.2f s, %.0f MiB", name, len(sizes), taken.Wall.Seconds(), taken.CPU.Seconds(), inMiB(taken.Peak))
		if round >= warmUps {
			samples = append(samples, taken)
		}
	}
	return measure.Medians(samples), nil
}

func inMiB(bytes int64) float64 { return float64(bytes) / float64(provider.MiB) }

func percent(part, whole int64) float64 {
	return 100 * float64(part) / float64(whole)
}
