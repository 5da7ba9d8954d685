package main

import (
	"context"
	"log"
	"math"
	"os"
	"path/filepath"

	"syncd/internal/emulator"
)

// measureMonthly syncs a release and then its successor, of which a tenth is new. It
// deletes nothing, because retain_for keeps the old release. Writes of the state and of
// the file system's journal count too.
func measureMonthly(ctx context.Context, b bench) (string, error) {
	const count, changed = 100, 10
	size := max(64*kib, b.smaller(8*mib))
	s, err := b.serve(ctx, repeat(count, size), link{})
	if err != nil {
		return "", err
	}
	defer s.emulator.Close()
	dir := filepath.Join(b.work, "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if _, err := b.syncInto(ctx, s, dir); err != nil {
		return "", err
	}
	if err := b.publishNext(s, changed, size); err != nil {
		return "", err
	}
	s.emulator.ResetRequests()
	taken, err := b.syncInto(ctx, s, dir)
	if err != nil {
		return "", err
	}
	log.Printf("monthly: %.2f s, CPU %.2f s", taken.wall.Seconds(), taken.cpu.Seconds())
	fresh := changed * size
	return figuresTable("The next release of 100 files of 8 MiB, ten of them new. Difference from the size of the new files, in percent.", []figure{
		{"bodies sent by the provider", math.Abs(percent(s.sent("")-fresh, fresh)), "%.2f", 2},
		{"written to disk, state and journal included", math.Abs(percent(taken.io.written-fresh, fresh)), "%.2f", 2},
	}), nil
}

// syncInto syncs into dir, which may hold an older release.
func (b bench) syncInto(ctx context.Context, s *served, dir string) (sample, error) {
	cmd, err := b.syncCommand(s, dir, settings{})
	if err != nil {
		return sample{}, err
	}
	taken, err := measureProcess(ctx, cmd)
	if err != nil {
		return sample{}, err
	}
	return taken, mirrored(dir, len(s.files))
}

// publishNext publishes a newer release, in which the first files have new content.
func (b bench) publishNext(s *served, changed int, size int64) error {
	var files []emulator.File
	for i := range s.files {
		number := i
		if i < changed {
			number = len(s.files) + i
		}
		f, err := b.file(number, size)
		if err != nil {
			return err
		}
		f.Name = s.files[i].name
		files = append(files, f)
	}
	s.emulator.SetManifest(manifestName, "2026.11", files...)
	return nil
}
