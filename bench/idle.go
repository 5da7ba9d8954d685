package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"syncd/bench/internal/daemon"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/emulator"
)

const idleManifests = 4

// measureIdle measures a daemon that polls four manifests without news.
func measureIdle(ctx context.Context, b bench) (string, error) {
	e, err := provider.Emulate(ctx, b.work, nil)
	if err != nil {
		return "", err
	}
	defer e.Close()
	var list []string
	for m := range idleManifests {
		name := fmt.Sprintf("idle%d", m)
		list = append(list, "{name: "+name+"}")
		var files []emulator.File
		for i := range int(b.smaller(100)) {
			f, err := e.Content(i, provider.KiB)
			if err != nil {
				return "", err
			}
			f.Name = name + "-" + f.Name
			files = append(files, f)
		}
		e.SetManifest(name, provider.Release, files...)
	}
	more := fmt.Sprintf("http: {listen: \"127.0.0.1:0\"}\nschedule: \"@every 1s\"\njitter: 0s\nmanifests: [%s]\n", strings.Join(list, ", "))
	d, err := daemon.Start(ctx, b.binary, b.work, e, more)
	if err != nil {
		return "", err
	}
	polls := int(max(2, b.smaller(30)))
	requests, cpu, err := idle(d, e, polls)
	_, ended := d.End()
	if err := errors.Join(err, ended); err != nil {
		return "", err
	}
	return table.Figures(fmt.Sprintf("A daemon with four manifests of 100 files, polled every second, %d times.", polls), []table.Figure{
		table.Row("requests per poll and manifest", float64(requests)/float64(polls*idleManifests), "%.2f", 1),
		table.Row("CPU per poll of all four, ms", 1000*cpu.Seconds()/float64(polls), "%.1f", 5),
	}), nil
}

// idle counts requests and CPU time over a number of polls, after the first sync and
// the first poll.
func idle(d *daemon.Daemon, e *provider.Emulated, polls int) (requests int, cpu time.Duration, err error) {
	if err := d.Syncs(2); err != nil {
		return 0, 0, err
	}
	e.ResetRequests()
	before, err := measure.CPUOf(d.Process.PID())
	if err != nil {
		return 0, 0, err
	}
	if err := d.Syncs(polls); err != nil {
		return 0, 0, err
	}
	after, err := measure.CPUOf(d.Process.PID())
	return len(e.Requests()), after - before, err
}
