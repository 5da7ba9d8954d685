package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// neighbour is another program that shares limited memory with syncd. It has read a file
// once, and the page cache holds all of it.
type neighbour struct {
	group measure.Cgroup
	file  string
	size  int64
}

// measureNeighbour measures how much of a neighbour's page cache is lost when syncd
// fetches and verifies more than the memory holds.
func measureNeighbour(ctx context.Context, b bench) (_ string, err error) {
	memory := max(256*provider.MiB, b.smaller(4*provider.GiB)) // less would not hold the processes
	group, err := measure.NewCgroup(memory)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	n := neighbour{group, filepath.Join(b.work, "neighbour"), memory / 2}
	if err := os.WriteFile(n.file, nil, 0o600); err != nil {
		return "", err
	}
	if err := os.Truncate(n.file, n.size); err != nil {
		return "", err
	}
	p, err := provider.Start(ctx, b.work, provider.Repeat(6, b.smaller(provider.GiB)), link.Link{HTTPS: true})
	if err != nil {
		return "", err
	}
	defer p.Close()
	sync, err := contender.SyncCommand(b.binary, p, b.work, contender.Settings{})
	if err != nil {
		return "", err
	}
	afterSync, err := n.loses(ctx, sync)
	if err != nil {
		return "", err
	}
	verify := exec.Command(b.binary, "--config", filepath.Join(b.work, "syncd.yaml"), "verify")
	afterVerify, err := n.loses(ctx, verify)
	return table.Figures("6 GiB in six files over https, in 4 GiB of memory. A neighbour has read 2 GiB once. Part of them that is no longer cached, in percent.", []table.Figure{
		table.Row("after a first sync", afterSync, "%.1f", 10),
		table.Row("after `syncd verify`", afterVerify, "%.1f", 10),
	}), err
}

// loses lets the neighbour read its file, runs a command beside it, and returns the
// percentage of the file that the page cache has lost.
func (n neighbour) loses(ctx context.Context, cmd *exec.Cmd) (float64, error) {
	// Pages read a second time would survive any writer.
	if err := measure.DropCache(n.file); err != nil {
		return 0, err
	}
	if _, err := measure.Run(ctx, n.group.Inside(exec.Command("dd", "if="+n.file, "of=/dev/null", "bs=1M", "status=none"))); err != nil {
		return 0, err
	}
	before, err := measure.Cached(n.file)
	if err != nil {
		return 0, err
	}
	if _, err := measure.Run(ctx, n.group.Inside(cmd)); err != nil {
		return 0, err
	}
	after, err := measure.Cached(n.file)
	log.Printf("neighbour: %.0f MiB cached before, %.0f MiB after", inMiB(before), inMiB(after))
	return percent(before-after, before), err
}
