package main

import (
	"context"
	"fmt"
	"log"

	"github.com/dustin/go-humanize"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// scaleCounts are the numbers of files of the case scale.
var scaleCounts = []int64{10_000, 100_000, 250_000}

// measureScale fetches growing numbers of files of 1 KiB with syncd and with the bare Go
// loop. The loop shows which part of a growing cost comes from the requests, the files and
// the server beside it. The larger numbers are fetched once.
func measureScale(ctx context.Context, b bench) (string, error) {
	var syncd, loop []measure.Sample
	for i, count := range scaleCounts {
		runs, warmUps := min(b.runs, 3), 1
		if i > 0 {
			runs, warmUps = 1, 0
		}
		samples, err := b.inTurn(ctx, "scale", provider.Repeat(b.smaller(count), provider.KiB), runs, warmUps, b.syncd(), contender.BareLoop())
		if err != nil {
			return "", err
		}
		syncd, loop = append(syncd, samples[0]), append(loop, samples[1])
	}
	largest := scaleCounts[len(scaleCounts)-1]
	peak, err := b.peakServing(ctx, b.smaller(largest))
	if err != nil {
		return "", err
	}
	figures := append(b.scaleFigures(syncd, loop), table.Row("peak memory at "+humanize.Comma(largest)+" files of a daemon with `serve`, MiB", inMiB(peak), "%.0f", 200))
	return table.Figures("First syncs of files of 1 KiB.", figures), nil
}

// peakServing returns the peak memory of a daemon that mirrors files for others, for the first
// time. It also asks for the Metadata of each file.
func (b bench) peakServing(ctx context.Context, files int64) (peak int64, err error) {
	e, err := provider.Emulate(ctx, b.work, provider.Repeat(files, provider.KiB))
	if err != nil {
		return 0, err
	}
	defer e.Close()
	up, err := b.startUpstream(ctx, e, "", "")
	if err != nil {
		return 0, err
	}
	taken, err := up.End()
	return taken.Peak, err
}

func (b bench) scaleFigures(syncd, loop []measure.Sample) (figures []table.Figure) {
	cpu := func(of []measure.Sample, i int) float64 { // for each file, in ms
		return 1000 * of[i].CPU.Seconds() / float64(b.smaller(scaleCounts[i]))
	}
	for i, count := range scaleCounts {
		what := "CPU per file at " + humanize.Comma(count) + " files"
		figures = append(figures,
			table.Row(what+", ms", cpu(syncd, i), "%.2f", 0),
			table.Row("the same of "+contender.LoopName+", ms", cpu(loop, i), "%.2f", 0))
		if i > 0 {
			figures = append(figures,
				table.Row(what+", relative to 10,000", cpu(syncd, i)/cpu(syncd, 0), "%.2f", 1.1),
				table.Row("the same of "+contender.LoopName, cpu(loop, i)/cpu(loop, 0), "%.2f", 0))
		}
	}
	for i, target := range []float64{64, 200, 200} {
		figures = append(figures, table.Row("peak memory at "+humanize.Comma(scaleCounts[i])+" files, MiB", inMiB(syncd[i].Peak), "%.0f", target))
	}
	return figures
}

// measureHuge measures the memory that one very large file needs.
func measureHuge(ctx context.Context, b bench) (string, error) {
	samples, err := b.inTurn(ctx, "huge", []int64{b.smaller(10 * provider.GiB)}, 1, 0, b.syncd())
	if err != nil {
		return "", err
	}
	return table.Figures("The first sync of one file of 10 GiB.", []table.Figure{
		table.Row("peak memory, MiB", inMiB(samples[0].Peak), "%.0f", 64),
	}), nil
}

// inTurn runs contenders one after the other in each round, and returns the medians of
// each.
func (b bench) inTurn(ctx context.Context, name string, sizes []int64, runs, warmUps int, all ...contender.Contender) ([]measure.Sample, error) {
	p, err := provider.Start(ctx, b.work, sizes, link.Link{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	samples := make([][]measure.Sample, len(all))
	for round := range warmUps + runs {
		for i, c := range all {
			taken, err := b.runOnce(ctx, c, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			log.Printf("%s, %s, %d files: %.2f s, CPU %.2f s, %.0f MiB", name, c.Name, len(sizes), taken.Wall.Seconds(), taken.CPU.Seconds(), inMiB(taken.Peak))
			if round >= warmUps {
				samples[i] = append(samples[i], taken)
			}
		}
	}
	medians := make([]measure.Sample, len(all))
	for i := range all {
		medians[i] = measure.Medians(samples[i])
	}
	return medians, nil
}

func inMiB(bytes int64) float64 { return float64(bytes) / float64(provider.MiB) }

func percent(part, whole int64) float64 {
	return 100 * float64(part) / float64(whole)
}
