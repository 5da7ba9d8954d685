package mirror

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"syncd/internal/disk/space"
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
	if keep.Retire != nil && !keep.Retire(func(key string) bool { return chosen.revisions[key] }) {
		return now, nil
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

// survey is what pruning finds on disk.
type survey struct {
	all     []Generation // the current generation and those before it, the newest first
	useless []int        // numbers of unfinished and of damaged generations
	future  []int        // indexes in all of generations with a time in the future
}

// survey reads the generations. If one cannot be read it returns an error, so that
// nothing is pruned: that generation may be whole. It changes nothing on disk.
func (m *Mirror) survey(now time.Time) (found survey, err error) {
	current := m.Current().Number
	numbers, err := m.numbers()
	if err != nil {
		return found, err
	}
	for _, n := range slices.Backward(numbers) {
		g, err := m.readGeneration(n)
		switch {
		case n > current || n < current && errors.Is(err, errDamaged):
			found.useless = append(found.useless, n)
		case err != nil:
			return found, fmt.Errorf("generation %d cannot be read, so nothing is pruned: %w", n, err)
		default:
			found.all = append(found.all, g)
		}
	}
	if current > 0 && (len(found.all) == 0 || found.all[0].Number != current) {
		return found, fmt.Errorf("generation %d, the current one, is missing, so nothing is pruned", current)
	}
	found.mendTimes(now)
	return found, nil
}

// clockSlack is the greatest distance of a time in the future that is no sign of a
// wrong clock: file systems and NTP are off by less.
const clockSlack = time.Minute

// mendTimes replaces times in the future by the present: the clock was ahead and has
// been corrected. Otherwise pruning would wait until the clock reaches those times.
func (s *survey) mendTimes(now time.Time) {
	for i, g := range s.all {
		if g.PublishedAt.After(now.Add(clockSlack)) {
			s.all[i].PublishedAt = now
			s.future = append(s.future, i)
		}
	}
}

// saveTimes writes mended times to disk, so that the next process counts on from
// them.
func (m *Mirror) saveTimes(found survey, now time.Time) {
	for _, i := range found.future {
		m.saveTime(found.all[i].Number, now)
		if i+1 < len(found.all) {
			m.noteLeft(found.all[i+1].Number, now)
		}
	}
}

// saveTime writes to disk when a generation came into service, for later processes.
// When that fails, its directory keeps the time at which it was built.
func (m *Mirror) saveTime(number int, at time.Time) {
	_ = m.root.Chtimes(generationDir(number), at)
}

// noteLeft notes when a generation left `current`, unless that is known.
func (m *Mirror) noteLeft(number int, at time.Time) {
	if _, known := m.left[number]; !known {
		m.left[number] = at
	}
}

// leftAt is when all[i], the newest first, left `current`. A time that this process
// has noted is right even if the clock was set later.
func (m *Mirror) leftAt(all []Generation, i int) time.Time {
	if at, known := m.left[all[i].Number]; known {
		return at
	}
	return all[i-1].PublishedAt
}
