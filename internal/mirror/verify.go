package mirror

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/verify"
)

// Damage is a published file whose content is not the recorded one.
type Damage struct {
	Manifest string
	View     string // "" for a file of the manifest itself
	File     File   // with its path in the view, if it is one of a view
	HashFile bool   // the file beside it with its digest is damaged
	Err      error
}

// Checked is the result of Verify.
type Checked struct {
	Files  int
	Bytes  int64
	Damage []Damage

	generation Generation
	damaged    map[string]error // by path within the generation
}

// Verify re-reads the published files of the given manifests with all cores, the
// largest first so that none trails, and compares each with its digest. A file whose object
// is missing is damaged, too: no view, follower or bucket can get it. Verify reads
// through the generation that is current when it starts, as readers do, at most rate
// bytes per second (0 for no limit). Safe for concurrent use.
func (m *Mirror) Verify(ctx context.Context, names []string, rate int64) (Checked, error) {
	generation := m.Generations.Current()
	dir := generationDir(generation.Number)
	return m.rereadAll(ctx, generation, m.published(generation, names), rate, func(p Damage) string { return filepath.Join(dir, p.path()) })
}

// Unread are files of revisions that nobody may have read since they were served.
type Unread struct {
	Files   []Damage // the largest first, without an error
	Bytes   int64
	records map[string]Record
}

// Unread lists the files of revisions, one of each manifest, that are no link to an object
// of which isKnown is true.
func (m *Mirror) Unread(records []Record, isKnown func(Record, manifest.ObjectID) bool) Unread {
	u := Unread{records: map[string]Record{}}
	for _, r := range records {
		u.records[r.Manifest] = r
		for _, f := range r.Files {
			if !isKnown(r, f.Object) || !m.areOneFile(filepath.Join(r.Dir(), f.Path), objectName(f.Object)) {
				u.Files, u.Bytes = append(u.Files, Damage{Manifest: r.Manifest, File: f}), u.Bytes+f.Size
			}
		}
	}
	slices.SortStableFunc(u.Files, func(a, b Damage) int { return cmp.Compare(b.File.Size, a.File.Size) })
	return u
}

// Read re-reads files that Unread has listed, as Verify does.
func (m *Mirror) Read(ctx context.Context, u Unread) (Checked, error) {
	return m.rereadAll(ctx, Generation{Records: u.records}, u.Files, 0, func(p Damage) string { return filepath.Join(u.records[p.Manifest].Dir(), p.File.Path) })
}

func (m *Mirror) rereadAll(ctx context.Context, of Generation, all []Damage, rate int64, path func(Damage) string) (Checked, error) {
	files := verify.NewFiles(rate)
	var mu sync.Mutex
	checked := Checked{generation: of, damaged: map[string]error{}}
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range all {
		group.Go(func() error {
			size, err := m.reread(reading, files, path(p), p)
			if reading.Err() != nil {
				return context.Cause(reading)
			}
			mu.Lock()
			defer mu.Unlock()
			checked.Files++
			checked.Bytes += size
			if err != nil {
				p.Err = err
				checked.Damage = append(checked.Damage, p)
				checked.damaged[p.path()] = err
			}
			return nil
		})
	}
	err := group.Wait()
	sortDamage(checked.Damage)
	return checked, err
}

// Known is true for a file elsewhere that Verify has read under another name: it is a hard
// link of what the view shows at a path. damage is what Verify found in it.
func (m *Mirror) Known(checked Checked, view, path string, file fsops.Info) (known bool, damage error) {
	names := []string{filepath.Join(view, path)}
	if shown, found := checked.generation.Views[view].File(path); found {
		names = append(names, filepath.Join(shown.Manifest, shown.From))
	}
	for _, name := range slices.Backward(names) { // most views share the files of their manifests
		info, err := m.root.Info(filepath.Join(generationDir(checked.generation.Number), name))
		if err == nil && info.Same(file) {
			return true, checked.damaged[name]
		}
	}
	return false, nil
}

// reread compares a published file with its digest.
func (m *Mirror) reread(ctx context.Context, files *verify.Files, path string, p Damage) (int64, error) {
	if p.HashFile {
		return int64(len(layout.HashText(p.File.Object))), m.Trees.checkHashFile(path, p.File)
	}
	object, err := files.Check(ctx, m.root, path, p.File.Object.Digest())
	if err == nil && m.Objects.isMissing(p.File.Object) {
		err = m.Objects.missingError(p.File.Object)
	}
	return object.Size, err
}

// Path is the path of a file within its view, or its manifest.
func (d Damage) Path() string {
	if d.HashFile {
		return layout.HashName(d.File.Path)
	}
	return d.File.Path
}

