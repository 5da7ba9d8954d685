package main

import (
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// measureKill kills a sync halfway through one file and syncs again: on fast links, and
// on one where several connections are faster than one.
func measureKill(ctx context.Context, b bench) (string, error) {
	var figures []table.Figure
	for _, way := range []struct {
		what string
		over link.Link
	}{
		{"plain, uncapped", link.Link{}},
		{"https, uncapped", link.Link{HTTPS: true}},
		{"https, 12 MB/s a connection", link.Link{HTTPS: true, Rate: 12e6}},
	} {
		if b.shrink > 1 && way.over.Rate == 0 {
			continue // a small file arrives before the kill
		}
		again, err := b.killHalfway(ctx, max(12*provider.MiB, b.smaller(provider.GiB)), way.over)
		if err != nil {
			return "", err
		}
		figures = append(figures, table.Row("fetched again, percent, "+way.what, again, "%.2f", 1))
	}
	return table.Figures("kill -9 halfway through one file of 1 GiB, then another sync.", figures), nil
}

// killHalfway returns the percentage of the file that was fetched twice. The first
// process fetched the bytes that it had written to its file when it was killed. Bytes in
// socket buffers do not count, although the server had sent them.
func (b bench) killHalfway(ctx context.Context, size int64, over link.Link) (float64, error) {
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	p, err := provider.Start(ctx, dir, []int64{size}, over)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	first, err := b.syncUntil(ctx, p, dir, size/2)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(filepath.Join(dir, "data", "current")); err == nil {
		return 0, errors.New("the sync was over before it could be killed")
	}
	if _, err := p.Sent(ctx); err != nil { // the log is complete when the killed connections have ended
		return 0, err
	}
	if err := p.Forget(); err != nil {
		return 0, err
	}
	if _, err := b.syncInto(ctx, p, dir); err != nil {
		return 0, err
	}
	second, err := p.Sent(ctx)
	log.Printf("kill: %.1f of %.1f MiB before, %.1f MiB after", inMiB(first), inMiB(size), inMiB(second))
	return percent(first+second-size, size), err
}

// syncUntil kills a sync that has written enough bytes, and returns how many it had
// written when it died.
func (b bench) syncUntil(ctx context.Context, p provider.Provider, dir string, enough int64) (int64, error) {
	cmd, err := contender.SyncCommand(b.binary, p, dir, contender.Settings{})
	if err != nil {
		return 0, err
	}
	started, err := measure.Start(ctx, cmd)
	if err != nil {
		return 0, err
	}
	err = measure.WaitFor(ctx, "half of the file", func() (bool, error) {
		return measure.CountsOf(started.PID()).Passed >= enough || started.Ended(), nil
	})
	started.Kill()
	taken, _ := started.Wait() // it was killed
	return taken.IO.Passed, err
}
