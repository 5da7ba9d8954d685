package syncer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer/download"
	"syncd/internal/verify"
)

// gated is a Fetcher that holds back files until their gates are closed.
type gated struct {
	download.Fetcher
	gates map[string]chan struct{}
}

func (g *gated) Fetch(ctx context.Context, file manifest.File, size int64, watch fetcher.Watcher) (verify.Proven, error) {
	if gate := g.gates[file.Reference.Name()]; gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return verify.Proven{}, context.Cause(ctx)
		}
	}
	return g.Fetcher.Fetch(ctx, file, size, watch)
}

// gate holds back the download of a file until the returned channel is closed.
func (w *world) gate(name string) chan struct{} {
	if w.gates == nil {
		w.gates = map[string]chan struct{}{}
	}
	w.gates[name] = make(chan struct{})
	w.configure()
	return w.gates[name]
}

// A sync that is under way brings a newer release than the one that the rollback left,
// which ends the hold.
func TestARollbackDuringADownloadOfTheSameManifest(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	gate := w.gate("c.txt")
	w.publish("data", "2026.11", november())
	sync := w.background("data")
	w.downloading("data")
	w.rollback(request.Rollback{})
	w.serves("data", september())
	equal(t, "held from", w.status().Manifests[0].HeldFrom, "2026.10")
	close(gate)
	w.expect(sync.wait(), "data", report.Updated)
	w.serves("data", november())
	w.held("")
}

// The rollback is newer than the forced sync, and its hold keeps that release back.
func TestARollbackDuringADownloadKeepsItsReleaseBack(t *testing.T) {
	w := advanced(t)
	w.rollback(request.Rollback{}) // to october, held from november
	c, _ := w.cfg.Mirror.Generations.All()
	file, _ := c[1].Records["data"].File("c.txt")
	must(t, os.Remove(filepath.Join(w.dir, "objects", file.Object.String()[:2], file.Object.String()))) // so that there is something to download
	gate := w.gate("c.txt")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan report.Sync, 1)
	go func() {
		result, err := w.syncer.Sync(ctx, request.Sync{Trigger: "command", Demand: true, Force: true})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	w.downloading("data")
	w.rollback(request.Rollback{Generation: 1})
	close(gate)
	m := w.expect(<-done, "data", report.Unchanged)
	equal(t, "release", m.Release, "2026.09")
	w.serves("data", september())
	w.held("2026.11")
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", november())
}

func TestPruningDuringADownloadKeepsWhatItsPlanNeeds(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		t.Run(algorithm.String(), func(t *testing.T) {
			w := start(t, "data", "other")
			w.cfg.Algorithm, w.cfg.Retain, w.cfg.RetainFor = algorithm, 1, 0
			w.configure()
			w.publish("other", "2026.09", files{"o.dat": "other"})
			w.publish("data", "2026.09", files{"a.dat": "a"})
			w.demand()
			w.publish("data", "2026.10", files{"b.dat": "b"})
			w.demand()
			w.publish("data", "2026.11", files{"a.dat": "a", "new.dat": "new", "gated.dat": "gated"})
			gate := w.gate("gated.dat")
			sync := w.background("data")
			w.downloading("data")
			w.cfg.Retain = 0
			w.configure() // as a reload does
			w.publish("other", "2026.10", files{"o.dat": "of october"})
			w.expect(w.demand("other"), "other", report.Updated)
			old, err := filepath.Glob(filepath.Join(w.dir, "revisions", "data", "2026.09-*"))
			must(t, err)
			equal(t, "old revisions after pruning", len(old), 0)
			close(gate)
			m := w.expect(sync.wait(), "data", report.Updated)
			equal(t, "reused", m.FilesReused, 1)
			w.serves("data", files{"a.dat": "a", "new.dat": "new", "gated.dat": "gated"})
		})
	}
}

func TestTwoSyncsThatShareAContentDownloadItOnce(t *testing.T) {
	w := start(t, "data", "twin")
	w.publish("data", "2026.09", files{"shared.dat": "the same", "a.dat": "a"})
	w.publish("twin", "2026.09", files{"shared.dat": "the same", "b.dat": "b"})
	gate := w.gate("shared.dat")
	first := w.background("data")
	w.downloading("data")
	second := w.background("twin")
	eventually(t, "the second one waits", func() bool {
		return slices.ContainsFunc(w.progress.Snapshot().Manifests, func(m report.ManifestProgress) bool { return m.Name == "twin" && m.FilesDone == 1 })
	})
	close(gate)
	w.expect(first.wait(), "data", report.Updated)
	m := w.expect(second.wait(), "twin", report.Updated)
	equal(t, "files of the second", []int{m.FilesDownloaded, m.FilesReused}, []int{1, 1})
	w.serves("twin", files{"shared.dat": "the same", "b.dat": "b"})
	equal(t, "downloads", w.downloads(), []string{"a.dat", "b.dat", "shared.dat"})
}

func TestASharedContentIsDownloadedAfterAllWhenTheOtherSyncStops(t *testing.T) {
	w := start(t, "data", "twin")
	w.publish("data", "2026.09", files{"shared.dat": "the same"})
	w.publish("twin", "2026.09", files{"shared.dat": "the same"})
	gate := w.gate("shared.dat")
	first := w.background("data")
	w.downloading("data")
	second := w.background("twin")
	first.stop()
	<-first.done
	close(gate)
	w.expect(second.wait(), "twin", report.Updated)
}

