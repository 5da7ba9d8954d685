package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestKillAtAnyMomentLeavesACompleteGeneration(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, soakManifests...)
	h.ConfigureWith("retain: 0\nretain_for: 0s") // so that pruning is under way too
	publishNumbered(h, 1)
	h.Sync(0)
	publishNumbered(h, 2)
	started := time.Now()
	h.Sync(0)
	random, usual, kills := e2e.NewRandom(t), time.Since(started), 0
	for number := int64(3); kills < e2e.Times(9, 200); number++ {
		publishNumbered(h, number)
		p := h.Start("sync")
		select {
		case <-time.After(time.Duration(random.Int64N(int64(usual)))): // at any moment
			_ = p.Cmd.Process.Kill() // fails when the sync has just ended
		case <-p.Done:
		}
		if p.Wait() == -1 {
			kills++
		}
		h.Expect(0, "verify")
		h.Proven()
		if random.IntN(3) > 0 { // else another killed sync finds what this one left
			h.Sync(0)
		}
	}
	h.Sync(0)
	e2e.Same(h, "state", "in_sync", h.Status().Manifests[0].State)
	for _, dir := range []string{"partial", "generations", "revisions/m", "revisions/n", "revisions/o"} {
		want := 1
		if dir == "partial" {
			want = 0
		}
		if names := e2e.NamesIn(h, filepath.Join(h.Data, dir)); len(names) != want {
			t.Errorf("%s holds %v, want %d entries", dir, names, want)
		}
	}
	e2e.Reliability(t, "kill -9", "syncs of a new release killed at a random moment", kills)
}

// TestTenKillsCostFewExtraBytes allows 0.3 times the size of the release for bytes in
// transit, and for files too small to resume.
func TestTenKillsCostFewExtraBytes(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "MD5"}[:e2e.Times(1, 2)] { // package fetcher continues both
		t.Run(hash, func(t *testing.T) {
			t.Parallel()
			const kills = 10
			h, size := slowRelease(t)
			h.Settings.Source = "hash: " + hash
			h.Configure()
			for n := range int64(kills) {
				p := h.Start("sync")
				h.Eventually("a part of the release", func() bool { return h.BytesSent() > (n+1)*size/(kills+1) })
				h.Must(p.Cmd.Process.Kill())
				e2e.Same(h, "exit code", -1, p.Wait())
			}
			h.Sync(0)
			h.Expect(0, "verify")
			cost := float64(h.BytesSent()) / float64(size)
			if cost >= 1.3 {
				t.Errorf("a release under %d kills cost %.2f times its bytes", kills, cost)
			}
			e2e.Reliability(t, "kill -9 of downloads, "+hash, fmt.Sprintf("killed while it fetched a release of %d MiB, for %.2f times its bytes in all", size>>20, cost), kills)
		})
	}
}

// slowRelease publishes twelve files of many sizes. They arrive slowly, so that few
// bytes are lost in socket buffers, which count as sent.
func slowRelease(t *testing.T) (h *e2e.Host, size int64) {
	t.Helper()
	h = e2e.NewHost(t, "m")
	unit := int64(e2e.Times(1<<20, 8<<20))
	var files []emulator.File
	for i, share := range []int64{32, 24, 16, 16, 12, 8, 8, 4, 4, 2, 1, 1} {
		files = append(files, emulator.File{Name: fmt.Sprintf("file%02d", i), Content: emulator.Random(uint64(i), share*unit)})
		size += share * unit
	}
	h.Provider.SetManifest("m", "2026.10", files...)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 4 * unit, Host: emulator.HostDownload})
	return h, size
}

