package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"syncd/internal/emulator"
)

// onSmallDisk puts a host's data directory on a tmpfs of its own.
func (h *host) onSmallDisk(options string) {
	h.Helper()
	point := h.path("disk")
	h.must(os.Mkdir(point, 0o755))
	if err := unix.Mount("tmpfs", point, "tmpfs", 0, options); err != nil {
		h.Skipf("NOT TESTED: a small disk needs a tmpfs of its own, which only root may mount here: %v", err)
	}
	h.Cleanup(func() { h.must(unix.Unmount(point, unix.MNT_DETACH)) })
	h.use(point)
}

// onSmallExt4 is onSmallDisk with a journal and without blocks reserved for root.
func (h *host) onSmallExt4() {
	h.Helper()
	d := newDisk(h.T, []volume{{"ext4", 32 << 20, ""}})
	h.must(d.run("sh", "-c", `tune2fs -m 0 "$(findmnt -no SOURCE "$0")"`, d.root()))
	h.use(d.root())
}

func onSmallTmpfs(h *host) { h.onSmallDisk("size=8m,nr_inodes=400") }

func (h *host) use(disk string) {
	h.Helper()
	h.data = filepath.Join(disk, "data")
	h.configure()
}

// neighbour is another program that writes to the disk.
type neighbour struct {
	dir    string
	failed atomic.Value // an error
}

// leave fills the disk until only that many blocks and inodes are free; -1 fills
// nothing. Any goroutine may call it; clear reports its errors.
func (n *neighbour) leave(blocks, inodes int64) {
	if err := n.fill(blocks, inodes); err != nil && !errors.Is(err, unix.ENOSPC) { // syncd was faster
		n.failed.Store(err)
	}
}

func (n *neighbour) fill(blocks, inodes int64) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(n.dir, "bytes"))
	if err != nil {
		return err
	}
	defer file.Close()
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &s); err != nil {
		return err
	}
	if size := (int64(s.Bavail) - blocks) * s.Bsize; blocks >= 0 && size > 0 {
		err = unix.Fallocate(int(file.Fd()), 0, 0, size)
	}
	for i := int64(s.Ffree); inodes >= 0 && i > inodes && err == nil; i-- {
		err = os.WriteFile(filepath.Join(n.dir, fmt.Sprint(i)), nil, 0o600)
	}
	return err
}

// clear frees the space again.
func (n *neighbour) clear() error {
	err, _ := n.failed.Load().(error)
	return errors.Join(err, os.RemoveAll(n.dir))
}

// trap is a content that calls sprung at its first read once it is set.
type trap struct {
	emulator.Content
	set    atomic.Bool
	sprung func()
}

func (c *trap) Open() (io.ReadSeekCloser, error) {
	r, err := c.Content.Open()
	return &trapReader{r, c}, err
}

type trapReader struct {
	io.ReadSeekCloser
	trap *trap
}

func (r *trapReader) Read(p []byte) (int, error) {
	if r.trap.set.CompareAndSwap(true, false) {
		r.trap.sprung()
	}
	return r.ReadSeekCloser.Read(p)
}

// crowded is a host on a small disk, before a release of many small files and a larger
// one. The download of the larger one calls sprung.
type crowded struct {
	*host
	neighbour *neighbour
	number    int // of the release
}

func (c *crowded) release() string { return fmt.Sprintf("%04d.%02d", 2000+c.number/12, 1+c.number%12) }

func newCrowded(t *testing.T, disk func(h *host)) *crowded {
	t.Helper()
	h := newHost(t, "m")
	h.settings.more = "retain: 0\nretain_for: 0s\ntransfers: {files: 2}"
	disk(h)
	c := &crowded{host: h, neighbour: &neighbour{dir: filepath.Join(filepath.Dir(h.data), "other")}}
	c.offer(func() {})
	c.sync(0)
	return c
}

