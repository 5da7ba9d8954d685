package crash_test

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

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// onSmallExt4 is e2e.OnSmallDisk with a journal and without blocks reserved for root.
func onSmallExt4(h *e2e.Host) {
	h.Helper()
	d := newDisk(h.T, []volume{{"ext4", 32 << 20, ""}})
	h.Must(d.run("sh", "-c", `tune2fs -m 0 "$(findmnt -no SOURCE "$0")"`, d.root()))
	e2e.UseDisk(h, d.root())
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
	*e2e.Host
	neighbour *neighbour
	number    int // of the release
}

func (c *crowded) release() string { return fmt.Sprintf("%04d.%02d", 2000+c.number/12, 1+c.number%12) }

func newCrowded(t *testing.T, disk func(h *e2e.Host)) *crowded {
	t.Helper()
	h := e2e.NewHost(t, "m")
	h.Settings.More = "retain: 0\nretain_for: 0s\ntransfers: {files: 2}"
	disk(h)
	c := &crowded{Host: h, neighbour: &neighbour{dir: filepath.Join(filepath.Dir(h.Data), "other")}}
	c.offer(func() {})
	c.Sync(0)
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
	c.Provider.SetManifest("m", release, files...)
	res, err := http.Get(c.Provider.URL() + "/SHA256/Data/" + release + "/large.dat?id=" + url.QueryEscape(e2e.CustomerID))
	c.Must(err) // from now on the emulator knows the digest without reading
	res.Body.Close()
	e2e.Same(c.Host, "status", 200, res.StatusCode)
	large.set.Store(true)
}

// suffer runs a sync on a disk that fills up, and another once there is space again.
// failed is true when the first one failed.
func (c *crowded) suffer(what string) (failed bool) {
	c.Helper()
	before := c.Published("m")
	out := c.Syncd("sync", "--json")
	var r e2e.SyncOutput
	if err := json.Unmarshal([]byte(out.Stdout), &r); err != nil || out.Code > 1 {
		c.Fatalf("%s: exit %d\n%s%s", what, out.Code, out.Stdout, out.Stderr)
	}
	c.Proven()
	if out.Code == 1 {
		m := r.Manifests[0]
		if text := m.Error + out.Stderr; !strings.Contains(text, "no space") && !strings.Contains(text, "disk full") && !strings.Contains(text, "are free") {
			c.Errorf("%s: %s\n%s", what, m.Error, out.Stderr)
		}
		if m.Result != "updated" { // failed, and not failed but stored
			e2e.Same(c.Host, what, before, c.Published("m"))
		}
	}
	c.Must(c.neighbour.clear())
	c.Sync(0)
	c.Expect(0, "verify", "--json")
	c.Proven()
	e2e.Same(c.Host, what+": release", c.release(), c.Status().Manifests[0].Release)
	for _, dir := range []string{"partial", "generations", "revisions/m"} {
		if names := e2e.NamesIn(c.Host, filepath.Join(c.Data, dir)); len(names) > 1 || len(names) > 0 && dir == "partial" {
			c.Errorf("%s: %s holds %v", what, dir, names)
		}
	}
	return out.Code == 1
}

