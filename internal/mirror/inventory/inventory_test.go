package inventory

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/disk/durable"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/store"
	"syncd/internal/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an inventory of a real data directory.
type world struct {
	testing.TB
	*Inventory
	mirror  *mirror.Mirror
	store   *store.Store
	damaged []string // manifests for which damage was counted
}

func newWorld(t testing.TB, algorithm manifest.Algorithm) *world {
	t.Helper()
	m, err := mirror.Open(filepath.Join(t.TempDir(), "data"), &durable.Disk{})
	must(t, err)
	must(t, m.Recover())
	s, _, err := store.Open(m.Root(), "state/syncd.db", time.Second)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	w := &world{TB: t, mirror: m, store: s}
	w.Inventory = New(Config{
		Mirror: m, Store: s, Algorithm: algorithm, Log: zerolog.Nop(),
		Damaged: func(manifest string) { w.damaged = append(w.damaged, manifest) },
	})
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// arrived writes a proven file of the given content, as a download does.
func (w *world) arrived(content string) verify.Proven {
	w.Helper()
	object := manifest.Object{ID: sha256.Sum256([]byte(content)), Size: int64(len(content))}
	name := object.ID.String()
	must(w, os.WriteFile(w.mirror.Objects.Partial().Path(name), []byte(content), 0o444))
	return verify.Proven{Name: name, Object: object}
}

func (w *world) objectPath(id manifest.ObjectID) string {
	return w.mirror.Root().Path("objects", id.String()[:2], id.String())
}

func (w *world) add(content string) manifest.ObjectID {
	w.Helper()
	file := w.arrived(content)
	must(w, w.Add(file))
	return file.Object.ID
}

// damage gives an object another content, and a file that looks otherwise.
func (w *world) damage(id manifest.ObjectID) {
	w.Helper()
	path := w.objectPath(id)
	must(w, os.Remove(path))
	must(w, os.WriteFile(path, []byte("damaged "+time.Now().String()), 0o444))
}

func md5Of(content string) manifest.Digest {
	d := manifest.Digest{Algorithm: manifest.MD5}
	sum := md5.Sum([]byte(content))
	copy(d.Sum[:], sum[:])
	return d
}

func filesOf(digest func(string) manifest.Digest, contents ...string) []manifest.File {
	files := make([]manifest.File, len(contents))
	for i, content := range contents {
		files[i] = manifest.File{Path: fmt.Sprint(i), Expected: digest(content)}
	}
	return files
}

func sha256Of(content string) manifest.Digest {
	return manifest.ObjectID(sha256.Sum256([]byte(content))).Digest()
}

func (w *world) plan(s *Session, files []manifest.File) (missing []string) {
	w.Helper()
	plan, err := s.Plan(w.Context(), Query{Manifest: "m", Files: files})
	must(w, err)
	for _, f := range plan.Missing {
		missing = append(missing, f.Path)
	}
	return missing
}

func equal(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlanReusesProvenObjectsAndLeavesOutDamagedOnes(t *testing.T) {
	for name, digest := range map[string]func(string) manifest.Digest{"SHA256": sha256Of, "MD5": md5Of} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, manifest.ParseAlgorithm(name))
			w.add("whole")
			w.damage(w.add("damaged"))
			s := w.NewSession()
			files := filesOf(digest, "whole", "damaged", "new")
			for range 2 {
				equal(t, []string{"1", "2"}, w.plan(s, files))
			}
			if digest("whole").Algorithm == manifest.SHA256 { // an index leaves damaged objects out by itself
				equal(t, []string{"m"}, w.damaged)
			}
		})
	}
}

func TestSavedProofsSpareTheReadingUntilTheFileLooksDifferent(t *testing.T) {
	w := newWorld(t, manifest.SHA256)
	id := w.add("content")
	files := filesOf(sha256Of, "content")
	s := w.NewSession()
	plan, err := s.Plan(t.Context(), Query{Files: files})
	must(t, err)
	must(t, w.store.Commit(store.Changes{Proofs: map[string]*store.Proofs{"m": s.Proofs(plan.Known)}}))

	info, err := os.Stat(w.objectPath(id))
	must(t, err)
	must(t, os.Chmod(w.objectPath(id), 0o644))
	must(t, os.WriteFile(w.objectPath(id), []byte("CONTENT"), 0o644))
	must(t, os.Chtimes(w.objectPath(id), info.ModTime(), info.ModTime()))
	equal(t, []string(nil), w.plan(w.NewSession(), files)) // looks as it did: it is not read
	must(t, os.Chtimes(w.objectPath(id), time.Time{}, info.ModTime().Add(time.Second)))
	equal(t, []string{"0"}, w.plan(w.NewSession(), files))
}

