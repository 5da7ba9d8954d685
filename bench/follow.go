package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// followedFiles is how many files of 4 KiB a follower gets.
const followedFiles = 3000

// measureFollow compares the first sync of a follower with curl, which fetches the same files
// from the same upstream and checks nothing.
func measureFollow(ctx context.Context, b bench) (string, error) {
	if missing := (contender.Contender{Needs: []string{"curl"}}).Missing(); missing != nil {
		return "", fmt.Errorf("%w: %s", errNoTool, strings.Join(missing, ", "))
	}
	e, err := provider.Emulate(ctx, b.work, b.smallerAll(provider.Repeat(followedFiles, 4*provider.KiB)))
	if err != nil {
		return "", err
	}
	defer e.Close()
	up, err := b.startUpstream(ctx, e, "", "")
	if err != nil {
		return "", err
	}
	figures, err := b.followFigures(ctx, up, len(e.Files()))
	if _, ended := up.End(); err != nil || ended != nil {
		return "", errors.Join(err, ended)
	}
	about := fmt.Sprintf("%d files of 4 KiB from another syncd over plain HTTP, beside `curl -Z` that fetches them from the same server. syncd also proves them, makes them durable and puts them into service.", len(e.Files()))
	return table.Figures(about, figures), nil
}

func (b bench) followFigures(ctx context.Context, up upstream, files int) ([]table.Figure, error) {
	var ours, theirs, names, served, servedTheirs, none []measure.Sample
	for round := range b.runs + 1 {
		for _, c := range []struct {
			to, server *[]measure.Sample
			command    func(dir string) (*exec.Cmd, error)
		}{
			{&ours, &served, func(dir string) (*exec.Cmd, error) { return b.followOnce(up, dir) }},
			{&theirs, &servedTheirs, func(dir string) (*exec.Cmd, error) { return curlFrom(up, dir, files) }},
			{&names, &none, func(dir string) (*exec.Cmd, error) { return contender.Names(dir, files) }},
		} {
			taken, server, err := b.runBeside(ctx, up, c.command)
			if err != nil {
				return nil, err
			}
			log.Printf("follow: %.3f s, CPU %.3f s, of the server %.3f s", taken.Wall.Seconds(), taken.CPU.Seconds(), server.CPU.Seconds())
			if round > 0 {
				*c.to, *c.server = append(*c.to, taken), append(*c.server, server)
			}
		}
	}
	wall, cpu := measure.Ratios(ours, theirs)
	_, server := measure.Ratios(served, servedTheirs)
	_, least := measure.Ratios(names, theirs)
	return []table.Figure{
		table.Row("seconds of a follower's first sync, relative to curl -Z", wall, "%.2f", 0.35),
		table.Row("CPU of the follower, relative to curl -Z", cpu, "%.2f", 0.35),
		table.Row("CPU of creating, renaming and linking as many files, and nothing else, relative to curl -Z", least, "%.2f", 0),
		table.Row("CPU of the server, relative to curl -Z", server, "%.2f", 0),
	}, nil
}

// runBeside runs a command in a new folder, and also returns what it cost the server.
func (b bench) runBeside(ctx context.Context, up upstream, command func(dir string) (*exec.Cmd, error)) (taken, server measure.Sample, err error) {
	dir, err := os.MkdirTemp(b.work, "run-")
	if err != nil {
		return taken, server, err
	}
	cmd, err := command(dir)
	if err != nil {
		return taken, server, err
	}
	unix.Sync()
	before, err := measure.CPUWithChildren(up.Process.PID())
	if err != nil {
		return taken, server, err
	}
	if taken, err = measure.Run(ctx, cmd); err != nil {
		return taken, server, err
	}
	after, err := measure.CPUWithChildren(up.Process.PID())
	return taken, measure.Sample{Wall: taken.Wall, CPU: after - before}, err
}

// followOnce returns the first sync of a follower.
func (b bench) followOnce(up upstream, dir string) (*exec.Cmd, error) {
	path := filepath.Join(dir, "syncd.yaml")
	text := fmt.Sprintf("source: {url: %q, customer_id: follower, report: true}\ndata_dir: %q\nmanifests: [{name: %s}]\n", up.url, filepath.Join(dir, "data"), provider.Manifest)
	return exec.Command(b.binary, "--config", path, "sync", "--quiet"), os.WriteFile(path, []byte(text), 0o600)
}

// curlFrom returns a curl that fetches the files with its default concurrency.
func curlFrom(up upstream, dir string, files int) (*exec.Cmd, error) {
	var list strings.Builder
	for i := range files {
		fmt.Fprintf(&list, "url = %q\noutput = %q\n", up.url+"/Download/Data/"+provider.Release+"/"+provider.NameOf(i)+askerID, provider.NameOf(i))
	}
	path := filepath.Join(dir, "files.curl")
	cmd := exec.Command("curl", "-sS", "--no-progress-meter", "--fail", "-L", "--parallel", "-K", path)
	cmd.Dir = dir
	return cmd, os.WriteFile(path, []byte(list.String()), 0o600)
}