// TestFullDiskAtAnyPointKeepsTheOldRelease leaves a little more space in each round, so
// that the sync fails in one step after the other.
func TestFullDiskAtAnyPointKeepsTheOldRelease(t *testing.T) {
	t.Parallel()
	bytes := func(n int) (int64, int64) { return int64(n), -1 }
	for name, row := range map[string]struct {
		disk          func(*e2e.Host)
		rounds, most  int // roughly the need of a sync
		left          func(n int) (blocks, inodes int64)
		noSize, early bool
	}{
		"another writer takes the bytes":                   {disk: e2e.OnSmallTmpfs, rounds: e2e.Times(6, 120), most: 140, left: bytes},
		"another writer takes the bytes, beside a journal": {disk: onSmallExt4, rounds: e2e.Times(6, 120), most: 240, left: bytes},
		"another writer takes the inodes":                  {disk: e2e.OnSmallTmpfs, rounds: e2e.Times(8, 80), most: 70, left: func(n int) (int64, int64) { return -1, int64(n) }},
		"nothing foresees the bytes":                       {disk: e2e.OnSmallTmpfs, rounds: e2e.Times(4, 80), most: 140, left: bytes, noSize: true, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowded(t, row.disk)
			if row.noSize {
				c.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
				c.Provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload})
			}
			failed, random := 0, e2e.NewRandom(t)
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
			e2e.Reliability(t, "full disk, "+name, fmt.Sprintf("a sync on a disk that fills at another point each time, of which %d could not do it", failed), row.rounds)
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
	c := newCrowded(t, e2e.OnSmallTmpfs)
	c.offer(func() {})
	before := c.Published("m")
	c.neighbour.leave(-1, 10)
	c.Downloads()
	r := c.Sync(1)
	e2e.Same(c.Host, "refusal", []string{"refused", "no_space"}, []string{r.Manifests[0].Result, r.Manifests[0].Reason})
	c.Contains("the error", r.Manifests[0].Error, "inodes are free")
	c.WantDownloads()
	e2e.Same(c.Host, "published", before, c.Published("m"))
	c.Must(c.neighbour.clear())
	c.Sync(0)
	c.Proven()
}

// offerMiB publishes a release of one file of the given size in MiB.
func offerMiB(h *e2e.Host, release string, seed uint64, mib int64) {
	h.Provider.SetManifest("m", release, emulator.File{Name: "a.dat", Content: emulator.Random(seed, mib<<20)})
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
			h := e2e.NewHost(t, "m")
			h.Settings.More = "retain: 2\nretain_for: 0s"
			e2e.OnSmallDisk(h, "size=15m")
			for i, release := range []string{"2026.01", "2026.02", "2026.03"} {
				offerMiB(h, release, uint64(i), 4)
				h.Sync(0)
			}
			e2e.Same(h, "revisions", 3, len(e2e.NamesIn(h, filepath.Join(h.Data, "revisions", "m"))))
			before := h.Published("m")
			h.ConfigureWith(row.more)
			offerMiB(h, "2026.04", 4, 4)
			h.Downloads()
			dry := h.Expect(row.code, "sync", "--dry-run", "--json")
			e2e.Same(h, "revisions after a dry run", 3, len(e2e.NamesIn(h, filepath.Join(h.Data, "revisions", "m"))))
			r := h.Sync(row.code)
			h.Proven()
			e2e.Same(h, "revisions", row.kept, len(e2e.NamesIn(h, filepath.Join(h.Data, "revisions", "m"))))
			if row.code == 0 {
				e2e.Same(h, "release", "2026.04", r.Manifests[0].Release)
				return
			}
			h.WantDownloads()
			e2e.Same(h, "reason", "no_space", r.Manifests[0].Reason)
			e2e.Same(h, "published", before, h.Published("m"))
			for _, text := range []string{r.Manifests[0].Error, dry.Stdout} {
				h.Contains("the error", text, "4.0 MiB", "more could be freed at")
			}
		})
	}
}

func TestReadOnlyDataDirFailsOnlySyncs(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Sync(0)
	p := h.SyncedDaemon()
	before := h.Published("dq_addr_data")
	h.Provider.AdvanceSample()
	writable := e2e.ReadOnly(h, h.Data)

	r := h.Expect(1, "sync") // asks the daemon
	h.Contains("stderr", r.Stderr, "read-only file system")
	e2e.Same(h, "published", before, h.Published("dq_addr_data"))
	code, _ := p.Get("/readyz")
	e2e.Same(h, "ready: its data is there", 200, code)
	p.Terminate()

	for _, command := range []string{"run", "sync"} {
		h.Contains(command, h.Expect(1, command).Stderr, "read-only")
	}
	e2e.Same(h, "generation", 1, h.Status().Generation)
	h.Expect(0, "verify")
	h.Proven()

	writable()
	h.Sync(0)
	e2e.Same(h, "current", "generations/000002", h.Current())
	h.Proven()
	e2e.Reliability(t, "read-only data_dir", "made read-only beside a running daemon, and before a start", 2)
}

func TestDaemonSyncsAgainAfterAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, soakManifests...)
	publishNumbered(h, 1)
	p := h.SyncedDaemon()
	rounds := e2e.Times(3, 30)
	for n := range rounds {
		publishNumbered(h, int64(n)+2)
		before := h.Current()
		writable := e2e.ReadOnly(h, h.Data)
		h.Expect(1, "sync")
		e2e.Same(h, "current", before, h.Current())
		h.Proven()
		writable()
		h.Expect(0, "sync")
		e2e.Same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.Current())
		h.Proven()
	}
	p.Terminate()
	e2e.Reliability(t, "a disk that is read-only for a while", "made read-only under a running daemon, and writable again", rounds)
}

func TestDaemonSyncsAgainAfterTheDataDirIsBack(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, soakManifests...)
	publishNumbered(h, 1)
	p := h.SyncedDaemon()
	away, rounds := h.Path("away"), e2e.Times(3, 30)
	for n := range rounds {
		publishNumbered(h, int64(n)+2)
		before := h.Current()
		h.Must(os.Rename(h.Data, away))
		failsWithout(p, 2*n+1, "while it is gone")
		h.Must(os.Mkdir(h.Data, 0o755)) // as an unmounted volume leaves it
		failsWithout(p, 2*n+2, "while another is in its place")
		e2e.Same(h, "in the folder in its place", []string{}, e2e.NamesIn(h, h.Data))
		h.Must(os.Remove(h.Data))
		h.Must(os.Rename(away, h.Data))
		e2e.Same(h, "current", before, h.Current())
		code, text := p.Get("/readyz")
		e2e.Same(h, "ready again: "+text, 200, code)
		h.Expect(0, "sync")
		e2e.Same(h, "current", fmt.Sprintf("generations/%06d", n+2), h.Current())
		h.Proven()
	}
	p.Terminate()
	e2e.Reliability(t, "a data_dir that vanishes", "moved away under a running daemon, another put in its place, and put back", rounds)
}

// failsWithout requests a sync and expects the n-th failure because the data directory
// is missing.
func failsWithout(p *e2e.Process, n int, when string) {
	p.Host.Helper()
	code, _ := p.Request("POST", "/api/v1/sync", "")
	e2e.Same(p.Host, when, 202, code)
	p.Host.Eventually("the log to tell that data_dir vanished", func() bool {
		return strings.Count(p.Stderr.String(), "vanished or was replaced") >= n
	})
	for _, path := range []string{"/readyz", "/healthz"} {
		code, text := p.Get(path)
		e2e.Same(p.Host, path+" "+when+": "+text, 503, code)
	}
}

func TestDaemonKeepsServingFromAReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	d := newDisk(t, []volume{{"ext4", 32 << 20, "errors=remount-ro"}})
	e2e.UseDisk(h, d.root())
	p := h.SyncedDaemon()
	h.Provider.AdvanceSample()
	before := h.Published("dq_addr_data")
	if err := d.run("sh", "-c", `echo broken >/sys/fs/ext4/"$(basename "$(findmnt -no SOURCE "$0")")"/trigger_fs_error`, d.root()); err != nil {
		t.Skipf("NOT TESTED: this kernel lets nobody break ext4: %v", err)
	}
	h.Contains("stderr", h.Expect(1, "sync").Stderr, "read-only file system") // asks the daemon
	e2e.Same(h, "published", before, h.Published("dq_addr_data"))
	h.Proven()
	p.Terminate()
	h.Contains("stderr", h.Expect(1, "sync").Stderr, "read-only")
	h.Expect(0, "status")
	d.restart()
	h.Sync(0)
	e2e.Same(h, "current", "generations/000002", h.Current())
	h.Proven()
	e2e.Reliability(t, "a file system that fails", "ext4 turned read-only by an error under a running daemon", 1)
}
