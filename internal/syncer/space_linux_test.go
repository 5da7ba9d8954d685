package syncer_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// startOnDisk makes a world whose data directory is on a tmpfs of its own, or skips
// the test where that cannot be mounted.
func startOnDisk(t *testing.T, options string, names ...string) *world {
	t.Helper()
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, options); err != nil {
		t.Skipf("NOT TESTED: a full disk needs a tmpfs of its own, which only root may mount here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w := start(t, names...)
	w.close()
	w.dir = filepath.Join(mount, "data")
	w.open()
	return w
}

const mib = 1 << 20

// offer makes the provider offer a release of one file of the given size.
func (w *world) offer(month int, size int64) {
	w.provider.SetManifest("data", fmt.Sprintf("2026.%02d", month), emulator.File{Name: "large.dat", Content: emulator.Random(uint64(month), size)})
}

// releases are the folders of the revisions on disk, without their digests.
func (w *world) releases() string {
	w.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.dir, "revisions", "data", "*"))
	must(w, err)
	var names []string
	for _, dir := range dirs {
		release, _, _ := strings.Cut(filepath.Base(dir), "-")
		names = append(names, strings.TrimPrefix(release, "2026."))
	}
	return strings.Join(names, " ")
}

// three is a world with three releases of 2 MiB on a disk of 8.
func three(t *testing.T, retainFor time.Duration) *world {
	t.Helper()
	w := startOnDisk(t, "size=8m", "data")
	w.cfg.RetainFor = retainFor
	w.configure()
	for month := 1; month <= 3; month++ {
		w.offer(month, 2*mib)
		w.expect(w.demand(), "data", report.Updated)
	}
	equal(t, "revisions", w.releases(), "01 02 03")
	return w
}

// dry does a dry run.
func (w *world) dry() report.Sync {
	w.Helper()
	return w.sync(request.Sync{Demand: true, DryRun: true, Trigger: "command"})
}

func TestADisplacedRevisionIsPrunedEarlyWhenSpaceIsShort(t *testing.T) {
	w := three(t, 0)
	w.offer(4, 2*mib)
	w.expect(w.dry(), "data", report.Updated)
	equal(t, "revisions after a dry run", w.releases(), "01 02 03")
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "revisions", w.releases(), "02 03 04")
}

func TestNoRevisionIsPrunedForAReleaseThatStillWouldNotFit(t *testing.T) {
	w := three(t, 0)
	w.offer(4, 5*mib)
	w.expect(w.dry(), "data", report.Refused)
	m := w.refuses(refusal.NoSpace)
	equal(t, "revisions", w.releases(), "01 02 03")
	equal(t, "downloads", len(w.downloads()), 0)
	if needed := w.metric("syncd_disk_needed_bytes", "manifest=data"); needed < 5*mib || needed > 6*mib {
		t.Errorf("%v bytes needed", needed)
	}
	for _, part := range []string{"needs 5.", "1.", "(2097152 bytes) more could be freed;", "(2097152 bytes) more with `retain: 0`"} {
		if !strings.Contains(m.Error, part) {
			t.Errorf("error %q lacks %q", m.Error, part)
		}
	}
	w.cfg.Retain = 0
	w.configure()
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "revisions", w.releases(), "04")
	equal(t, "bytes needed", w.metric("syncd_disk_needed_bytes", "manifest=data"), 0.0)
}

func TestRetainForPreventsEarlyPruning(t *testing.T) {
	w := three(t, time.Hour)
	w.offer(4, 2*mib)
	w.expect(w.dry(), "data", report.Refused)
	m := w.refuses(refusal.NoSpace)
	equal(t, "revisions", w.releases(), "01 02 03")
	if want := "(2097152 bytes) more could be freed at "; !strings.Contains(m.Error, want) || !strings.Contains(m.Error, "`retain_for` is over") {
		t.Errorf("error %q", m.Error)
	}
	w.cfg.RetainFor = 0
	w.configure()
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "revisions", w.releases(), "02 03 04")
}

func TestUnreferencedObjectsArePrunedBeforeRevisions(t *testing.T) {
	w := startOnDisk(t, "size=8m", "data")
	for month := 1; month <= 2; month++ {
		w.offer(month, 2*mib)
		w.expect(w.demand(), "data", report.Updated)
	}
	w.poll()
	w.loose(manifest.ObjectID{1}, strings.Repeat("loose", 2*mib/5))
	w.offer(3, 2*mib)
	w.expect(w.dry(), "data", report.Updated)
	equal(t, "objects after a dry run", len(w.objects()), 3)
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "revisions", w.releases(), "01 02 03")
}