// offer publishes the next release, in which every file is new.
func (c *crowded) offer(sprung func()) {
	c.Helper()
	c.number++
	release := c.release()
	large := &trap{Content: emulator.Random(uint64(c.number), 200<<10), sprung: sprung}
	files := []emulator.File{{Name: "large.dat", Content: large}}
	for i := range 8 {
		text := fmt.Sprintf("%s, file %d", release, i)
		files = append(files, emulator.File{
			Class: emulator.ClassLibrary, OS: "LINUX", Compiler: fmt.Sprintf("GCC%d", i), Architecture: "64BIT",
			Name: "lib.so", Content: emulator.Text(text),
		})
	}
	c.provider.SetManifest("m", release, files...)
	res, err := http.Get(c.provider.URL() + "/SHA256/Data/" + release + "/large.dat?id=" + url.QueryEscape(customerID))
	c.must(err) // from now on the emulator knows the digest without reading
	res.Body.Close()
	same(c.host, "status", 200, res.StatusCode)
	large.set.Store(true)
}

// suffer runs a sync on a disk that fills up, and another once there is space again.
// failed is true when the first one failed.
func (c *crowded) suffer(what string) (failed bool) {
	c.Helper()
	before := c.published("m")
	out := c.syncd("sync", "--json")
	var r syncOutput
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil || out.code > 1 {
		c.Fatalf("%s: exit %d\n%s%s", what, out.code, out.stdout, out.stderr)
	}
	c.proven()
	if out.code == 1 {
		m := r.Manifests[0]
		if text := m.Error + out.stderr; !strings.Contains(text, "no space") && !strings.Contains(text, "disk full") && !strings.Contains(text, "are free") {
			c.Errorf("%s: %s\n%s", what, m.Error, out.stderr)
		}
		if m.Result != "updated" { // failed, and not failed but stored
			same(c.host, what, before, c.published("m"))
		}
	}
	c.must(c.neighbour.clear())
	c.sync(0)
	c.expect(0, "verify", "--json")
	c.proven()
	same(c.host, what+": release", c.release(), c.status().Manifests[0].Release)
	for _, dir := range []string{"partial", "generations", "revisions/m"} {
		if names := namesIn(c.host, filepath.Join(c.data, dir)); len(names) > 1 || len(names) > 0 && dir == "partial" {
			c.Errorf("%s: %s holds %v", what, dir, names)
		}
	}
	return out.code == 1
}

// TestFullDiskAtAnyPointKeepsTheOldRelease leaves a little more space in each round, so
// that the sync fails in one step after the other.
func TestFullDiskAtAnyPointKeepsTheOldRelease(t *testing.T) {
	t.Parallel()
	bytes := func(n int) (int64, int64) { return int64(n), -1 }
	for name, row := range map[string]struct {
		disk          func(*host)
		rounds, most  int // roughly the need of a sync
		left          func(n int) (blocks, inodes int64)
		noSize, early bool
	}{
		"another writer takes the bytes":                   {disk: onSmallTmpfs, rounds: times(6, 120), most: 140, left: bytes},
		"another writer takes the bytes, beside a journal": {disk: (*host).onSmallExt4, rounds: times(6, 120), most: 240, left: bytes},
		"another writer takes the inodes":                  {disk: onSmallTmpfs, rounds: times(8, 80), most: 70, left: func(n int) (int64, int64) { return -1, int64(n) }},
		"nothing foresees the bytes":                       {disk: onSmallTmpfs, rounds: times(4, 80), most: 140, left: bytes, noSize: true, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowded(t, row.disk)
			if row.noSize {
				c.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
				c.provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload})
			}
			failed, random := 0, newRandom(t)
			for i := range row.rounds {
				n := amountLeft(i, row.rounds, row.most, random)
				blocks, inodes := row.left(n)
				fill := sync.OnceFunc(func() { c.neighbour.leave(blocks, inodes) })
				c.offer(fill)
				if row.early {
					fill()
				}
				if c.suffer(fmt.Sprintf("%d left", n)) {
					failed++
				}
			}
			if failed == 0 || failed == row.rounds {
				t.Errorf("%d of %d syncs failed: the disk is not what this test needs", failed, row.rounds)
			}
			reliability(t, "full disk, "+name, fmt.Sprintf("a sync on a disk that fills at another point each time, of which %d could not do it", failed), row.rounds)
		})
	}
}

