package catalog_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"syncd/internal/disk/durable"
	"syncd/internal/downstream/catalog"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/audit"
	"syncd/internal/store"
	"syncd/internal/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a data directory and its catalog; all parts are the real ones.
type world struct {
	*testing.T
	dir       string
	keep      time.Duration
	forgetful bool // nothing is known of what was live earlier
	mirror    *mirror.Mirror
	store     *store.Store
	audit     *audit.Log
	staged    map[string]bool
	catalog   *catalog.Catalog
	warns     bool // and may
	warnings  []string
}

func start(t *testing.T) *world {
	w := &world{T: t, dir: filepath.Join(t.TempDir(), "data"), keep: time.Hour, staged: map[string]bool{}}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.Helper()
	disk := &durable.Disk{}
	m, err := mirror.Open(w.dir, disk)
	w.must(err)
	w.must(m.MakeState())
	w.must(m.Recover())
	s, _, err := store.Open(m.Root(), "state/syncd.db", time.Second)
	w.must(err)
	log, err := audit.Open(m, disk, 24*time.Hour)
	w.must(err)
	w.mirror, w.store, w.audit = m, s, log
	w.catalog = catalog.New(catalog.Config{
		Mirror: m, Records: m.Records, Objects: m.Objects, Store: s,
		Live: func(name string) map[string]time.Time {
			if w.forgetful {
				return nil
			}
			return log.Live(name)
		},
		Left:     log.Left,
		IsStaged: func(name, id string) bool { return w.staged[catalog.Key(name, id)] },
		Warn: func(message string, err error) {
			if w.warnings = append(w.warnings, message); !w.warns {
				w.Errorf("%s: %v", message, err)
			}
		},
	}, w.keep)
	w.catalog.Rebuild()
	m.Served = func(g mirror.Generation) {
		w.must(log.Note(g))
		w.catalog.Refresh()
	}
}

func (w *world) close() {
	w.must(errors.Join(w.store.Close(), w.mirror.Close()))
}

func (w *world) restart() {
	w.close()
	w.open()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// files are contents by reference.
type files map[string]string

// record makes the record of a revision whose objects are on disk.
func (w *world) record(name string, release manifest.Release, content files) mirror.Record {
	w.Helper()
	r := mirror.Record{Manifest: name, Release: release, Listed: len(content), PublishedAt: time.Now().UTC(), Version: "test"}
	var sums []manifest.Sum
	for i, text := range slices.Sorted(maps.Keys(content)) {
		ref, err := manifest.ParseReference(text)
		w.must(err)
		object := w.object(content[text])
		sums = append(sums, manifest.Sum{Object: object.ID, Path: ref.Path()})
		r.Files = append(r.Files, mirror.File{Path: ref.Path(), Reference: ref, Size: object.Size, Object: object.ID, Expected: object.ID.Digest(), Position: int32(i + 1)})
	}
	slices.SortFunc(r.Files, func(a, b mirror.File) int { return strings.Compare(a.Path, b.Path) })
	r.Revision = manifest.RevisionID(sums)
	return r
}

func (w *world) object(text string) manifest.Object {
	object := manifest.Object{ID: sha256.Sum256([]byte(text)), Size: int64(len(text))}
	name := "sha256-" + object.ID.String()
	w.must(os.WriteFile(filepath.Join(w.dir, "partial", name), []byte(text), 0o444))
	w.must(w.mirror.Objects.Adopt(verify.Proven{Name: name, Object: object}))
	return object
}

// publish swaps revisions into service.
func (w *world) publish(set ...mirror.Record) {
	w.Helper()
	for i := range set {
		set[i].PublishedAt = time.Now().UTC()
	}
	w.change(mirror.Change{Set: set})
}

func (w *world) change(change mirror.Change) {
	w.Helper()
	_, err := w.mirror.Publish(context.Background(), change)
	w.must(err)
}

// prune prunes as a sync does that retains no earlier revisions.
func (w *world) prune() {
	w.Helper()
	now := time.Now()
	known := w.catalog.Kept(now)
	_, err := w.mirror.Prune(mirror.Retention{
		Asked: known, AskedBytes: w.catalog.KeepMax(),
		Retire: func(stays func(string) bool) bool { return w.catalog.Retire(stays, known, now) },
	}, now)
	w.must(err)
}

// ask asks about a manifest's release as a follower does.
func (w *world) ask(name, release string) {
	w.Helper()
	r, err := w.catalog.Snapshot().Manifest(name, release, nil)
	w.must(err)
	if !w.catalog.Asked(context.Background(), r, "db01") {
		w.Errorf("%s of %s is being removed", release, name)
	}
}

// content reads a file as a follower does; "" if it is not there.
func (w *world) content(reference string) string {
	w.Helper()
	f, found := w.file(reference, nil)
	if !found {
		return ""
	}
	opened, err := w.catalog.Open(f)
	if errors.Is(err, fs.ErrNotExist) {
		w.Errorf("%s is in the catalog and not on disk", reference)
		return ""
	}
	w.must(err)
	defer opened.Close()
	data, err := os.ReadFile(opened.Name())
	w.must(err)
	return string(data)
}

func (w *world) file(reference string, sees catalog.Sees) (catalog.File, bool) {
	w.Helper()
	ref, err := manifest.ParseReference(reference)
	w.must(err)
	return w.catalog.Snapshot().File(ref, sees)
}

// releases lists a manifest's releases as ManifestReleases does.
func (w *world) releases(name string) string {
	var all []string
	for _, r := range w.catalog.Snapshot().Releases(name, nil) {
		all = append(all, string(r))
	}
	return strings.Join(all, " ")
}

// at is what a release of a manifest means; "" for nothing.
func (w *world) at(name, release string, sees catalog.Sees) string {
	r, err := w.catalog.Snapshot().Manifest(name, release, sees)
	if err != nil {
		return ""
	}
	return string(r.Release)
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// mirrorPrune prunes what followers did not ask about before.
func (w *world) mirrorPrune(now time.Time, retire func(func(string) bool) bool) (time.Time, error) {
	return w.mirror.Prune(mirror.Retention{Asked: w.catalog.Kept(now), Retire: retire}, now)
}