func TestPruningForSpaceKeepsTheObjectsOfTheRunningSync(t *testing.T) {
	w := startOnDisk(t, "size=8m", "data")
	w.offer(1, mib)
	w.expect(w.demand(), "data", report.Updated)
	there := strings.Repeat("there", mib/5)
	w.loose(sha256.Sum256([]byte(there)), there)
	w.loose(manifest.ObjectID{1}, strings.Repeat("loose", 3*mib/5))
	w.provider.SetManifest("data", "2026.02", emulator.File{Name: "there.dat", Content: emulator.Text(there)},
		emulator.File{Name: "new.dat", Content: emulator.Random(9, 4*mib)})
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"new.dat"})
	equal(t, "revisions", w.releases(), "01 02")
}

// loose adds an object that neither a record nor the state names.
func (w *world) loose(id manifest.ObjectID, content string) {
	w.Helper()
	path := w.objectPath(id)
	must(w, os.MkdirAll(filepath.Dir(path), 0o755))
	must(w, os.WriteFile(path, []byte(content), 0o444))
}

// foreseen syncs a release on disks of several sizes: each one is large enough, or the
// sync is refused before the first byte.
func foreseen(t *testing.T, options []string, what string, release ...emulator.File) {
	refused, updated := 0, 0
	for _, option := range options {
		t.Run(option, func(t *testing.T) {
			w := startOnDisk(t, option, "data")
			w.provider.SetManifest("data", "2026.09", release...)
			switch m := only(t, w.demand(), "data"); {
			case m.Result == report.Updated:
				updated++
			case m.Result != report.Refused || updated > 0 || len(w.downloads()) > 0 || !strings.Contains(m.Error, what):
				t.Errorf("%s after %d downloads: %s", m.Result, len(w.downloads()), m.Error)
			default:
				refused++
			}
		})
	}
	if t.Logf("%d refused, %d updated", refused, updated); refused == 0 || updated == 0 {
		t.Error("one of the two was not tested")
	}
}

func TestRefusesTooFewInodesBeforeDownloading(t *testing.T) {
	var options []string
	for inodes := 16; inodes <= 80; inodes += 2 {
		options = append(options, fmt.Sprintf("size=8m,nr_inodes=%d", inodes))
	}
	foreseen(t, options, "inodes", emulator.File{Name: "a.dat", Content: emulator.Text("a")},
		emulator.File{Name: "large.dat", Content: emulator.Random(3, mib+1)},
		emulator.File{Class: "Library", OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "libx.so", Content: emulator.Text("x")},
		emulator.File{Class: "Interface", OS: "ANY", Language: "JAVA", Architecture: "ANY", Name: "x.jar", Content: emulator.Text("y")})
}

func TestRefusesTooFewBytesBeforeDownloading(t *testing.T) {
	var options []string
	for pages := 500; pages <= 640; pages += 10 {
		options = append(options, fmt.Sprintf("size=%dk", 4*pages))
	}
	var release []emulator.File
	for i := range 20 {
		release = append(release, emulator.File{Name: fmt.Sprintf("f%02d.dat", i), Content: emulator.Random(uint64(i), 100<<10)})
	}
	foreseen(t, options, "bytes", release...)
}

// An endless file would otherwise keep the disk full for all manifests.
func TestAFileOfUnknownSizeThatFillsTheDiskIsNotKept(t *testing.T) {
	w := startOnDisk(t, "size=300m", "data")
	w.offer(1, 160*mib)
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindNoLength, Host: emulator.HostDownload})
	m := w.refuses(refusal.NoSpace)
	if m.BytesDownloaded == 0 {
		t.Error("refused before the download, so nothing was tested")
	}
	equal(t, "unfinished downloads", w.partials(), []string{})
}

// hashed is a view of one file that needs space for its `.hash` file and its records.
func hashed(name string) golive.ViewTarget {
	return golive.ViewTarget{View: layout.View{Name: name, Manifests: []string{"small"}, Layout: layout.Flat, HashFiles: true},
		ReadMaps: func() (map[string]*layout.Map, error) { return nil, nil }}
}

func TestAViewLeavesTheSpaceThatARunningSyncReserved(t *testing.T) {
	w := startOnDisk(t, "size=8m", "small", "data")
	w.publish("small", "2026.09", files{"a": "1"})
	w.expect(w.demand("small"), "small", report.Updated)
	free, err := w.cfg.Mirror.Free()
	must(t, err)
	w.offer(9, free.Bytes-300<<10)
	gate := w.gate("large.dat")
	sync := w.background("data")
	w.downloading("data")
	w.cfg.Views = []golive.ViewTarget{hashed("one"), hashed("two"), hashed("three"), hashed("four")}
	w.configure()
	result := w.demand("small")
	if len(result.Views) != 4 || result.Views[3].Reason != string(refusal.NoSpace) {
		t.Errorf("the views took reserved space: %+v", result.Views)
	}
	close(gate)
	w.expect(sync.wait(), "data", report.Updated)
}