func TestAdoptTakesOverTheDownloadsOfARunningSync(t *testing.T) {
	for _, move := range []bool{false, true} {
		t.Run(fmt.Sprint("move ", move), func(t *testing.T) {
			w := start(t, "data")
			content, folder := files{}, t.TempDir()
			for i := range 21 {
				name := fmt.Sprintf("f%02d.dat", i)
				content[name] = "content of " + name
				must(t, os.WriteFile(filepath.Join(folder, name), []byte(content[name]), 0o600))
				w.gate(name) // is never opened
			}
			w.publish("data", "2026.09", content)
			sync := w.background("data")
			eventually(t, "all files download", func() bool { return len(w.progress.Snapshot().Files) == len(content) })
			adopted, err := w.syncer.Adopt(context.Background(), request.Adopt{Folder: folder, Move: move})
			must(t, err)
			equal(t, "read, adopted, to download", []int{adopted.FilesRead, adopted.FilesAdopted, adopted.FilesToDownload}, []int{21, 21, 0})
			m := w.expect(sync.wait(), "data", report.Updated)
			equal(t, "downloaded", m.FilesDownloaded, 0)
			w.serves("data", content)
		})
	}
}

func TestADownloadThatGaveWayLeavesNothing(t *testing.T) {
	w, folder := start(t, "data"), t.TempDir()
	content := files{"a.dat": strings.Repeat("content ", 1000)}
	must(t, os.WriteFile(filepath.Join(folder, "a.dat"), []byte(content["a.dat"]), 0o600))
	w.publish("data", "2026.09", content)
	w.drip("*")
	sync := w.background("data")
	partial := func() []os.DirEntry {
		list, err := os.ReadDir(filepath.Join(w.dir, "partial"))
		must(t, err)
		return list
	}
	eventually(t, "bytes arrive", func() bool { return len(partial()) > 0 })
	adopted, err := w.syncer.Adopt(context.Background(), request.Adopt{Folder: folder})
	must(t, err)
	equal(t, "adopted", adopted.FilesAdopted, 1)
	w.expect(sync.wait(), "data", report.Updated)
	w.serves("data", content)
	if left := partial(); len(left) > 0 {
		t.Errorf("left in partial: %v", left)
	}
}

func TestAdoptCountsNothingThatARunningSyncHasAlready(t *testing.T) {
	w := start(t, "data")
	content, folder := files{"a.dat": "arrived", "gated.dat": "gated"}, t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "a.dat"), []byte(content["a.dat"]), 0o600))
	w.publish("data", "2026.09", content)
	gate := w.gate("gated.dat")
	sync := w.background("data")
	eventually(t, "a.dat has arrived", func() bool {
		files := w.progress.Snapshot().Files
		return len(w.downloads()) == 1 && len(files) == 1 && files[0].Path == "gated.dat"
	})
	adopted, err := w.syncer.Adopt(context.Background(), request.Adopt{Folder: folder})
	must(t, err)
	equal(t, "adopted, to download", []int{adopted.FilesAdopted, adopted.FilesToDownload}, []int{0, 1})
	close(gate)
	m := w.expect(sync.wait(), "data", report.Updated)
	equal(t, "downloaded", m.FilesDownloaded, 2)
}

func TestAdoptMovesNothingFromAnotherMirror(t *testing.T) {
	other := served(t)
	mirrored, err := filepath.EvalSymlinks(other.dir)
	must(t, err)
	exported := filepath.Join(t.TempDir(), "refdata")
	for _, dir := range []string{exported, filepath.Join(filepath.Dir(exported), ".refdata.syncd", "tree-1")} {
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "a.dat"), []byte("a of september"), 0o600))
	}
	w := start(t, "data")
	w.publish("data", "2026.09", september())
	for folder, word := range map[string]string{
		mirrored:                                "the data_dir " + mirrored,
		filepath.Join(mirrored, "objects"):      "the data_dir " + mirrored,
		filepath.Join(mirrored, "current/data"): "the data_dir " + mirrored,
		exported:                                "the export " + exported,
		filepath.Join(filepath.Dir(exported), ".refdata.syncd", "tree-1"): "the export ",
	} {
		_, err := w.syncer.Adopt(context.Background(), request.Adopt{Folder: folder, Move: true})
		if err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "leave out --move") {
			t.Errorf("adopt --move %s: %v", folder, err)
		}
	}
	for _, above := range []string{filepath.Dir(mirrored), filepath.Dir(exported)} {
		adopted, err := w.syncer.Adopt(context.Background(), request.Adopt{Folder: above, Move: true})
		must(t, err)
		if adopted.FilesAdopted > 0 || adopted.SkippedCount == 0 || !strings.Contains(adopted.Skipped[0].Error, "nothing is moved") {
			t.Errorf("adopt --move %s: %+v", above, adopted)
		}
	}
	other.serves("data", september())
	adopted, err := w.syncer.Adopt(context.Background(), request.Adopt{Folder: mirrored})
	must(t, err)
	equal(t, "copied from it", adopted.FilesAdopted, 4)
}
