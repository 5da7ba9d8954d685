package syncer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// killed turns w into the next process on the data directory of a process that was
// killed in the middle of a sync of data: two files were objects, and half of
// large.dat was downloaded.
func killed(t *testing.T, w *world) {
	t.Helper()
	w.provider.SetManifest("data", "2026.09", emulator.File{Name: "large.dat", Content: emulator.Random(7, large)},
		emulator.File{Name: "a.dat", Content: emulator.Random(8, 1<<20)}, emulator.File{Name: "b.dat", Content: emulator.Random(9, 1<<20)})
	fault := w.provider.AddFault(emulator.Fault{Kind: emulator.KindStall, Host: emulator.HostDownload, Path: "*/large.dat", After: large / 2})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := w.syncer.Sync(ctx, request.Sync{Demand: true, Manifests: []string{"data"}})
		done <- err
	}()
	eventually(t, "the two smaller files and half of the large one are there", func() bool {
		s := w.progress.Snapshot()
		return len(s.Files) == 1 && s.Files[0].Done == large/2 && s.Manifests[0].FilesDone == 2 && len(w.objects()) == 2
	})
	image := filepath.Join(t.TempDir(), "image") // nothing changes while the transfer hangs
	must(t, os.CopyFS(image, os.DirFS(w.dir)))
	cancel()
	<-done
	w.provider.RemoveFault(fault)
	w.close()
	w.dir = image
	w.open()
}

func TestAKillLosesNoFinishedObject(t *testing.T) {
	next := map[string]func(*world){
		"and the next sync is of it":         func(*world) {},
		"and the next sync is of another":    func(w *world) { w.expect(w.demand("other"), "other", report.Updated) },
		"and the hash type changes":          func(w *world) { w.cfg.Algorithm = manifest.SHA1; w.configure() },
		"and the state is lost":              func(w *world) { w.loseState() },
		"and the state is lost, then others": func(w *world) { w.loseState(); w.expect(w.demand("other"), "other", report.Updated) },
		"and the list fails after a lost state": func(w *world) {
			w.loseState()
			w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Manifest/*/data", Times: 1})
			w.expect(w.demand("data"), "data", report.Failed)
			w.expect(w.demand("other"), "other", report.Updated)
		},
	}
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5} {
		for name, then := range next {
			t.Run(algorithm.String()+" "+name, func(t *testing.T) {
				w := start(t, "data", "other")
				w.publish("other", "2026.09", files{"o.dat": "o"})
				w.cfg.Algorithm = algorithm
				w.configure()
				killed(t, w)
				then(w)
				m := w.expect(w.demand("data"), "data", report.Updated)
				equal(t, "downloads", w.downloads(), []string{"large.dat"})
				if w.cfg.Algorithm == algorithm { // an unfinished download has its digest's name
					equal(t, "bytes downloaded", m.BytesDownloaded, int64(large/2))
				}
				w.demand("other")
				w.poll()
				equal(t, "unfinished downloads", w.partials(), []string{})
				equal(t, "objects", len(w.objects()), 4)
			})
		}
	}
}

// loseState removes the state file between two processes.
func (w *world) loseState() {
	w.Helper()
	w.close()
	must(w, os.Remove(filepath.Join(w.dir, "state", "syncd.db")))
	w.open()
}

// partials are the names of unfinished downloads.
func (w *world) partials() []string {
	w.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "partial"))
	must(w, err)
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestALostStateKeepsLeftoversForOneRecheckInterval(t *testing.T) {
	w := start(t, "data", "other")
	w.publish("other", "2026.09", files{"o.dat": "o"})
	killed(t, w)
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 403, Path: "/ManifestReleases/data"})
	w.loseState()
	for range 2 {
		w.expect(w.demand(), "data", report.Failed)
		equal(t, "objects", len(w.objects()), 3)
	}
	w.cfg.Recheck = time.Nanosecond
	w.configure()
	w.expect(w.demand(), "data", report.Failed)
	equal(t, "objects", len(w.objects()), 1)
	equal(t, "unfinished downloads", w.partials(), []string{})
}

func TestADamagedLeftoverIsDownloadedAgain(t *testing.T) {
	w := start(t, "data")
	w.cfg.Algorithm = manifest.MD5
	w.configure()
	killed(t, w)
	for _, path := range w.objects() {
		must(t, os.Chmod(path, 0o600))
		must(t, os.WriteFile(path, []byte("?"), 0o400))
	}
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "downloads", w.downloads(), []string{"a.dat", "b.dat", "large.dat"})
	w.whole()
}

func TestFailingReleasesDoNotPileUpDownloads(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		for name, before := range map[string]func(*testing.T, *world){
			"failed":                   func(*testing.T, *world) {},
			"interrupted, then failed": interruptAtLarge,
		} {
			t.Run(algorithm.String()+" "+name, func(t *testing.T) {
				w := start(t, "data")
				w.cfg.Algorithm = algorithm
				w.source.Retry.MaxElapsed = 20 * time.Millisecond
				w.configure()
				w.publish("data", "2026.01", files{"a.dat": "a"})
				w.expect(w.demand(), "data", report.Updated)
				for month := 2; month <= 5; month++ {
					w.provider.SetManifest("data", fmt.Sprintf("2026.%02d", month), emulator.File{Name: "a.dat", Content: emulator.Text("a")},
						emulator.File{Name: "b.dat", Content: emulator.Text(fmt.Sprint("b", month))},
						emulator.File{Name: "large.dat", Content: emulator.Random(uint64(month), large)})
					before(t, w)
					w.provider.AddFault(emulator.Fault{Kind: emulator.KindTruncate, Host: emulator.HostDownload, Path: "*/large.dat", After: 2 << 20, Times: 1})
					w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Host: emulator.HostDownload, Status: 404, Path: "*/large.dat"})
					w.expect(w.poll(), "data", report.Failed)
					w.provider.ClearFaults()
					partial := slices.DeleteFunc(w.partials(), func(name string) bool { return strings.HasSuffix(name, ".validator") })
					if got := len(partial) + len(w.objects()); got > 3 { // a served, b and half of large for the next try
						t.Errorf("month %d: %d objects, unfinished downloads %v", month, len(w.objects()), partial)
					}
				}
				w.expect(w.demand(), "data", report.Updated)
			})
		}
	}
}