// amountLeft goes from nothing to most, and ends with plenty.
func amountLeft(round, rounds, most int, random *rand.Rand) int {
	switch round {
	case 0:
		return 0
	case rounds - 1:
		return 4 * most
	}
	step := most / (rounds - 1)
	return round*step + random.IntN(max(step, 1))
}

func TestMissingInodesAreRefusedBeforeTheDownload(t *testing.T) {
	t.Parallel()
	c := newCrowded(t, onSmallTmpfs)
	c.offer(func() {})
	before := c.published("m")
	c.neighbour.leave(-1, 10)
	c.downloads()
	r := c.sync(1)
	same(c.host, "refusal", []string{"refused", "no_space"}, []string{r.Manifests[0].Result, r.Manifests[0].Reason})
	c.contains("the error", r.Manifests[0].Error, "inodes are free")
	c.wantDownloads()
	same(c.host, "published", before, c.published("m"))
	c.must(c.neighbour.clear())
	c.sync(0)
	c.proven()
}

// offerMiB publishes a release of one file of the given size in MiB.
func (h *host) offerMiB(release string, seed uint64, mib int64) {
	h.provider.SetManifest("m", release, emulator.File{Name: "a.dat", Content: emulator.Random(seed, mib<<20)})
}

func TestRetentionMakesRoomForARelease(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		more string
		code int
		kept int // revisions
	}{
		"nothing is kept back":              {"retain: 2\nretain_for: 0s", 0, 3},
		"readers may still use what left":   {"retain: 2\nretain_for: 1h", 1, 3},
		"lower retain after it was too low": {"retain: 0\nretain_for: 0s", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "m")
			h.settings.more = "retain: 2\nretain_for: 0s"
			h.onSmallDisk("size=15m")
			for i, release := range []string{"2026.01", "2026.02", "2026.03"} {
				h.offerMiB(release, uint64(i), 4)
				h.sync(0)
			}
			same(h, "revisions", 3, len(namesIn(h, filepath.Join(h.data, "revisions", "m"))))
			before := h.published("m")
			h.settings.more = row.more
			h.configure()
			h.offerMiB("2026.04", 4, 4)
			h.downloads()
			dry := h.expect(row.code, "sync", "--dry-run", "--json")
			same(h, "revisions after a dry run", 3, len(namesIn(h, filepath.Join(h.data, "revisions", "m"))))
			r := h.sync(row.code)
			h.proven()
			same(h, "revisions", row.kept, len(namesIn(h, filepath.Join(h.data, "revisions", "m"))))
			if row.code == 0 {
				same(h, "release", "2026.04", r.Manifests[0].Release)
				return
			}
			h.wantDownloads()
			same(h, "reason", "no_space", r.Manifests[0].Reason)
			same(h, "published", before, h.published("m"))
			for _, text := range []string{r.Manifests[0].Error, dry.stdout} {
				h.contains("the error", text, "4.0 MiB", "more could be freed at")
			}
		})
	}
}

// readOnly remounts a folder read-only, like a failed disk. The returned function makes
// it writable again.
func (h *host) readOnly(dir string) (writable func()) {
	h.Helper()
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		h.Skipf("NOT TESTED: only root may mount here: %v", err)
	}
	writable = sync.OnceFunc(func() { h.must(unix.Unmount(dir, unix.MNT_DETACH)) })
	h.Cleanup(writable)
	h.must(unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	return writable
}

