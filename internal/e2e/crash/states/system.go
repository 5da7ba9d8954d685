package states

import "slices"

// System is a kind of file system: what it may keep of pending changes.
type System int

const (
	// Journal keeps changes of names and permissions in their order, as ext4 and xfs do. A
	// sync of a file or folder keeps them up to the last one of its own. Bytes have no order.
	Journal System = iota
	// PerFolder keeps the changes of the names of one folder in their order. Folders,
	// permissions and bytes are independent.
	PerFolder
	// Posix keeps any of the changes: a rename is a name that comes and one that goes.
	Posix
)

// Systems are all kinds.
var Systems = []System{Journal, PerFolder, Posix}

func (k System) String() string { return [...]string{"journal", "folder", "posix"}[k] }

// crash is the disk of one kind of file system after a crash at one point.
type crash struct {
	*Trace
	system  System
	point   int         // the number of events that have ended
	durable map[int]int // the event before which an inode's changes are durable
	all     int         // the same for everything
	journal []int       // of Journal: how far the metadata may have come, by events
	folders map[int][]int
}

func (t *Trace) crashAt(system System, point int) *crash {
	c := &crash{Trace: t, system: system, point: point, durable: map[int]int{}, folders: map[int][]int{}}
	for _, e := range t.events[:point] {
		switch {
		case e.sync == nil:
		case e.sync.inode == 0:
			c.all = max(c.all, e.sync.began)
		default:
			c.durable[e.sync.inode] = max(c.durable[e.sync.inode], e.sync.began)
		}
	}
	if system == Journal {
		c.journal = c.prefixes(c.journaled(), func(change change) bool { return change.isMetadata() })
	}
	return c
}

// journaled is the event before which a journal is durable.
func (c *crash) journaled() int {
	from := c.all
	for inode, began := range c.durable {
		for i := began - 1; i >= from; i-- {
			if slices.ContainsFunc(c.events[i].changes, func(change change) bool { return change.touches(inode) }) {
				from = i + 1
				break
			}
		}
	}
	return from
}

// prefixes are the events before which a sequence of changes may have ended.
func (c *crash) prefixes(from int, in func(change) bool) []int {
	ends := []int{from}
	for i := from; i < c.point; i++ {
		if slices.ContainsFunc(c.events[i].changes, in) {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// settled is the event before which the changes of a slot are durable.
func (c *crash) settled(s slot) int { return max(c.all, c.durable[s.inode]) }

// read asks for the value of a slot.
func (c *crash) read(s slot, ask func(question slot, answers int) int) int64 {
	switch {
	case c.system == Journal && (s.kind == nameSlot || s.kind == modeSlot):
		return c.at(s, c.journal[ask(slot{kind: nameSlot}, len(c.journal))])
	case c.system == PerFolder && s.kind == nameSlot:
		ends, found := c.folders[s.inode]
		if !found {
			ends = c.prefixes(c.settled(s), func(change change) bool {
				return change.slot.kind == nameSlot && change.slot.inode == s.inode
			})
			c.folders[s.inode] = ends
		}
		return c.at(s, ends[ask(slot{kind: nameSlot, inode: s.inode}, len(ends))])
	}
	values := c.values(s, c.settled(s), c.point)
	slices.Sort(values)
	values = slices.Compact(values)
	return values[ask(s, len(values))]
}