// interruptAtLarge ends a sync in the middle of its large download.
func interruptAtLarge(t *testing.T, w *world) {
	t.Helper()
	fault := w.provider.AddFault(emulator.Fault{Kind: emulator.KindStall, Host: emulator.HostDownload, Path: "*/large.dat", After: 1 << 20})
	defer w.provider.RemoveFault(fault)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := w.syncer.Sync(ctx, request.Sync{})
		done <- err
	}()
	eventually(t, "it downloads", func() bool {
		s := w.progress.Snapshot()
		return len(s.Files) == 1 && s.Files[0].Done > 0
	})
	cancel()
	<-done
}

func TestTheNextSyncFinishesAnIncompletePruning(t *testing.T) {
	w := served(t)
	w.poll()
	busy := filepath.Join(w.dir, "partial", "busy") // no process can remove a mount point
	must(t, os.Mkdir(busy, 0o700))
	if err := syscall.Mount("tmpfs", busy, "tmpfs", 0, ""); err != nil {
		t.Skipf("NOT TESTED: only root may mount here: %v", err)
	}
	defer syscall.Unmount(busy, syscall.MNT_DETACH)
	w.publish("data", "2026.10", files{"a.dat": "a of september", "c.txt": "c"})
	w.expect(w.poll(), "data", report.Updated)
	if !strings.Contains(w.log.String(), "the next sync tries again") {
		t.Errorf("log %s", &w.log)
	}
	must(t, syscall.Unmount(busy, 0))
	w.expect(w.poll(), "data", report.Unchanged)
	equal(t, "unfinished downloads", w.partials(), []string{})
}
