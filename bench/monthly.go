package main

import (
	"context"
	"log"
	"math"
	"os"
	"path/filepath"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/emulator"
)

// measureMonthly syncs a release and then its successor, of which a tenth is new. It
// deletes nothing, because retain_for keeps the old release. Writes of the state and of
// the file system's journal count too.
func measureMonthly(ctx context.Context, b bench) (string, error) {
	const count, changed = 100, 10
	size := max(64*provider.KiB, b.smaller(8*provider.MiB))
	e, err := provider.Emulate(ctx, b.work, provider.Repeat(count, size))
	if err != nil {
		return "", err
	}
	defer e.Close()
	dir := filepath.Join(b.work, "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if _, err := b.syncInto(ctx, e, dir); err != nil {
		return "", err
	}
	if err := publishNext(e, changed, size); err != nil {
		return "", err
	}
	e.ResetRequests()
	taken, err := b.syncInto(ctx, e, dir)
	if err != nil {
		return "", err
	}
	log.Printf("monthly: %.2f s, CPU %.2f s", taken.Wall.Seconds(), taken.CPU.Seconds())
	fresh := changed * size
	return table.Figures("The next release of 100 files of 8 MiB, ten of them new. Difference from the size of the new files, in percent.", []table.Figure{
		table.Row("bodies sent by the provider", math.Abs(percent(e.SentByAll()-fresh, fresh)), "%.2f", 2),
		table.Row("written to disk, state and journal included", math.Abs(percent(taken.IO.Written-fresh, fresh)), "%.2f", 2),
	}), nil
}

// syncInto syncs into dir, which may hold an older release.
func (b bench) syncInto(ctx context.Context, p provider.Provider, dir string) (measure.Sample, error) {
	cmd, err := contender.SyncCommand(b.binary, p, dir, contender.Settings{})
	if err != nil {
		return measure.Sample{}, err
	}
	taken, err := measure.Run(ctx, cmd)
	if err != nil {
		return measure.Sample{}, err
	}
	return taken, contender.Mirrored(dir, len(p.Files()))
}

// publishNext publishes a newer release, in which the first files have new content.
func publishNext(e *provider.Emulated, changed int, size int64) error {
	var files []emulator.File
	for i := range e.Files() {
		number := i
		if i < changed {
			number = len(e.Files()) + i
		}
		f, err := e.Content(number, size)
		if err != nil {
			return err
		}
		f.Name = e.Files()[i].Name
		files = append(files, f)
	}
	e.SetManifest(provider.Manifest, "2026.11", files...)
	return nil
}
