package mirror

import (
	"errors"
	"path/filepath"
	"time"

	"syncd/internal/space"
)

// Prune removes generations, revisions, views and objects that nothing keeps, in
// this order, so that a crash leaves no generation without its trees and no tree
// without its objects. Generations that left `current` recently stay for a
// time; next is when the first of them can be pruned, the zero time for none.
func (m *Mirror) Prune(keep Retention, now time.Time) (next time.Time, err error) {
	found, err := m.survey(now)
	if err != nil {
		return now, err
	}
	m.saveTimes(found, now)
	chosen, err := m.choose(found.all, keep, now)
	if err != nil {
		return now, err
	}
	useless := found.useless
	for _, g := range chosen.dropped {
		useless = append(useless, g.Number)
	}
	for _, n := range useless {
		err = errors.Join(err, m.root.RemoveTree(generationDir(n)))
		delete(m.left, n)
	}
	if err != nil { // a generation that could not be removed still needs its revisions
		return now, err
	}
	if !chosen.next.IsZero() { // by the monotonic clock: setting the wall clock back must not delay it
		next = now.Add(chosen.next.Sub(now))
	}
	return next, errors.Join(m.pruneTrees("revisions", chosen.revisions), m.pruneTrees("views", chosen.views), m.pruneRecords(chosen.revisions), m.pruneObjects(chosen))
}

// Freeable returns the space that Prune would free. Generations that left `current`
// recently would stay; last is when the last of them can be pruned, the zero time
// for none. It changes nothing on disk.
func (m *Mirror) Freeable(keep Retention, now time.Time) (freed space.Amount, last time.Time, err error) {
	found, err := m.survey(now)
	if err != nil {
		return space.Amount{}, time.Time{}, err
	}
	chosen, err := m.choose(found.all, keep, now)
	if err != nil {
		return space.Amount{}, time.Time{}, err
	}
	for _, g := range chosen.dropped {
		freed.Inodes += GenerationInodes(len(g.entries()))
	}
	names, err := m.objectNames()
	for _, name := range names {
		if chosen.keeps(name) {
			continue
		}
		if info, err := m.root.Info(name); err == nil {
			freed.Bytes += info.Allocated()
			freed.Inodes++
		}
	}
	return freed, chosen.last, err
}

// pruneTrees removes the revisions or the views whose keys are not in keep.
func (m *Mirror) pruneTrees(dir string, keep map[string]bool) error {
	names, err := m.namesBelow(dir)
	for _, name := range names {
		if key, _ := filepath.Rel(dir, name); !keep[key] {
			err = errors.Join(err, m.root.RemoveTree(name))
			_ = m.root.Remove(filepath.Dir(name)) // fails while other trees are there
		}
	}
	return err
}

func (m *Mirror) pruneObjects(chosen choice) error {
	names, err := m.objectNames()
	for _, name := range names {
		if !chosen.keeps(name) {
			err = errors.Join(err, m.root.Remove(name))
		}
	}
	return err
}

// objectNames lists the files in the object directories, whatever their names.
func (m *Mirror) objectNames() ([]string, error) { return m.namesBelow("objects") }

// namesBelow lists the entries of the directories in dir. It leaves out what cannot be
// read, because it may be no directory.
func (m *Mirror) namesBelow(dir string) (names []string, err error) {
	parents, err := m.root.Names(dir)
	if isGone(err) {
		return nil, nil
	}
	for _, parent := range parents {
		children, _ := m.root.Names(filepath.Join(dir, parent))
		for _, child := range children {
			names = append(names, filepath.Join(dir, parent, child))
		}
	}
	return names, err
}
