package mirror

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Damage is a published file whose content is not the recorded one.
type Damage struct {
	Manifest string
	File     File
	Err      error
}

// Checked is the result of Verify.
type Checked struct {
	Files  int
	Bytes  int64
	Damage []Damage
}

// Verify re-reads the published files of the given manifests with all cores, the
// largest first so that none trails, and compares each with its digest. It reads
// through the generation that is current when it starts, as readers do, at most rate
// bytes per second (0 for no limit). Safe for concurrent use.
func (m *Mirror) Verify(ctx context.Context, names []string, rate int64) (Checked, error) {
	generation := m.Current()
	dir := generationDir(generation.Number)
	files := verify.NewFiles(rate)
	var mu sync.Mutex
	var checked Checked
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range generation.published(names) {
		group.Go(func() error {
			object, err := files.Check(reading, m.root, filepath.Join(dir, p.manifest, p.Path), p.Object.Digest())
			if reading.Err() != nil {
				return context.Cause(reading)
			}
			mu.Lock()
			defer mu.Unlock()
			checked.Files++
			checked.Bytes += object.Size
			if err != nil {
				checked.Damage = append(checked.Damage, Damage{Manifest: p.manifest, File: *p.File, Err: err})
			}
			return nil
		})
	}
	err := group.Wait()
	sortDamage(checked.Damage)
	return checked, err
}

// published is a file of a generation.
type published struct {
	manifest string
	*File
}

// published lists the files of some manifests, the largest first.
func (g Generation) published(names []string) []published {
	var all []published
	for _, name := range names {
		files := g.Records[name].Files
		for i := range files {
			all = append(all, published{name, &files[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b published) int { return cmp.Compare(b.Size, a.Size) })
	return all
}

// Reread is nil when a file that was damaged has the recorded content now.
func (m *Mirror) Reread(ctx context.Context, d Damage) error {
	name := filepath.Join(generationDir(m.Current().Number), d.Manifest, d.File.Path)
	_, err := verify.File(ctx, m.root, name, d.File.Object.Digest())
	return err
}

// ObjectIsWhole re-reads an object and compares it with its name.
func (m *Mirror) ObjectIsWhole(ctx context.Context, id manifest.ObjectID) bool {
	_, err := m.CheckObject(ctx, id, id.Digest())
	return err == nil
}

// Relink renames a link to a repaired object over every file that should hold it, in
// every revision that a generation shows.
func (m *Mirror) Relink(id manifest.ObjectID) error {
	if err := m.SyncObjects(); err != nil {
		return err
	}
	all, err := m.Generations()
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, g := range all {
		for _, record := range g.Records {
			for _, f := range record.Files {
				path := filepath.Join("revisions", record.Manifest, record.ID(), f.Path)
				if f.Object != id || done[path] {
					continue
				}
				done[path] = true
				if err := m.relinkOne(record.Manifest, id, path); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
		}
	}
	return nil
}

// relinkOne replaces the file at path by a link to the object. The temporary link is
// made next to the revisions, where Recover finds a leftover: a published tree holds
// only the provider's files.
func (m *Mirror) relinkOne(name string, id manifest.ObjectID, path string) error {
	if err := m.makeReadable(filepath.Dir(path), map[string]bool{}); err != nil {
		return err
	}
	temp := fsops.TempName(filepath.Join("revisions", name, "relink"))
	defer m.root.Discard(temp) // rename(2) leaves both names when they are one file
	if err := m.linkObject(id, temp); err != nil {
		return err
	}
	if err := m.root.Rename(temp, path); err != nil {
		return err
	}
	return m.disk.SyncDir(m.root, filepath.Dir(path))
}

func sortDamage(damage []Damage) {
	slices.SortFunc(damage, func(a, b Damage) int {
		return cmp.Or(cmp.Compare(a.Manifest, b.Manifest), cmp.Compare(a.File.Path, b.File.Path))
	})
}