func TestAnObjectThatWasAddedAgainIsNotDamaged(t *testing.T) {
	w := newWorld(t, manifest.SHA256)
	w.damage(w.add("content"))
	s, files := w.NewSession(), filesOf(sha256Of, "content")
	equal(t, []string{"0"}, w.plan(s, files))
	s.Add(w.arrived("content"), func(err error) { must(t, err) })
	s.Flush()
	equal(t, []string(nil), w.plan(s, files))
}

func TestADamagedObjectHasNoDigest(t *testing.T) {
	w := newWorld(t, manifest.MD5)
	w.damage(w.add("damaged"))
	w.add("whole")
	objects, err := w.index(t.Context(), manifest.MD5)
	must(t, err)
	equal(t, index{md5Of("whole"): sha256.Sum256([]byte("whole"))}, objects)
}

func TestIdentifyFindsObjectsByWhatTheStateSavedAndByReading(t *testing.T) {
	w := newWorld(t, manifest.SHA256)
	read, saved := w.add("read"), w.add("saved")
	must(t, w.store.Commit(store.Changes{Planned: map[string]iter.Seq[store.Planned]{"m": slices.Values([]store.Planned{{Expected: md5Of("as saved"), Object: saved}})}}))
	found, err := w.Identify(t.Context(), []manifest.Digest{md5Of("read"), md5Of("as saved"), md5Of("unknown")})
	must(t, err)
	equal(t, map[manifest.Digest]manifest.ObjectID{md5Of("read"): read, md5Of("as saved"): saved}, found)
}

func TestSmallFilesWaitForABatchAndDurableOnesDoNot(t *testing.T) {
	w := newWorld(t, manifest.SHA256)
	s, settled := w.NewSession(), 0
	add := func(content string, durable bool) {
		file := w.arrived(content)
		file.Durable = durable
		s.Add(file, func(err error) { must(t, err); settled++ })
	}
	add("small", false)
	equal(t, 0, settled)
	add("large", true)
	equal(t, 1, settled)
	for i := range batchFiles - 1 {
		add(fmt.Sprint(i), false)
	}
	equal(t, 1+batchFiles, settled)
	add("last", false)
	s.Flush()
	s.Flush()
	equal(t, 2+batchFiles, settled)
	if !s.Has(t.Context(), sha256Of("last")) || s.Has(t.Context(), sha256Of("never")) {
		t.Error("Has is wrong about the objects on disk")
	}
}

// blockedAdd is long enough for an Add that should block to show that it does not.
const blockedAdd = 200 * time.Millisecond

func TestAFullBatchWaitsWhileAnotherBecomesObjects(t *testing.T) {
	w := newWorld(t, manifest.SHA256)
	s := w.NewSession()
	var isBegun, isEnded atomic.Bool
	begun, goOn := make(chan struct{}), make(chan struct{})
	add := func(number int) {
		s.Add(w.arrived(fmt.Sprint(number)), func(err error) {
			if err != nil {
				t.Error(err)
			}
			if isBegun.CompareAndSwap(false, true) {
				close(begun)
				<-goOn
				isEnded.Store(true)
			}
			if !isEnded.Load() {
				t.Errorf("file %d became an object beside another batch", number)
			}
		})
	}
	var workers sync.WaitGroup
	workers.Go(func() {
		for i := range batchFiles {
			add(i)
		}
	})
	<-begun
	added := make(chan struct{}, 2*batchFiles)
	workers.Go(func() {
		for i := range 2 * batchFiles {
			add(batchFiles + i)
			added <- struct{}{}
		}
	})
	for range batchFiles - 1 {
		<-added
	}
	select {
	case <-added:
		t.Error("Add returned with a full batch waiting")
	case <-time.After(blockedAdd):
	}
	close(goOn)
	workers.Wait()
}

func TestTheContextEndsReadingBack(t *testing.T) {
	w := newWorld(t, manifest.SHA256)
	w.add("content")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := w.NewSession().Plan(ctx, Query{Files: filesOf(sha256Of, "content")}); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
