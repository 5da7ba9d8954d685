package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/bench/internal/daemon"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/internal/emulator"
)

// run is a run of one upstream and its followers on this machine, all of them processes,
// over https.
type run struct {
	binary, work string
	followers    int
	files        int
	size         int64 // of each file
}

// ran is what a run gave.
type ran struct {
	measured
	provider float64 // bytes of files that the provider sent, relative to a release
	origin   float64 // bytes that the upstream sent, relative to all that the followers took
	seconds  float64 // from the release until the last follower serves it
}

// address is where followers find the upstream.
type address struct{ url, caFile string }

func (a address) URL() string    { return a.url }
func (a address) CAFile() string { return a.caFile }

const frequent = "schedule: \"@every 1s\"\njitter: 0s\n"

// run has the provider publish a release, waits until all followers serve it, and
// measures the CPU of both sides.
func (r run) measure(ctx context.Context) (result ran, err error) {
	e, err := provider.Emulate(ctx, r.work, nil)
	if err != nil {
		return result, err
	}
	defer e.Close()
	if err := r.release(e, "2026.11", 0); err != nil {
		return result, err
	}
	up, at, err := r.startUpstream(ctx, e)
	if err != nil {
		return result, err
	}
	all := []*daemon.Daemon{up}
	defer func() {
		for _, d := range all {
			_, ended := d.End()
			err = errors.Join(err, ended)
		}
	}()
	for i := range r.followers {
		more := fmt.Sprintf("http: {listen: \"127.0.%d.%d:0\"}\n%smanifests: [{name: %s}]\n", 1+i/250, 1+i%250, frequent, provider.Manifest)
		f, err := daemon.Start(ctx, r.binary, r.work, at, more)
		if err != nil {
			return result, err
		}
		all = append(all, f)
		log.Printf("follower %d of %d runs", i+1, r.followers)
	}
	for _, f := range all[1:] {
		if err := untilChanged(f); err != nil {
			return result, err
		}
	}
	return r.measureRelease(ctx, e, up, all[1:])
}

// startUpstream starts the upstream, and returns when its first sync is done.
func (r run) startUpstream(ctx context.Context, e *provider.Emulated) (*daemon.Daemon, address, error) {
	if err := provider.WriteCertificates(r.work); err != nil {
		return nil, address{}, err
	}
	config := filepath.Join(r.work, "serve.yml")
	text := fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n", filepath.Join(r.work, "cert.pem"), filepath.Join(r.work, "key.pem"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, address{}, err
	}
	up, err := daemon.Start(ctx, r.binary, r.work, e, fmt.Sprintf(
		"http: {listen: \"127.0.0.1:0\"}\nserve: {listen: \"127.0.0.1:0\", public_url: \"https://localhost\", web_config: %q}\n%smanifests: [{name: %s}]\n",
		config, frequent, provider.Manifest))
	if err != nil {
		return nil, address{}, err
	}
	serving, err := up.Next("serving followers")
	if err == nil {
		err = untilChanged(up)
	}
	if err != nil {
		_, ended := up.End()
		return nil, address{}, errors.Join(err, ended)
	}
	return up, address{"https://" + serving.Address, filepath.Join(r.work, "ca.pem")}, nil
}

// release publishes a release whose files are all new.
func (r run) release(e *provider.Emulated, name string, first int) error {
	var files []emulator.File
	for i := range r.files {
		f, err := e.Content(first+i, r.size)
		if err != nil {
			return err
		}
		f.Name = provider.NameOf(i)
		files = append(files, f)
	}
	e.SetManifest(provider.Manifest, name, files...)
	return nil
}

// untilChanged reads the log up to the next sync that changed what is served.
func untilChanged(d *daemon.Daemon) error {
	for {
		if e, err := d.Next("sync"); err != nil || e.Changed == true {
			return err
		}
	}
}

func (r run) measureRelease(ctx context.Context, e *provider.Emulated, up *daemon.Daemon, followers []*daemon.Daemon) (ran, error) {
	if err := e.Forget(); err != nil {
		return ran{}, err
	}
	before, err := cpuOf(up, followers)
	if err != nil {
		return ran{}, err
	}
	sentBefore, err := sentBytes(ctx, up.Address)
	if err != nil {
		return ran{}, err
	}
	began := time.Now()
	if err := r.release(e, "2026.12", r.files); err != nil {
		return ran{}, err
	}
	// The upstream's own sync is not part of its CPU for followers.
	if err := untilChanged(up); err != nil {
		return ran{}, err
	}
	mirrored, err := cpuOf(up, nil)
	if err != nil {
		return ran{}, err
	}
	var waits errgroup.Group
	for _, f := range followers {
		waits.Go(func() error { return untilChanged(f) })
	}
	if err := waits.Wait(); err != nil {
		return ran{}, err
	}
	seconds := time.Since(began).Seconds()
	after, err := cpuOf(up, followers)
	if err != nil {
		return ran{}, err
	}
	sentAfter, err := sentBytes(ctx, up.Address)
	if err != nil {
		return ran{}, err
	}
	fromProvider, err := e.Sent(ctx)
	bytes := float64(int64(r.files) * r.size)
	taken := bytes * float64(len(followers))
	return ran{
		measured: measured{ServeCPU: (after.up - mirrored.up) / taken, ProveCPU: (after.followers - before.followers) / taken},
		provider: float64(fromProvider) / bytes,
		origin:   (sentAfter - sentBefore) / taken,
		seconds:  seconds,
	}, err
}

// cpu are seconds of CPU time.
type cpu struct{ up, followers float64 }

func cpuOf(up *daemon.Daemon, followers []*daemon.Daemon) (total cpu, err error) {
	taken, err := measure.CPUOf(up.Process.PID())
	total.up = taken.Seconds()
	for _, f := range followers {
		own, failed := measure.CPUOf(f.Process.PID())
		total.followers += own.Seconds()
		err = errors.Join(err, failed)
	}
	return total, err
}
