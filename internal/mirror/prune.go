package mirror

import (
	"errors"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/fsops"
	"syncd/internal/space"
)

// Prune removes generations, revisions and objects that nothing keeps, in this
// order, so that a crash leaves no generation without its revisions and no
// revision without its objects. Generations that left `current` recently stay for a
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
		err = errors.Join(err, fsops.RemoveTree(m.path("generations", generationName(n))))
		delete(m.left, n)
	}
	if err != nil { // a generation that could not be removed still needs its revisions
		return now, err
	}
	if !chosen.next.IsZero() { // by the monotonic clock: setting the wall clock back must not delay it
		next = now.Add(chosen.next.Sub(now))
	}
	return next, errors.Join(m.pruneRevisions(chosen.revisions), m.pruneRecords(chosen.revisions), m.pruneObjects(chosen))
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
		freed.Inodes += GenerationInodes(len(g.Records))
	}
	paths, err := m.objectPaths()
	for _, path := range paths {
		var st unix.Stat_t
		if !chosen.keeps(path) && unix.Lstat(path, &st) == nil {
			freed.Bytes += st.Blocks * 512 // st_blocks counts 512-byte units on every file system
			freed.Inodes++
		}
	}
	return freed, chosen.last, err
}

func (m *Mirror) pruneRevisions(keep map[string]bool) error {
	dirs, err := filepath.Glob(filepath.Join(globEscape(m.path("revisions")), "*", "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		name, relErr := filepath.Rel(m.path("revisions"), dir)
		if relErr == nil && !keep[name] {
			err = errors.Join(err, fsops.RemoveTree(dir))
			_ = fsops.Remove(filepath.Dir(dir)) // fails while other revisions of the manifest are there
		}
	}
	return err
}

func (m *Mirror) pruneObjects(chosen choice) error {
	paths, err := m.objectPaths()
	for _, path := range paths {
		if !chosen.keeps(path) {
			err = errors.Join(err, fsops.Remove(path))
		}
	}
	return err
}

// objectPaths lists the files in the object directories, whatever their names.
func (m *Mirror) objectPaths() ([]string, error) {
	return filepath.Glob(filepath.Join(globEscape(m.path("objects")), "*", "*"))
}
