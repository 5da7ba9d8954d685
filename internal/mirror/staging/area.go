package staging

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"syncd/internal/disk/fsops"
	"syncd/internal/mirror"
)

// revisionFile is the file of an entry. The records beside it end in .json.
const revisionFile = "entry"

// Area is the staging area of a data directory: its entries, at most one for each manifest.
// Safe for concurrent use.
type Area struct {
	mirror *mirror.Mirror

	// Changed is called after each change, by the goroutine that made it. It is set before
	// the first one; nil means not at all.
	Changed func()

	writing sync.Mutex // held while files change; a change is on disk before it is in entries

	mu      sync.Mutex // guards entries; never held across the disk
	entries map[string]Revision
}

// Open reads the entries of a mirror that was recovered. It drops those that are not
// whole: the next sync stages them again.
func Open(m *mirror.Mirror, warn func(string)) (*Area, error) {
	a := &Area{mirror: m, entries: map[string]Revision{}}
	if err := m.Root().SweepTemps(mirror.StagedDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found, err := Read(m.Root())
	if err != nil {
		return nil, err
	}
	names, err := m.Root().Names(mirror.StagedDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range names {
		e, isEntry := found[name]
		keep := ""
		switch {
		case !isEntry || m.Current().Records[name].ID() == e.ID(): // a crash came before it was staged, or right after it went live
		case e.Dropped:
			keep, a.entries[name] = e.ID(), e
		default:
			if _, err := m.Records.Staged(name, e.ID()); err != nil {
				warn(fmt.Sprintf("the staged revision %s of %s is not whole, the next sync stages it again: %v", e.ID(), name, err))
				break
			}
			keep, a.entries[name] = e.ID(), e
		}
		if err := m.Records.DropStaged(name, keep); err != nil {
			warn(fmt.Sprintf("removing what is left of a staged revision of %s failed: %v", name, err))
		}
	}
	return a, nil
}

// Read returns the entries on disk, by manifest. It leaves out those that it cannot read.
func Read(root *fsops.Dir) (map[string]Revision, error) {
	names, err := root.Names(mirror.StagedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	entries := map[string]Revision{}
	for _, name := range names {
		f, err := root.OpenRegular(filepath.Join(mirror.StagedDir, name, revisionFile))
		if err != nil {
			continue
		}
		var e Revision
		if json.NewDecoder(f).Decode(&e) == nil && e.Manifest == name && e.Revision != "" {
			entries[name] = e
		}
		f.Close()
	}
	return entries, err
}

// All returns the entries by manifest.
func (a *Area) All() map[string]Revision {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.entries)
}

// Get returns the entry of a manifest, the zero value for none.
func (a *Area) Get(name string) Revision {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entries[name]
}

// Record reads the record of an entry. An entry whose revision is lost is forgotten, so
// that the next sync stages it again.
func (a *Area) Record(e Revision) (mirror.Record, error) {
	record, err := a.mirror.Records.Staged(e.Manifest, e.ID())
	if mirror.IsLost(err) && a.Get(e.Manifest).ID() == e.ID() {
		err = errors.Join(err, a.Remove(e.Manifest))
	}
	return record, err
}

// Put makes an entry durable that replaces the one of its manifest. Mirror.Stage has made
// its revision durable before. An entry for the same revision keeps its time and its verdict:
// a gate may have ended just now.
func (a *Area) Put(e Revision) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if before := a.Get(e.Manifest); before.ID() == e.ID() && !before.Dropped {
		e.Since, e.Verdict = before.Since, before.Verdict
	}
	if err := a.write(e); err != nil {
		return err
	}
	return a.mirror.Records.DropStaged(e.Manifest, e.ID())
}

// Judge makes a verdict durable, unless the entry is of another revision by now. It
// returns the entry of the manifest.
func (a *Area) Judge(e Revision, verdict Verdict) (Revision, error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	now := a.Get(e.Manifest)
	if now.ID() != e.ID() || now.Dropped {
		return now, nil
	}
	now.Verdict = &verdict
	return now, a.write(now)
}

// Discard drops the revision of an entry. The entry stays, so that a scheduled sync does
// not stage the revision again while the terms are the same.
func (a *Area) Discard(name, terms string) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	e := a.Get(name)
	if e.Manifest == "" {
		return nil
	}
	e.Dropped, e.Terms, e.Forced, e.Again, e.Views = true, terms, "", "", nil
	if err := a.write(e); err != nil {
		return err
	}
	return a.mirror.Records.DropStaged(name, "-") // no ID: all records go, and the entry stays
}

// Remove forgets the entry of a manifest: its revision is served, or not wanted any more.
func (a *Area) Remove(name string) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.Get(name).Manifest == "" {
		return nil
	}
	if err := a.mirror.Records.DropStaged(name, ""); err != nil {
		return err
	}
	a.mu.Lock()
	delete(a.entries, name)
	a.mu.Unlock()
	a.notify()
	return nil
}

func (a *Area) notify() {
	if a.Changed != nil {
		a.Changed()
	}
}

func (a *Area) write(e Revision) error {
	err := a.mirror.Records.WriteStaged(e.Manifest, revisionFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(e) })
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.entries[e.Manifest] = e
	a.mu.Unlock()
	a.notify()
	return nil
}

// Retain adds everything that is staged to what pruning keeps. A record that cannot be
// read now is an error, because pruning would remove its objects.
func (a *Area) Retain(keep *mirror.Retention) error {
	entries := a.All()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		if e.Dropped {
			continue
		}
		record, err := a.Record(e)
		if mirror.IsLost(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("the staged revision of %s cannot be read, so nothing is pruned: %w", name, err)
		}
		keep.Staged, keep.Views = append(keep.Staged, record), append(keep.Views, e.Views...)
	}
	return nil
}