func TestReadOnlyDataDirFailsOnlySyncs(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sync(0)
	p := h.daemon()
	p.logged("sync")
	before := h.published("dq_addr_data")
	h.provider.AdvanceSample()
	writable := h.readOnly(h.data)

	r := h.expect(1, "sync") // asks the daemon
	h.contains("stderr", r.stderr, "read-only file system")
	same(h, "published", before, h.published("dq_addr_data"))
	code, _ := p.get("/readyz")
	same(h, "ready: its data is there", 200, code)
	p.terminate()

	for _, command := range []string{"run", "sync"} {
		h.contains(command, h.expect(1, command).stderr, "read-only")
	}
	same(h, "generation", 1, h.status().Generation)
	h.expect(0, "verify")
	h.proven()

	writable()
	h.sync(0)
	same(h, "current", "generations/000002", h.current())
	h.proven()
	reliability(t, "read-only data_dir", "made read-only beside a running daemon, and before a start", 2)
}

func TestDaemonSyncsAgainAfterAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	h := newHost(t, soakManifests...)
	h.publishNumbered(1)
	p := h.daemon()
	p.logged("sync")
	rounds := times(3, 30)
	for n := range rounds {
		h.publishNumbered(int64(n) + 2)
		before := h.current()
		writable := h.readOnly(h.data)
		h.expect(1, "sync")
		same(h, "current", before, h.current())
		h.proven()
		writable()
		h.expect(0, "sync")
		same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.current())
		h.proven()
	}
	p.terminate()
	reliability(t, "a disk that is read-only for a while", "made read-only under a running daemon, and writable again", rounds)
}

func TestDaemonSyncsAgainAfterTheDataDirIsBack(t *testing.T) {
	t.Parallel()
	h := newHost(t, soakManifests...)
	h.publishNumbered(1)
	p := h.daemon()
	p.logged("sync")
	away, rounds := h.path("away"), times(3, 30)
	for n := range rounds {
		h.publishNumbered(int64(n) + 2)
		before := h.current()
		h.must(os.Rename(h.data, away))
		p.failsWithout(2*n+1, "while it is gone")
		h.must(os.Mkdir(h.data, 0o755)) // as an unmounted volume leaves it
		p.failsWithout(2*n+2, "while another is in its place")
		same(h, "in the folder in its place", []string{}, namesIn(h, h.data))
		h.must(os.Remove(h.data))
		h.must(os.Rename(away, h.data))
		same(h, "current", before, h.current())
		code, text := p.get("/readyz")
		same(h, "ready again: "+text, 200, code)
		h.expect(0, "sync")
		same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.current())
		h.proven()
	}
	p.terminate()
	reliability(t, "a data_dir that vanishes", "moved away under a running daemon, another put in its place, and put back", rounds)
}

// failsWithout requests a sync and expects the n-th failure because the data directory
// is missing.
func (p *process) failsWithout(n int, when string) {
	p.h.Helper()
	code, _ := p.request("POST", "/api/v1/sync", "")
	same(p.h, when, 202, code)
	p.h.eventually("the log to tell that data_dir vanished", func() bool {
		return strings.Count(p.stderr.String(), "vanished or was replaced") >= n
	})
	for _, path := range []string{"/readyz", "/healthz"} {
		code, text := p.get(path)
		same(p.h, path+" "+when+": "+text, 503, code)
	}
}

func TestDaemonKeepsServingFromAReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	d := newDisk(t, []volume{{"ext4", 32 << 20, "errors=remount-ro"}})
	h.use(d.root())
	p := h.daemon()
	p.logged("sync")
	h.provider.AdvanceSample()
	before := h.published("dq_addr_data")
	if err := d.run("sh", "-c", `echo broken >/sys/fs/ext4/"$(basename "$(findmnt -no SOURCE "$0")")"/trigger_fs_error`, d.root()); err != nil {
		t.Skipf("NOT TESTED: this kernel lets nobody break ext4: %v", err)
	}
	h.contains("stderr", h.expect(1, "sync").stderr, "read-only file system") // asks the daemon
	same(h, "published", before, h.published("dq_addr_data"))
	h.proven()
	p.terminate()
	h.contains("stderr", h.expect(1, "sync").stderr, "read-only")
	h.expect(0, "status")
	d.restart()
	h.sync(0)
	same(h, "current", "generations/000002", h.current())
	h.proven()
	reliability(t, "a file system that fails", "ext4 turned read-only by an error under a running daemon", 1)
}
