package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
)

func TestKillAtAnyMomentLeavesACompleteGeneration(t *testing.T) {
	t.Parallel()
	h := newHost(t, soakManifests...)
	h.settings.more = "retain: 0\nretain_for: 0s" // so that pruning is under way too
	h.configure()
	h.publishNumbered(1)
	h.sync(0)
	h.publishNumbered(2)
	started := time.Now()
	h.sync(0)
	random, usual, kills := newRandom(t), time.Since(started), 0
	for number := int64(3); kills < times(14, 200); number++ {
		h.publishNumbered(number)
		p := h.start("sync")
		select {
		case <-time.After(time.Duration(random.Int64N(int64(usual)))): // at any moment
			_ = p.cmd.Process.Kill() // fails when the sync has just ended
		case <-p.done:
		}
		if p.wait() == -1 {
			kills++
		}
		h.expect(0, "verify")
		h.proven()
		if random.IntN(3) > 0 { // else another killed sync finds what this one left
			h.sync(0)
		}
	}
	h.sync(0)
	same(h, "state", "in_sync", h.status().Manifests[0].State)
	for _, dir := range []string{"partial", "generations", "revisions/m", "revisions/n", "revisions/o"} {
		want := 1
		if dir == "partial" {
			want = 0
		}
		if names := namesIn(h, filepath.Join(h.data, dir)); len(names) != want {
			t.Errorf("%s holds %v, want %d entries", dir, names, want)
		}
	}
	reliability(t, "kill -9", "syncs of a new release killed at a random moment", kills)
}

// proven reads current like a consumer: it resolves the symlink once and checks the
// SHA256SUMS.
func (h *host) proven() {
	h.Helper()
	generation, err := filepath.EvalSymlinks(filepath.Join(h.data, "current"))
	h.must(err)
	lists, err := filepath.Glob(filepath.Join(generation, "*.SHA256SUMS"))
	h.must(err)
	if len(lists) == 0 {
		h.Errorf("%s is empty", generation)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		h.must(err)
		for scanner := bufio.NewScanner(strings.NewReader(string(text))); scanner.Scan(); {
			digest, path, _ := strings.Cut(scanner.Text(), "  ")
			same(h, path, digest, h.digestOf(filepath.Join(generation, path)))
		}
	}
}

// TestTenKillsCostFewExtraBytes allows 0.3 times the size of the release for bytes in
// transit, and for files too small to resume.
func TestTenKillsCostFewExtraBytes(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"SHA256", "MD5"}[:times(1, 2)] { // package fetcher continues both
		t.Run(hash, func(t *testing.T) {
			t.Parallel()
			const kills = 10
			h, size := slowRelease(t)
			h.settings.source = "hash: " + hash
			h.configure()
			for n := range int64(kills) {
				p := h.start("sync")
				h.eventually("a part of the release", func() bool { return h.bytesSent() > (n+1)*size/(kills+1) })
				h.must(p.cmd.Process.Kill())
				same(h, "exit code", -1, p.wait())
			}
			h.sync(0)
			h.expect(0, "verify")
			cost := float64(h.bytesSent()) / float64(size)
			if cost >= 1.3 {
				t.Errorf("a release under %d kills cost %.2f times its bytes", kills, cost)
			}
			reliability(t, "kill -9 of downloads, "+hash, fmt.Sprintf("killed while it fetched a release of %d MiB, for %.2f times its bytes in all", size>>20, cost), kills)
		})
	}
}

// slowRelease publishes twelve files of many sizes. They arrive slowly, so that few
// bytes are lost in socket buffers, which count as sent.
func slowRelease(t *testing.T) (h *host, size int64) {
	t.Helper()
	h = newHost(t, "m")
	unit := int64(times(1<<20, 8<<20))
	var files []emulator.File
	for i, share := range []int64{32, 24, 16, 16, 12, 8, 8, 4, 4, 2, 1, 1} {
		files = append(files, emulator.File{Name: fmt.Sprintf("file%02d", i), Content: emulator.Random(uint64(i), share*unit)})
		size += share * unit
	}
	h.provider.SetManifest("m", "2026.10", files...)
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindSlow, Rate: 4 * unit, Host: emulator.HostDownload})
	return h, size
}

