package mirror

import (
	"errors"
	"time"

	"syncd/internal/disk/space"
)

// Prune removes generations, revisions, views and objects that nothing keeps, in
// this order, so that a crash leaves no generation without its trees and no tree
// without its objects. Generations that left `current` recently stay for a
// time; next is when the first of them can be pruned, the zero time for none.
func (m *Mirror) Prune(keep Retention, now time.Time) (next time.Time, err error) {
	found, err := m.Generations.survey(now)
	if err != nil {
		return now, err
	}
	m.Generations.saveTimes(found, now)
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
		delete(m.Generations.left, n)
	}
	if err != nil { // a generation that could not be removed still needs its revisions
		return now, err
	}
	if !chosen.next.IsZero() { // by the monotonic clock: setting the wall clock back must not delay it
		next = now.Add(chosen.next.Sub(now))
	}
	return next, errors.Join(m.Trees.prune("revisions", chosen.revisions), m.Trees.prune("views", chosen.views), m.Records.prune(chosen.revisions), m.Objects.prune(chosen))
}

// Freed is what Prune would free. Generations that left `current` recently would stay; Last
// is when the last of them can be pruned, the zero time for none.
type Freed struct {
	space.Amount
	Last  time.Time
	Stays map[string]bool // keys of the revisions that stay
}

// Freeable returns what Prune would free. It changes nothing on disk.
func (m *Mirror) Freeable(keep Retention, now time.Time) (freed Freed, err error) {
	found, err := m.Generations.survey(now)
	if err != nil {
		return freed, err
	}
	chosen, err := m.choose(found.all, keep, now)
	if err != nil {
		return freed, err
	}
	freed.Last, freed.Stays = chosen.last, chosen.revisions
	for _, g := range chosen.dropped {
		freed.Inodes += GenerationInodes(len(g.entries()))
	}
	err = m.Objects.each(func(name string) {
		if chosen.keeps(name) {
			return
		}
		if info, err := m.root.Info(name); err == nil {
			freed.Bytes += info.Allocated()
			freed.Inodes++
		}
	})
	return freed, err
}
