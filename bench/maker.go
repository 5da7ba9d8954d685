package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/daemon"
	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/emulator"
)

// errTooSmall says that a file is too small to see the process that makes its patch at work.
var errTooSmall = errors.New("the patch was made before a sync beside its maker ended")

// maxBeside is how many pairs of syncs run while a patch is made.
const maxBeside = 10

// measureMaker lets a daemon make the patch of a pair of files, and syncs another mirror
// meanwhile: in turn while the maker works, and while it is stopped. The error is
// errTooSmall where the maker ended before that.
func measureMaker(ctx context.Context, b bench, pair filePair) (figures []table.Figure, err error) {
	e, err := provider.Emulate(ctx, b.work, nil)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	offer := func(release, folder string) {
		e.SetManifest("large", release, emulator.File{Name: "rows.csv", Content: emulator.OnDisk(filepath.Join(pair.dir, folder, "rows.csv"))})
	}
	offer("2026.09", "before")
	// So small a share spares the compressed whole.
	d, err := daemon.Start(ctx, b.binary, b.work, e, "http: {listen: \"127.0.0.1:0\"}\nschedule: \"@every 24h\"\njitter: 0s\npublish: {patches: {max_share: \"2%\"}}\nmanifests: [{name: large}]\n")
	if err != nil {
		return nil, err
	}
	defer func() {
		if _, ended := d.End(); err == nil {
			err = ended
		}
	}()
	if err := d.Syncs(1); err != nil {
		return nil, err
	}
	offer("2026.10", "after")
	if err := d.Process.Cmd.Process.Signal(unix.SIGUSR1); err != nil {
		return nil, err
	}
	if err := d.Syncs(1); err != nil {
		return nil, err
	}
	m := maker{daemon: d.Process.PID()}
	folder, size := filepath.Join(d.Dir, "data", "patches"), int64(0)
	err = measure.WaitFor(ctx, "a process that makes patches", func() (bool, error) { return m.find() || sizeOfPatch(folder) > 0, nil })
	if err != nil {
		return nil, err
	}
	slower, err := m.slows(ctx, b)
	if err != nil {
		return nil, err
	}
	err = measure.WaitFor(ctx, "a patch", func() (bool, error) {
		m.look()
		size = sizeOfPatch(folder)
		return size > 0, nil
	})
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(pair.dir, "after", "rows.csv"))
	if err != nil {
		return nil, err
	}
	whole := float64(info.Size())
	return []table.Figure{
		table.Row("large file, made by a daemon, percent of the file", 100*float64(size)/whole, "%.2f", 0),
		table.Row("a sync of 256 MiB beside that, times its time alone", slower, "%.2f", 1.05),
		table.Row("large file, made by a daemon, nice", float64(m.nice), "%.0f", 0),
		table.Row("large file, made by a daemon, CPU seconds a GB", m.cpu.Seconds()*1e9/whole, "%.1f", 0),
		table.Row("large file, made by a daemon, peak memory, MiB", inMiB(m.peak), "%.0f", 64),
	}, nil
}

// sizeOfPatch is the size of a finished patch in a folder, 0 for none.
func sizeOfPatch(folder string) int64 {
	entries, _ := os.ReadDir(folder) // none before the first
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && !strings.HasPrefix(entry.Name(), ".") {
			return info.Size()
		}
	}
	return 0
}

// maker is the process of a daemon that makes patches.
type maker struct {
	daemon, pid int
	nice        int
	cpu         time.Duration
	peak        int64 // bytes
}

// find finds the process.
func (m *maker) find() bool {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", m.daemon)) // of one thread each
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for child := range strings.FieldsSeq(string(text)) {
			name, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if strings.HasPrefix(string(name), "syncd-patches") {
				m.pid, _ = strconv.Atoi(child)
				return true
			}
		}
	}
	return false
}

// look notes what the process takes. It is false once it has ended.
func (m *maker) look() bool {
	cpu, err := measure.CPUOf(m.pid)
	if err != nil {
		return false
	}
	m.cpu, m.peak = cpu, max(m.peak, measure.HighWater(m.pid))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.pid))
	if _, fields, found := strings.Cut(string(stat), ") "); found {
		m.nice, _ = strconv.Atoi(strings.Fields(fields)[16])
	}
	return true
}

// slows is the median of the times of a sync beside the process against those while it is
// stopped.
func (m *maker) slows(ctx context.Context, b bench) (float64, error) {
	if m.pid == 0 {
		return 0, errTooSmall
	}
	p, err := provider.Start(ctx, b.work, provider.Repeat(16, b.smaller(16*provider.MiB)), link.Link{})
	if err != nil {
		return 0, err
	}
	defer p.Close()
	c := contender.Syncd("syncd", b.binary, contender.Settings{})
	var ratios []float64
	for len(ratios) < maxBeside {
		var took [2]time.Duration
		for i, signal := range []unix.Signal{unix.SIGCONT, unix.SIGSTOP} {
			if err := unix.Kill(m.pid, signal); err != nil {
				break
			}
			taken, err := b.runOnce(ctx, c, p)
			if err != nil {
				return 0, err
			}
			took[i] = taken.Wall
		}
		isWorking := unix.Kill(m.pid, unix.SIGCONT) == nil && m.look()
		if !isWorking && len(ratios) > 0 {
			break
		}
		if took[0] == 0 || took[1] == 0 {
			return 0, errTooSmall
		}
		log.Printf("patches: a sync took %.2f s beside the maker, %.2f s without it", took[0].Seconds(), took[1].Seconds())
		ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2], nil
}
