package destroy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"syncd/internal/disk/durable"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/verify"
)

// ServedError says that a revision cannot be destroyed, because readers see it.
type ServedError struct {
	Order
	By string // the view that shows it; "" if the manifest does
}

func (e *ServedError) Error() string {
	if e.By != "" {
		return fmt.Sprintf("%s %s is still shown by view %s, which does not follow: `syncd status` says why, and `syncd forget %s` ends it if it left the configuration", e.Manifest, e.ID(), e.By, e.By)
	}
	return fmt.Sprintf("%s %s is served: what is served is never destroyed", e.Manifest, e.ID())
}

// CheckServed returns a *ServedError if the served generation shows a revision.
func CheckServed(served mirror.Generation, o Order) error {
	if o.Revision == "" {
		return nil
	}
	if served.Records[o.Manifest].ID() == o.ID() {
		return &ServedError{Order: o}
	}
	for name, view := range served.Views {
		if view.Revisions[o.Manifest] == o.ID() {
			return &ServedError{Order: o, By: name}
		}
	}
	return nil
}

// Hide takes a revision and the views that show it out of the generations before the current
// one, and removes its record: from then on, pruning keeps nothing of it. The caller
// has the turn, and has removed what is staged of it.
func Hide(m *mirror.Mirror, o Order) error {
	if o.Revision == "" {
		return nil
	}
	generations, err := m.Generations.All()
	if err != nil {
		return err
	}
	for _, g := range generations {
		if g.Number != m.Current().Number {
			err = errors.Join(err, hideFrom(m, g, o))
		}
	}
	gone := m.Root().Remove(filepath.Join("state/records", o.Manifest, o.ID()+".json"))
	if !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// hideFrom takes a revision out of one generation. The time of its directory stays: it says
// when the generation came into service.
func hideFrom(m *mirror.Mirror, g mirror.Generation, o Order) error {
	var names []string
	if g.Records[o.Manifest].ID() == o.ID() {
		names = append(names, o.Manifest)
	}
	for name, view := range g.Views {
		if view.Revisions[o.Manifest] == o.ID() {
			names = append(names, name)
		}
	}
	folder := mirror.GenerationDir(g.Number)
	if len(names) == 0 {
		return nil
	}
	if len(names) == len(g.Records)+len(g.Views) {
		return m.Root().RemoveTree(folder)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, file := range []string{name, mirror.SumsName(name), name + ".json"} {
			if err := m.Root().Remove(filepath.Join(folder, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return m.Root().Chtimes(folder, g.PublishedAt)
}

// Sync makes the removal of a revision durable.
func Sync(m *mirror.Mirror, disk *durable.Disk, n Note) error {
	dirs := []string{".", "generations", "revisions", "objects", "partial", "views", "state/records", mirror.StagedDir,
		filepath.Join("revisions", n.Manifest), filepath.Join("state/records", n.Manifest), filepath.Join(mirror.StagedDir, n.Manifest)}
	for _, in := range []string{"generations", "views"} {
		names, err := m.Root().Names(in)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, name := range names {
			dirs = append(dirs, filepath.Join(in, name))
		}
	}
	for _, c := range n.Contents {
		if c.SHA256 != "" {
			dirs = append(dirs, filepath.Join("objects", c.SHA256[:2]))
		}
	}
	slices.Sort(dirs)
	for _, name := range slices.Compact(dirs) {
		if err := disk.SyncDir(m.Root(), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Share notes with whom each content of a note is shared that is still on disk. kept names
// the contents of everything that stays. It is an error if nothing keeps such a content.
func Share(m *mirror.Mirror, n Note, kept map[string][]manifest.ObjectID) (Note, error) {
	var err error
	n = n.shared(kept)
	for i := range n.Contents {
		c := &n.Contents[i]
		id, parseErr := manifest.ParseObjectID(c.SHA256)
		_, there := m.Objects.Info(id)
		if parseErr != nil || !there {
			c.SharedWith = []string{}
			continue
		}
		if len(c.SharedWith) == 0 {
			c.SharedWith = viewsWith(m.Current(), id)
		}
		if len(c.SharedWith) == 0 {
			err = errors.Join(err, fmt.Errorf("%s is still there, although nothing keeps it", m.Objects.Path(id)))
		}
	}
	return n, err
}

// Predict notes with whom the contents of a note would be shared if only kept stays.
func Predict(n Note, kept map[string][]manifest.ObjectID) Note { return n.shared(kept) }

// shared returns the note with what keeps each of its contents.
func (n Note) shared(kept map[string][]manifest.ObjectID) Note {
	sharers := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		for _, id := range kept[key] {
			if text := id.String(); !slices.Contains(sharers[text], key) {
				sharers[text] = append(sharers[text], key)
			}
		}
	}
	n.Contents = slices.Clone(n.Contents)
	for i := range n.Contents {
		n.Contents[i].SharedWith = append([]string{}, sharers[n.Contents[i].SHA256]...)
	}
	return n
}

// viewsWith are the served views that show a content of a revision that is gone: a view that
// could not follow.
func viewsWith(served mirror.Generation, id manifest.ObjectID) []string {
	names := []string{}
	for name, view := range served.Views {
		if slices.ContainsFunc(view.Files, func(f mirror.ViewFile) bool { return f.Object == id }) {
			names = append(names, "view "+name)
		}
	}
	return names
}

// Kept lists the contents of every revision on disk by its key. staged are the records of
// staged revisions.
func Kept(m *mirror.Mirror, staged []mirror.Record) (map[string][]manifest.ObjectID, error) {
	records, err := m.Records.All()
	kept := map[string][]manifest.ObjectID{}
	for _, r := range append(records, staged...) {
		if _, seen := kept[r.Key()]; seen {
			continue
		}
		ids := make([]manifest.ObjectID, len(r.Files))
		for i, f := range r.Files {
			ids[i] = f.Object
		}
		kept[r.Key()] = ids
	}
	return kept, err
}

// Unrecorded makes the record of a revision whose tree is on disk without one, as a crash or
// a discarded revision leaves it: what pruning has not removed yet. It has no references.
func Unrecorded(m *mirror.Mirror, o Order) (mirror.Record, error) {
	record := mirror.Record{Manifest: o.Manifest, Release: o.Release, Revision: o.Revision}
	objects, err := m.Objects.All()
	if err != nil {
		return record, err
	}
	byInode := map[uint64]manifest.ObjectID{}
	for _, id := range objects {
		if info, there := m.Objects.Info(id); there {
			byInode[info.Inode()] = id
		}
	}
	seen := map[manifest.ObjectID]bool{}
	walkErr := m.Root().Walk(record.Dir(), func(name string, entry fs.DirEntry) {
		info, statErr := m.Root().Info(name)
		if statErr != nil || !info.IsRegular() {
			return
		}
		id, isLink := byInode[info.Inode()]
		if !isLink { // a copy
			read, readErr := verify.HashFile(context.Background(), m.Root(), name, manifest.SHA256)
			if err = errors.Join(err, readErr); readErr != nil {
				return
			}
			id = read.Object().ID
		}
		if !seen[id] {
			seen[id] = true
			record.Files = append(record.Files, mirror.File{Path: entry.Name(), Size: info.Size(), Object: id, Expected: id.Digest()})
		}
	})
	return record, errors.Join(err, walkErr)
}
