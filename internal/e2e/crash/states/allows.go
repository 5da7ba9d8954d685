package states

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"
)

// At returns the first and the last point at which the process can have been at a moment, and
// whether it had certainly printed its outcome.
func (t *Trace) At(moment time.Time) (first, last int, isReported bool) {
	for first < len(t.events) && !t.events[first].until.IsZero() && t.events[first].until.Before(moment) {
		first++
	}
	for i, e := range t.events {
		if !e.from.After(moment) {
			last = i + 1
		}
	}
	return first, max(first, last), !t.reportedAt.IsZero() && t.reportedAt.Before(moment)
}

// When says when the last event before a point began, and when it had certainly ended.
func (t *Trace) When(point int) (from, until time.Time) {
	if point == 0 {
		return from, until
	}
	return t.events[point-1].from, t.events[point-1].until
}

// Seen is what a folder has.
type Seen struct {
	*Trace
	first map[slot]int64
}

// See reads a folder, to compare it with what the trace allows.
func (t *Trace) See(folder string) (*Seen, error) {
	r := &recorder{Trace: &Trace{inodes: make([]inode, 1), first: map[slot]int64{}, blobs: t.blobs, blobOf: maps.Clone(t.blobOf)}, folder: folder}
	_, err := r.snapshot(".", map[uint64]int{})
	r.index()
	return &Seen{r.Trace, r.Trace.first}, err
}

// Allows returns an error if no crash between two points leaves what was seen. The error is
// from the attempt that got the furthest.
func (t *Trace) Allows(system System, first, last int, seen *Seen) (err error) {
	furthest := 0
	for point := first; point <= last; point++ {
		c := t.crashAt(system, point)
		ends := c.journal
		if system != Journal {
			ends = []int{point}
		}
		for _, end := range slices.Backward(ends) {
			m := &matcher{crash: c, seen: seen, end: end, other: map[int]int{}, mine: map[int]int{}}
			found := m.match(".", 1, 1)
			if found == nil {
				return nil
			}
			if len(m.other) > furthest {
				furthest = len(m.other)
				err = fmt.Errorf("%s at the points %d to %d does not allow it; with the names of %d at %d, after %s: %w", system, first, last, end, point, t.What(point), found)
			}
		}
	}
	return err
}

// matcher compares a crash with what was seen.
type matcher struct {
	*crash
	seen  *Seen
	end   int         // of Journal: how far the metadata came
	other map[int]int // the inode that was seen, by that of the trace
	mine  map[int]int // and the other way round
}

// allowed are the values that a slot may have.
func (m *matcher) allowed(s slot) []int64 {
	if m.system == Journal && (s.kind == nameSlot || s.kind == modeSlot) {
		return []int64{m.at(s, m.end)}
	}
	return m.values(s, m.settled(s), m.point)
}

// match is nil if the inode of the trace can be the one that was seen, with all below it.
func (m *matcher) match(name string, mine, other int) error {
	if m.other[mine] == other && m.mine[other] == mine {
		return nil
	}
	is, want := m.seen.inodes[other], m.inodes[mine]
	if m.other[mine] != 0 || m.mine[other] != 0 || is.kind != want.kind || is.target != want.target {
		return fmt.Errorf("%s is another inode: %v %q, want %v %q", name, is.kind, is.target, want.kind, want.target)
	}
	m.other[mine], m.mine[other] = other, mine
	if is.kind == fs.ModeSymlink {
		return nil
	}
	if err := m.has(name, slot{kind: modeSlot, inode: mine}, other); err != nil {
		return err
	}
	switch is.kind {
	case fs.ModeDir:
		return m.matchNames(name, mine, other)
	case fs.ModeSocket:
		return nil
	}
	size := slot{kind: sizeSlot, inode: other}
	if err := m.has(name, slot{kind: sizeSlot, inode: mine}, other); err != nil {
		return err
	}
	for at := range (m.seen.first[size] + blockSize - 1) / blockSize {
		if err := m.hasBlock(name, slot{kind: blockSlot, inode: mine, block: at}, other, m.seen.first[size]); err != nil {
			return err
		}
	}
	return nil
}

func (m *matcher) has(name string, s slot, other int) error {
	is := s
	is.inode = other
	if got, all := m.seen.first[is], m.allowed(s); !slices.Contains(all, got) {
		return fmt.Errorf("%s has the %s %d, want one of %v", name, [...]string{"name", "mode", "size", "block"}[s.kind], got, all)
	}
	return nil
}

// hasBlock compares a block up to the end of the file.
func (m *matcher) hasBlock(name string, s slot, other int, size int64) error {
	is := s
	is.inode = other
	got := m.seen.blobs[m.seen.first[is]]
	for _, blob := range m.allowed(s) {
		want := m.blobs[blob]
		want = want[:min(int64(len(want)), size-s.block*blockSize)]
		if string(trimmed(want)) == string(got) {
			return nil
		}
	}
	return fmt.Errorf("%s has none of the allowed bytes in block %d", name, s.block)
}

// matchNames compares the names of a folder.
func (m *matcher) matchNames(name string, mine, other int) (err error) {
	if m.system != PerFolder {
		return m.matchNamesBy(name, mine, other, m.allowed)
	}
	ends := m.prefixes(m.settled(slot{inode: mine}), func(c change) bool { return c.slot.kind == nameSlot && c.slot.inode == mine })
	for _, end := range slices.Backward(ends) {
		o, i := maps.Clone(m.other), maps.Clone(m.mine)
		found := m.matchNamesBy(name, mine, other, func(s slot) []int64 { return []int64{m.at(s, end)} })
		if found == nil {
			return nil
		}
		m.other, m.mine = o, i
		err = errors.Join(err, found)
	}
	return err
}

func (m *matcher) matchNamesBy(name string, mine, other int, allowed func(slot) []int64) error {
	names := map[string]bool{}
	for _, child := range append(m.names[mine], m.seen.names[other]...) {
		names[child] = true
	}
	for _, child := range slices.Sorted(maps.Keys(names)) {
		got := int(m.seen.first[slot{kind: nameSlot, inode: other, name: child}])
		if err := m.matchName(path.Join(name, child), got, allowed(slot{kind: nameSlot, inode: mine, name: child})); err != nil {
			return err
		}
	}
	return nil
}

// matchName tries the inodes that a name may have.
func (m *matcher) matchName(name string, got int, allowed []int64) (err error) {
	if got == 0 {
		if slices.Contains(allowed, 0) {
			return nil
		}
		return fmt.Errorf("%s is missing", name)
	}
	for _, want := range slices.Backward(allowed) {
		if want == 0 {
			continue
		}
		o, i := maps.Clone(m.other), maps.Clone(m.mine)
		found := m.match(name, int(want), got)
		if found == nil {
			return nil
		}
		m.other, m.mine = o, i
		err = errors.Join(err, found)
	}
	if err == nil {
		return fmt.Errorf("%s must not be there", name)
	}
	return err
}