// path is the path of a file within its generation.
func (d Damage) path() string { return filepath.Join(cmp.Or(d.View, d.Manifest), d.Path()) }

// published lists the files of some manifests, the largest first, without an error. Of
// views, it lists what is no link to one of the others.
func (m *Mirror) published(g Generation, names []string) []Damage {
	var all []Damage
	for _, name := range names {
		for _, f := range g.Records[name].Files {
			all = append(all, Damage{Manifest: name, File: f})
		}
	}
	for _, v := range g.Views {
		all = append(all, m.publishedIn(v, g, names)...)
	}
	slices.SortStableFunc(all, func(a, b Damage) int { return cmp.Compare(b.File.Size, a.File.Size) })
	return all
}

func (m *Mirror) publishedIn(v View, g Generation, names []string) (all []Damage) {
	for _, f := range v.Files {
		if !slices.Contains(names, f.Manifest) {
			continue
		}
		served, found := g.Records[f.Manifest].File(f.From)
		file := File{Path: f.Path, Reference: served.Reference, Size: f.Size, Object: f.Object, Expected: f.Object.Digest()}
		isLink := found && m.areOneFile(filepath.Join(v.Dir(), f.Path), filepath.Join(g.Records[f.Manifest].Dir(), f.From))
		if !isLink || served.Object != f.Object {
			all = append(all, Damage{Manifest: f.Manifest, View: v.Name, File: file})
		}
		if v.HashFiles {
			all = append(all, Damage{Manifest: f.Manifest, View: v.Name, File: file, HashFile: true})
		}
	}
	return all
}

// Reread is nil when a file that was damaged has the recorded content now. It is nil, too,
// when another file is served by now.
func (m *Mirror) Reread(ctx context.Context, d Damage) error {
	for {
		current := m.Generations.Current()
		err := m.rereadIn(ctx, current, d)
		if !isGone(err) || m.Generations.Current().Number == current.Number {
			return err
		}
	}
}

func (m *Mirror) rereadIn(ctx context.Context, current Generation, d Damage) error {
	name := filepath.Join(generationDir(current.Number), d.path())
	served, found := current.Records[d.Manifest].File(d.File.Path)
	if d.View != "" {
		var file ViewFile
		file, found = current.Views[d.View].File(d.File.Path)
		served.Object = file.Object
	}
	if !found || served.Object != d.File.Object {
		return nil
	}
	if d.HashFile {
		return m.Trees.checkHashFile(name, d.File)
	}
	_, err := verify.File(ctx, m.root, name, d.File.Object.Digest())
	return err
}

// Relink renames a link to a repaired object over every file that should hold it, in
// every revision on disk and every view that a generation shows.
func (m *Mirror) Relink(id manifest.ObjectID) error {
	if err := m.Objects.Sync(); err != nil {
		return err
	}
	return m.eachTree(func(t tree) error {
		for _, f := range t.files {
			if f.Object != id {
				continue
			}
			link := func(temp string) error { return m.Objects.link(id, temp) }
			if err := m.Trees.replace(t, f.Path, link); err != nil {
				return err
			}
		}
		return nil
	})
}

// RewriteHashFile writes a hash file anew, in every tree that has it.
func (m *Mirror) RewriteHashFile(d Damage) error {
	return m.eachTree(func(t tree) error {
		for _, f := range t.files {
			if !t.hashFiles || f.Object != d.File.Object || f.Path != d.File.Path {
				continue
			}
			write := func(temp string) error {
				if err := m.grants.Create(m.root, temp, hashOf(f)); err != nil {
					return err
				}
				return m.disk.SyncFiles(m.root, []string{temp})
			}
			if err := m.Trees.replace(t, layout.HashName(f.Path), write); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachTree calls do once for each revision on disk and each view that a generation shows.
func (m *Mirror) eachTree(do func(tree) error) error {
	generations, err := m.Generations.All()
	if err != nil {
		return err
	}
	records, err := m.Records.withStaged()
	if err != nil {
		return err
	}
	var all []tree
	for _, r := range records {
		all = append(all, treeOfRevision(r))
	}
	for _, g := range generations {
		for _, v := range g.Views {
			all = append(all, treeOfView(v))
		}
	}
	done := map[string]bool{}
	for _, t := range all {
		if done[t.name] {
			continue
		}
		done[t.name] = true
		if err := do(t); err != nil {
			return err
		}
	}
	return nil
}

func sortDamage(damage []Damage) {
	slices.SortFunc(damage, func(a, b Damage) int {
		return cmp.Or(cmp.Compare(a.Manifest, b.Manifest), cmp.Compare(a.path(), b.path()))
	})
}
