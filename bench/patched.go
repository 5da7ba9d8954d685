package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/emulator"
)

// measurePatched measures followers that get a large file, of which little changed, as a
// patch. One of them is killed halfway.
func measurePatched(ctx context.Context, b bench) (text string, err error) {
	pair, err := writePair(b.work, b.fitting(10*provider.GiB), false)
	if err != nil {
		return "", err
	}
	e, err := provider.Emulate(ctx, b.work, []int64{1})
	if err != nil {
		return "", err
	}
	defer e.Close()
	publish := func(release, side string) {
		e.SetManifest(provider.Manifest, release, emulator.File{Name: "rows.csv", Content: emulator.OnDisk(filepath.Join(pair.dir, side, "rows.csv"))})
	}
	publish(provider.Release, "before")
	up, err := b.startUpstream(ctx, e, "", "publish: {patches: {from: 1}}\nschedule: \"@every 1s\"\njitter: 0s\n")
	if err != nil {
		return "", err
	}
	defer func() {
		_, ended := up.End()
		err = errors.Join(err, ended)
	}()
	var followers []follower
	for _, name := range []string{"whole", "killed"} {
		f := follower{bench: b, up: up, dir: filepath.Join(b.work, name)}
		if err := os.Mkdir(f.dir, 0o755); err != nil {
			return "", err
		}
		if _, err := f.sync(ctx); err != nil {
			return "", err
		}
		followers = append(followers, f)
	}
	publish("2026.11", "after")
	made, err := up.nextPatch(ctx)
	if err != nil {
		return "", err
	}
	taken, err := followers[0].sync(ctx)
	if err != nil {
		return "", err
	}
	size := float64(made.New.Size)
	figures := []table.Figure{
		table.Row("bytes that came, percent of the file", percent(taken.bytes, made.New.Size), "%.2f", 0.5),
		table.Row("seconds a GB", taken.Wall.Seconds()/size*1e9, "%.1f", 5),
		table.Row("CPU seconds a GB", taken.CPU.Seconds()/size*1e9, "%.1f", 0),
		table.Row("peak memory of the whole process, MiB", inMiB(taken.Peak), "%.0f", 128),
	}
	if b.shrink <= 10 { // a small file arrives before the kill
		again, err := followers[1].killHalfway(ctx, made)
		if err != nil {
			return "", err
		}
		figures = append(figures, table.Row("kill -9 halfway: bytes of the patch that came twice, percent of it", again, "%.2f", 1))
	}
	return table.Figures(fmt.Sprintf("A follower's sync of a file of %.1f GiB, of whose rows one in 1,000 went, came or changed.", size/float64(provider.GiB)), figures), nil
}

// follower is a host that follows the upstream.
type follower struct {
	bench
	up  upstream
	dir string
}

// synced is what a sync took, and how many bytes came.
type synced struct {
	measure.Sample
	bytes int64
}

func (f follower) command() (*exec.Cmd, error) {
	cmd, err := f.followOnce(f.up, f.dir)
	if err == nil {
		cmd.Args[len(cmd.Args)-1] = "--json"
	}
	return cmd, err
}

func (f follower) sync(ctx context.Context) (s synced, err error) {
	cmd, err := f.command()
	if err != nil {
		return s, err
	}
	var out strings.Builder
	cmd.Stdout = &out
	started, err := measure.Start(ctx, cmd)
	if err != nil {
		return s, err
	}
	if s.Sample, err = started.Wait(); err != nil {
		return s, fmt.Errorf("%w: %s", err, out.String())
	}
	var result struct {
		Manifests []struct {
			Bytes int64 `json:"bytes_downloaded"`
		} `json:"manifests"`
	}
	if err := json.Unmarshal([]byte(out.String()), &result); err != nil || len(result.Manifests) != 1 {
		return s, fmt.Errorf("%w: %s", err, out.String())
	}
	s.bytes = result.Manifests[0].Bytes
	log.Printf("patched: %.2f s, CPU %.2f s, %d bytes", s.Wall.Seconds(), s.CPU.Seconds(), s.bytes)
	return s, nil
}

// nextPatch waits until the upstream has made the patch from one content to the next.
func (up upstream) nextPatch(ctx context.Context) (made *patch.Patch, err error) {
	folder := filepath.Join(up.Dir, "data", bucket.Patches)
	err = measure.WaitFor(ctx, "a patch", func() (bool, error) {
		names, err := os.ReadDir(folder)
		for _, name := range names {
			before, after, ok := bucket.ParsePatchName(bucket.Patches + name.Name())
			if !ok || before == bucket.Empty {
				continue
			}
			var sides [2]patch.Identity
			for i, id := range []patch.Identity{{Digest: before}, {Digest: after}} {
				info, err := os.Stat(filepath.Join(up.Dir, "data", filepath.FromSlash(bucket.ObjectName(id.Digest))))
				if err != nil {
					return false, err
				}
				sides[i] = patch.Identity{Digest: id.Digest, Size: info.Size()}
			}
			file, err := os.Open(filepath.Join(folder, name.Name()))
			if err != nil {
				return false, err
			}
			defer file.Close()
			made, err = patch.Open(file, sides[0], sides[1])
			return true, err
		}
		return false, err
	})
	return made, err
}

// killHalfway returns the percentage of the patch that came twice: the next process begins
// with the segment in which the killed one was.
func (f follower) killHalfway(ctx context.Context, made *patch.Patch) (float64, error) {
	cmd, err := f.command()
	if err != nil {
		return 0, err
	}
	started, err := measure.Start(ctx, cmd)
	if err != nil {
		return 0, err
	}
	err = measure.WaitFor(ctx, "half of the file", func() (bool, error) {
		return measure.CountsOf(started.PID()).Passed >= made.New.Size/2 || started.Ended(), nil
	})
	started.Kill()
	_, _ = started.Wait() // it was killed
	if err != nil {
		return 0, err
	}
	partial, err := os.Stat(filepath.Join(f.dir, "data", "partial", "sha256-"+made.New.Digest.String()))
	if err != nil {
		return 0, fmt.Errorf("the sync was over before it could be killed: %w", err)
	}
	after, err := f.sync(ctx)
	if err != nil {
		return 0, err
	}
	have := made.Offset(made.Complete(partial.Size()))
	log.Printf("patched: killed with %d bytes of %d, which %d of the %d bytes of the patch made", partial.Size(), made.New.Size, have, made.Size())
	return percent(have+after.bytes-made.Size(), made.Size()), nil
}