func TestReaderNeverSeesAPartialRelease(t *testing.T) {
	t.Parallel()
	const retainFor = 5 * time.Second // long enough for readers, and pruning still runs
	h := e2e.NewHost(t, "m", "n").WithRace()
	h.ConfigureWith(fmt.Sprintf("retain: 0\nretain_for: %s", retainFor))
	paths := publishMarked(h, 1)
	p := h.SyncedDaemon()

	swaps, stop := e2e.Times(20, 200), make(chan struct{})
	pause := time.Duration(e2e.Times(2, 0)) * time.Millisecond // leaves CPU time to other tests
	var readers sync.WaitGroup
	end := sync.OnceFunc(func() {
		close(stop)
		readers.Wait()
	})
	defer end()
	reads := make([]int, 2)
	for i, read := range []func() error{
		func() error { return readThrough(filepath.Join(h.Data, "current"), paths) },
		func() error { return readOne(filepath.Join(h.Data, "current"), paths, retainFor) },
	} {
		readers.Go(func() {
			for ; ; reads[i]++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := read(); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(pause)
			}
		})
	}
	for n := range swaps {
		publishMarked(h, n+2)
		p.Signal(syscall.SIGUSR1)
		p.LoggedTimes("sync", n+2)
		e2e.Same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.Current())
	}
	end()
	p.Terminate()
	e2e.Reliability(t, "readers", fmt.Sprintf("current swapped under a reader that opened every file through it %d times and one that resolved it %d times", reads[0], reads[1]), swaps)
}

// publishMarked publishes a release of two manifests. Each file begins with the number
// of the release. It returns the paths of the files within a generation.
func publishMarked(h *e2e.Host, number int) (paths []string) {
	for _, name := range []string{"m", "n"} {
		var files []emulator.File
		for i := range 8 {
			file := emulator.File{Name: fmt.Sprintf("file%d", i), Content: emulator.Text(fmt.Sprintf("%d\n%s file %d", number, name, i))}
			files, paths = append(files, file), append(paths, filepath.Join(name, file.Name))
		}
		h.Provider.SetManifest(name, fmt.Sprintf("%04d.%02d", 2000+number/12, number%12+1), files...)
	}
	return paths
}

// readThrough opens every file by way of current; none may be missing.
func readThrough(current string, paths []string) error {
	for _, path := range paths {
		if _, err := marked(filepath.Join(current, path)); err != nil {
			return err
		}
	}
	return nil
}

// readOne resolves current once and requires files of one release. A read that takes
// longer than retain_for proves nothing.
func readOne(current string, paths []string, allowed time.Duration) error {
	resolved := time.Now()
	generation, err := filepath.EvalSymlinks(current)
	if err != nil {
		return err
	}
	var releases []string
	for _, path := range paths {
		release, err := marked(filepath.Join(generation, path))
		if err != nil && time.Since(resolved) < allowed {
			return err
		}
		releases = append(releases, release)
	}
	if releases = slices.Compact(releases); len(releases) != 1 && time.Since(resolved) < allowed {
		return fmt.Errorf("%s mixes the releases %q", generation, releases)
	}
	return nil
}

// marked is the first line of a file.
func marked(path string) (string, error) {
	text, err := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line, err
}

func TestDownloadsOfAKilledSyncAreKept(t *testing.T) {
	t.Parallel()
	h := e2e.SlowFile(t)
	p := h.Start("sync")
	h.Partial()
	h.Eventually("the small file, which waits for others", func() bool {
		matches, _ := filepath.Glob(filepath.Join(h.Data, "partial", "*"))
		return slices.ContainsFunc(matches, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Mode().Perm() == 0o444
		})
	})
	h.Must(p.Cmd.Process.Kill())
	p.Wait()
	h.Must(os.Remove(filepath.Join(h.Data, "state", "syncd.db"))) // the disk is the truth
	h.Provider.ClearFaults()
	h.Downloads()
	h.Sync(0)
	h.WantDownloads("big.dat")
}

func TestUnprivilegedSyncContinuesAfterAKillAtAnyStep(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t) // only root can start others
	h.Binary = e2e.CopyBinary(h)
	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	for _, path := range []string{h.Dir, h.Path("id")} {
		h.Must(os.Chown(path, e2e.OtherUID, e2e.OtherGID))
	}
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, After: 3 << 20, Host: emulator.HostDownload, Path: "*/mdAddr.dat", Times: 1})
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Host: emulator.HostDownload, Path: "*/mdAddr.dat"})
	h.Sync(1)
	h.Provider.ClearFaults()
	matches, err := filepath.Glob(filepath.Join(h.Data, "partial", "*"))
	h.Must(err)
	if len(matches) == 0 {
		t.Fatal("no partial file was kept")
	}
	for _, path := range matches { // the state between the chmod and the rename of Adopt
		h.Must(os.Chmod(path, 0o444))
	}
	h.Sync(0)
	h.Expect(0, "verify")
}