func TestViewsOfOneSwapShareTheFreeSpace(t *testing.T) {
	w := startOnDisk(t, "size=8m", "small")
	w.publish("small", "2026.09", files{"a": "1"})
	w.expect(w.demand(), "small", report.Updated)
	free, err := w.cfg.Mirror.Free()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(w.dir), "other"), make([]byte, free.Bytes-100<<10), 0o600))
	w.cfg.Views = []golive.ViewTarget{hashed("one"), hashed("two")}
	w.configure()
	result := w.demand()
	equal(t, "results", []report.Result{result.Views[0].Result, result.Views[1].Result}, []report.Result{report.Updated, report.Refused})
}

// Followers that asked about each release filled the disk, and the next one was refused.
func TestReleasesThatFollowersUseGiveWayToANewOne(t *testing.T) {
	w := startOnDisk(t, "size=8m", "data")
	hosts := catalog.New(catalog.Config{
		Mirror: w.cfg.Mirror, Records: w.cfg.Mirror.Records, Objects: w.cfg.Mirror.Objects, Store: w.cfg.Store,
		Live: func(string) map[string]time.Time { return nil }, Left: func(string) map[string]bool { return nil },
		IsStaged: func(string, string) bool { return false }, Warn: func(message string, err error) { t.Errorf("%s: %v", message, err) },
	}, time.Hour)
	w.cfg.Followers, w.cfg.Retain = hosts, 0
	w.configure()
	for month := 1; month <= 3; month++ {
		w.offer(month, 2*mib)
		w.expect(w.demand(), "data", report.Updated)
		hosts.Rebuild()
		for _, r := range hosts.Snapshot().Revisions("data")[:1] {
			if !hosts.Asked(t.Context(), r, "db01") {
				t.Fatal("it is being removed")
			}
		}
	}
	equal(t, "revisions", w.releases(), "01 02 03")
	w.offer(4, 2*mib)
	w.expect(w.dry(), "data", report.Updated)
	equal(t, "revisions", w.releases(), "01 02 03")
	w.expect(w.demand(), "data", report.Updated) // the oldest goes
	equal(t, "revisions", w.releases(), "02 03 04")
	w.offer(5, 7*mib)
	w.expect(w.demand(), "data", report.Refused) // nothing makes room for it
	equal(t, "revisions", w.releases(), "02 03 04")
	hosts.SetKeepMax(3 * mib)
	w.offer(5, mib)
	w.expect(w.demand(), "data", report.Updated)
	w.poll() // prunes
	equal(t, "revisions", w.releases(), "03 05")
}

// The size of the large file was not asked for with its digest. Its first response tells it.
func TestAHugeFileAmongManySmallOnesIsRefusedBeforeItFillsTheDisk(t *testing.T) {
	w := startOnDisk(t, "size=400m", "data")
	var all []emulator.File
	for name, content := range manySmall() {
		all = append(all, emulator.File{Name: name, Content: emulator.Text(content)})
	}
	slices.SortFunc(all, func(a, b emulator.File) int { return strings.Compare(a.Name, b.Name) })
	all[351].Content = emulator.Random(1, 1<<30)
	w.provider.SetManifest("data", "2026.09", all...)
	m := w.refuses(refusal.NoSpace)
	if !strings.Contains(m.Error, "needs") || !strings.Contains(m.Error, "are free") {
		t.Errorf("the refusal has no numbers: %s", m.Error)
	}
	free, err := w.cfg.Mirror.Free()
	must(t, err)
	if free.Bytes < 300<<20 {
		t.Errorf("%d bytes are left of 400 MiB", free.Bytes)
	}
}

// keptPatches are patches that fill a disk.
type keptPatches struct{ path string }

func (p keptPatches) Bytes() int64 {
	info, err := os.Stat(p.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (p keptPatches) Yield(int64) error { return os.Remove(p.path) }

func (keptPatches) Destroy([]manifest.ObjectID) (int, error) { return 0, nil }

func TestPatchesGiveWayToAdoptedFilesThatFitThen(t *testing.T) {
	w := startOnDisk(t, "size=8m", "data")
	patches := keptPatches{filepath.Join(w.dir, "patches")}
	must(t, os.WriteFile(patches.path, make([]byte, 4*mib), 0o600))
	w.cfg.Patches = patches
	w.configure()
	adopt := func(size int) (report.Adoption, error) {
		folder := t.TempDir()
		content := strings.Repeat("x", size)
		w.publish("data", "2026.09", files{"a.dat": content})
		must(t, os.WriteFile(filepath.Join(folder, "a.dat"), []byte(content), 0o600))
		return w.syncer.Adopt(t.Context(), request.Adopt{Folder: folder})
	}
	if _, err := adopt(9 * mib); refusal.ReasonOf(err) != refusal.NoSpace || patches.Bytes() == 0 {
		t.Errorf("a file that never fits: %v, and %d bytes of patches", err, patches.Bytes())
	}
	adopted, err := adopt(6 * mib)
	must(t, err)
	equal(t, "adopted", adopted.FilesAdopted, 1)
	equal(t, "bytes of patches", patches.Bytes(), int64(0))
}
