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
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/emulator"
)

// errTooSmall says that a file is too small to see the process that makes its patch at work.
var errTooSmall = errors.New("the patch was made before a sync beside its maker ended")

// withoutPatches and withPatches are the rest of the daemon's configuration. So small a share
// spares the compressed whole.
const (
	withoutPatches = "http: {listen: \"127.0.0.1:0\"}\nschedule: \"@every 24h\"\njitter: 0s\nmanifests: [{name: large}, {name: small}]\n"
	withPatches    = withoutPatches + "publish: {patches: {max_share: \"2%\"}}\n"
)

// besideRuns is how many syncs run without and beside the making of a patch.
const besideRuns = 5

// measureMaker lets a daemon make the patch of a large file, and compares the syncs of other
// files beside that with those before. The error is errTooSmall where the maker ended before
// the first of them.
func measureMaker(ctx context.Context, b bench, pair filePair) (figures []table.Figure, err error) {
	e, err := provider.Emulate(ctx, b.work, nil)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s := besideMaker{bench: b, provider: e, large: pair}
	s.offerLarge("2026.09", "before")
	if err := s.offerSmall(); err != nil {
		return nil, err
	}
	s.daemon, err = daemon.Start(ctx, b.binary, b.work, e, withoutPatches)
	if err != nil {
		return nil, err
	}
	defer func() {
		if _, ended := s.daemon.End(); err == nil {
			err = ended
		}
	}()
	if err := s.daemon.Syncs(1); err != nil {
		return nil, err
	}
	return s.figures(ctx)
}

// besideMaker is a daemon that makes a patch of a large file and syncs small ones.
type besideMaker struct {
	bench
	provider *provider.Emulated
	daemon   *daemon.Daemon
	large    filePair
	releases int // of the small files
	maker    maker
}

func (s *besideMaker) offerLarge(release, folder string) {
	s.provider.SetManifest("large", release, emulator.File{Name: "rows.csv", Content: emulator.OnDisk(filepath.Join(s.large.dir, folder, "rows.csv"))})
}

// offerSmall offers another release of the small files, with other contents.
func (s *besideMaker) offerSmall() error {
	s.releases++
	const count = 16
	var files []emulator.File
	for i := range count {
		file, err := s.provider.Content(1000+count*s.releases+i, s.smaller(32*provider.MiB))
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	s.provider.SetManifest("small", fmt.Sprintf("%d.%02d", 2000+s.releases/12, 1+s.releases%12), files...)
	return nil
}

// sync lets the daemon sync, and returns how long that took. The disk has no other writes to
// end then: those of the large file would count for the maker.
func (s *besideMaker) sync() (time.Duration, error) {
	unix.Sync()
	if err := s.daemon.Process.Cmd.Process.Signal(unix.SIGUSR1); err != nil {
		return 0, err
	}
	for {
		event, err := s.daemon.Next("sync")
		if err == nil && event.Error != "" {
			err = fmt.Errorf("a sync of other files: %s", event.Error)
		}
		if err != nil || event.Changed == true { // a new configuration looks at once, and finds nothing new
			return event.Wall(), err
		}
	}
}

// syncs is the median of the times of syncs of small files, while goesOn is true.
func (s *besideMaker) syncs(goesOn func() bool) (time.Duration, error) {
	var all []time.Duration
	for len(all) < besideRuns {
		if err := s.offerSmall(); err != nil {
			return 0, err
		}
		took, err := s.sync()
		if err != nil {
			return 0, err
		}
		if !goesOn() {
			break
		}
		log.Printf("patches: a sync took %.2f s", took.Seconds())
		all = append(all, took)
	}
	if len(all) == 0 {
		return 0, errTooSmall
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

func (s *besideMaker) figures(ctx context.Context) ([]table.Figure, error) {
	alone, err := s.syncs(func() bool { return true })
	if err != nil {
		return nil, err
	}
	if _, err := contender.WriteConfig(s.provider, s.daemon.Dir, withPatches); err != nil {
		return nil, err
	}
	if err := s.daemon.Process.Cmd.Process.Signal(unix.SIGHUP); err != nil {
		return nil, err
	}
	if _, err := s.daemon.Next("configuration reloaded"); err != nil {
		return nil, err
	}
	s.offerLarge("2026.10", "after")
	if _, err := s.sync(); err != nil {
		return nil, err
	}
	s.maker.daemon = s.daemon.Process.PID()
	folder, size := filepath.Join(s.daemon.Dir, "data", "patches"), int64(0)
	err = measure.WaitFor(ctx, "a process that makes patches", func() (bool, error) { return s.maker.find() || sizeOfPatch(folder) > 0, nil })
	if err != nil {
		return nil, err
	}
	beside, err := s.syncs(func() bool { return s.maker.look() && sizeOfPatch(folder) == 0 })
	if err != nil {
		return nil, err
	}
	err = measure.WaitFor(ctx, "a patch", func() (bool, error) {
		s.maker.look()
		size = sizeOfPatch(folder)
		return size > 0, nil
	})
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(s.large.dir, "after", "rows.csv"))
	if err != nil {
		return nil, err
	}
	whole := float64(info.Size())
	return []table.Figure{
		table.Row("large file, made by a daemon, percent of the file", 100*float64(size)/whole, "%.2f", 0),
		table.Row("a sync of 512 MiB beside that, times its time alone", beside.Seconds()/alone.Seconds(), "%.2f", 1.05),
		table.Row("large file, made by a daemon, nice", float64(s.maker.nice), "%.0f", 0),
		table.Row("large file, made by a daemon, CPU seconds a GB", s.maker.cpu.Seconds()*1e9/whole, "%.1f", 0),
		table.Row("large file, made by a daemon, peak memory, MiB", inMiB(s.maker.peak), "%.0f", 64),
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
