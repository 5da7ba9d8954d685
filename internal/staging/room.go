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

	"syncd/internal/fsops"
	"syncd/internal/mirror"
)

// entryFile is the file of an entry. The records beside it end in .json.
const entryFile = "entry"

// Room holds the entries of a data directory, at most one for each manifest. Safe for
// concurrent use.
type Room struct {
	mirror *mirror.Mirror

	// Changed is called after each change, by the goroutine that made it. It is set before
	// the first one; nil means not at all.
	Changed func()

	writing sync.Mutex // held while files change; a change is on disk before it is in entries

	mu      sync.Mutex // guards entries; never held across the disk
	entries map[string]Entry
}

// Open reads the entries of a mirror that was recovered. It drops those that are not
// whole: the next sync stages them again.
func Open(m *mirror.Mirror, warn func(string)) (*Room, error) {
	r := &Room{mirror: m, entries: map[string]Entry{}}
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
			keep, r.entries[name] = e.ID(), e
		default:
			if _, err := m.Staged(name, e.ID()); err != nil {
				warn(fmt.Sprintf("the staged revision %s of %s is not whole, the next sync stages it again: %v", e.ID(), name, err))
				break
			}
			keep, r.entries[name] = e.ID(), e
		}
		if err := m.DropStaged(name, keep); err != nil {
			warn(fmt.Sprintf("removing what is left of a staged revision of %s failed: %v", name, err))
		}
	}
	return r, nil
}

// Read returns the entries on disk, by manifest. It leaves out those that it cannot read.
func Read(root *fsops.Dir) (map[string]Entry, error) {
	names, err := root.Names(mirror.StagedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	entries := map[string]Entry{}
	for _, name := range names {
		f, err := root.OpenRegular(filepath.Join(mirror.StagedDir, name, entryFile))
		if err != nil {
			continue
		}
		var e Entry
		if json.NewDecoder(f).Decode(&e) == nil && e.Manifest == name && e.Revision != "" {
			entries[name] = e
		}
		f.Close()
	}
	return entries, err
}

// All returns the entries by manifest.
func (r *Room) All() map[string]Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.entries)
}

// Get returns the entry of a manifest, the zero value for none.
func (r *Room) Get(name string) Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries[name]
}

// Record reads the record of an entry. An entry whose revision is lost is forgotten, so
// that the next sync stages it again.
func (r *Room) Record(e Entry) (mirror.Record, error) {
	record, err := r.mirror.Staged(e.Manifest, e.ID())
	if mirror.IsLost(err) && r.Get(e.Manifest).ID() == e.ID() {
		err = errors.Join(err, r.Remove(e.Manifest))
	}
	return record, err
}

// Put makes an entry durable that replaces the one of its manifest. Mirror.Stage has made
// its revision durable before. An entry for the same revision keeps its time and its verdict:
// a gate may have ended just now.
func (r *Room) Put(e Entry) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if before := r.Get(e.Manifest); before.ID() == e.ID() && !before.Dropped {
		e.Since, e.Verdict = before.Since, before.Verdict
	}
	if err := r.write(e); err != nil {
		return err
	}
	return r.mirror.DropStaged(e.Manifest, e.ID())
}

// Judge makes a verdict durable, unless the entry is of another revision by now. It
// returns the entry of the manifest.
func (r *Room) Judge(e Entry, verdict Verdict) (Entry, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	now := r.Get(e.Manifest)
	if now.ID() != e.ID() || now.Dropped {
		return now, nil
	}
	now.Verdict = &verdict
	return now, r.write(now)
}

// Discard drops the revision of an entry. The entry stays, so that a scheduled sync does
// not stage the revision again.
func (r *Room) Discard(name string) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	e := r.Get(name)
	if e.Manifest == "" {
		return nil
	}
	e.Dropped, e.Views = true, nil
	if err := r.write(e); err != nil {
		return err
	}
	return r.mirror.DropStaged(name, "-") // no ID: all records go, and the entry stays
}

// Remove forgets the entry of a manifest: its revision is served, or not wanted any more.
func (r *Room) Remove(name string) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.Get(name).Manifest == "" {
		return nil
	}
	if err := r.mirror.DropStaged(name, ""); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.entries, name)
	r.mu.Unlock()
	r.tell()
	return nil
}

func (r *Room) tell() {
	if r.Changed != nil {
		r.Changed()
	}
}

func (r *Room) write(e Entry) error {
	err := r.mirror.WriteStaged(e.Manifest, entryFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(e) })
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.entries[e.Manifest] = e
	r.mu.Unlock()
	r.tell()
	return nil
}

// Retain adds everything that is staged to what pruning keeps. A record that cannot be
// read now is an error, because pruning would remove its objects.
func (r *Room) Retain(keep *mirror.Retention) error {
	entries := r.All()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		if e.Dropped {
			continue
		}
		record, err := r.Record(e)
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
