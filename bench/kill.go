package main

import (
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"

	"syncd/internal/emulator"
)

// measureKill kills a sync halfway through one file and syncs again: on a plain link,
// and on one where several connections are faster than one.
func measureKill(ctx context.Context, b bench) (string, error) {
	var figures []figure
	for _, way := range []struct {
		what string
		over link
	}{
		{"on an uncapped link", link{}},
		{"12 MB/s a connection", link{rate: 12e6}},
	} {
		if b.shrink > 1 && way.over == (link{}) {
			continue // a small file arrives before the kill
		}
		again, err := b.killHalfway(ctx, max(12*mib, b.smaller(gib)), way.over)
		if err != nil {
			return "", err
		}
		figures = append(figures, figure{"fetched again, percent, " + way.what, again, "%.2f", 1})
	}
	return figuresTable("kill -9 halfway through one file of 1 GiB, then another sync.", figures), nil
}

// killHalfway returns the percentage of the file that was fetched twice. The first
// process fetched the bytes that it had written to its file when it was killed. Bytes in
// socket buffers do not count, although the server had sent them.
func (b bench) killHalfway(ctx context.Context, size int64, over link) (float64, error) {
	s, err := b.serve(ctx, []int64{size}, over)
	if err != nil {
		return 0, err
	}
	defer s.emulator.Close()
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return 0, err
	}
	first, err := b.syncUntil(ctx, s, dir, size/2)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(filepath.Join(dir, "data", "current")); err == nil {
		return 0, errors.New("the sync was over before it could be killed")
	}
	s.emulator.ResetRequests()
	if _, err := b.syncInto(ctx, s, dir); err != nil {
		return 0, err
	}
	second := s.sent(emulator.HostDownload)
	log.Printf("kill: %.1f of %.1f MiB before, %.1f MiB after", inMiB(first), inMiB(size), inMiB(second))
	return percent(first+second-size, size), nil
}

// syncUntil kills a sync that has written enough bytes, and returns how many it had
// written when it died.
func (b bench) syncUntil(ctx context.Context, s *served, dir string, enough int64) (int64, error) {
	cmd, err := b.syncCommand(s, dir, settings{})
	if err != nil {
		return 0, err
	}
	p, err := startProcess(ctx, cmd)
	if err != nil {
		return 0, err
	}
	err = waitFor(ctx, "half of the file", func() (bool, error) {
		return countsOf(p.pid()).passed >= enough || p.ended(), nil
	})
	p.kill()
	taken, _ := p.wait() // the error is that of the kill
	return taken.io.passed, err
}