// bytesSent counts all bytes that the download host sent.
func (h *host) bytesSent() (sent int64) {
	for _, r := range h.provider.Requests() {
		if r.Host == emulator.HostDownload {
			sent += r.BytesSent
		}
	}
	return sent
}

func TestReaderNeverSeesAPartialRelease(t *testing.T) {
	t.Parallel()
	const retainFor = 5 * time.Second // long enough for readers, and pruning still runs
	h := newHost(t, "m", "n").withRace()
	h.settings.more = fmt.Sprintf("retain: 0\nretain_for: %s", retainFor)
	h.configure()
	paths := h.publishMarked(1)
	p := h.daemon()
	p.logged("sync")

	swaps, stop := times(20, 200), make(chan struct{})
	var readers sync.WaitGroup
	end := sync.OnceFunc(func() {
		close(stop)
		readers.Wait()
	})
	defer end()
	reads := make([]int, 2)
	for i, read := range []func() error{
		func() error { return readThrough(filepath.Join(h.data, "current"), paths) },
		func() error { return readOne(filepath.Join(h.data, "current"), paths, retainFor) },
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
			}
		})
	}
	for n := range swaps {
		h.publishMarked(n + 2)
		p.signal(syscall.SIGUSR1)
		p.loggedTimes("sync", n+2)
		same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.current())
	}
	end()
	p.terminate()
	reliability(t, "readers", fmt.Sprintf("current swapped under a reader that opened every file through it %d times and one that resolved it %d times", reads[0], reads[1]), swaps)
}

// publishMarked publishes a release of two manifests. Each file begins with the number
// of the release. It returns the paths of the files within a generation.
func (h *host) publishMarked(number int) (paths []string) {
	for _, name := range []string{"m", "n"} {
		var files []emulator.File
		for i := range 8 {
			file := emulator.File{Name: fmt.Sprintf("file%d", i), Content: emulator.Text(fmt.Sprintf("%d\n%s file %d", number, name, i))}
			files, paths = append(files, file), append(paths, filepath.Join(name, file.Name))
		}
		h.provider.SetManifest(name, fmt.Sprintf("%04d.%02d", 2000+number/12, number%12+1), files...)
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
	h := slowFile(t)
	p := h.start("sync")
	h.partial()
	h.eventually("the small file, which waits for others", func() bool {
		matches, _ := filepath.Glob(filepath.Join(h.data, "partial", "*"))
		return slices.ContainsFunc(matches, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Mode().Perm() == 0o444
		})
	})
	h.must(p.cmd.Process.Kill())
	p.wait()
	h.must(os.Remove(filepath.Join(h.data, "state", "syncd.db"))) // the disk is the truth
	h.provider.ClearFaults()
	h.downloads()
	h.sync(0)
	h.wantDownloads("big.dat")
}

func TestUnprivilegedSyncContinuesAfterAKillAtAnyStep(t *testing.T) {
	t.Parallel()
	h := asRoot(t) // only root can start others
	h.binary = copyBinary(h)
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	for _, path := range []string{h.dir, h.path("id")} {
		h.must(os.Chown(path, otherUID, otherGID))
	}
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, After: 3 << 20, Host: emulator.HostDownload, Path: "*/mdAddr.dat", Times: 1})
	h.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Host: emulator.HostDownload, Path: "*/mdAddr.dat"})
	h.sync(1)
	h.provider.ClearFaults()
	matches, err := filepath.Glob(filepath.Join(h.data, "partial", "*"))
	h.must(err)
	if len(matches) == 0 {
		t.Fatal("no partial file was kept")
	}
	for _, path := range matches { // the state between the chmod and the rename of Adopt
		h.must(os.Chmod(path, 0o444))
	}
	h.sync(0)
	h.expect(0, "verify")
}
