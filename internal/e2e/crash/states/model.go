package states

import (
	"io/fs"
	"slices"
	"time"
)

// blockSize is the unit in which bytes are kept or lost.
const blockSize = 4096

// Trace is what a process did to a folder.
type Trace struct {
	inodes []inode          // by their number in this trace; 0 is none, 1 is the folder
	first  map[slot]int64   // what the disk had before
	events []event          // in the order in which they ended
	past   map[slot][]value // the changes of each slot, in order
	names  map[int][]string // every name that a folder ever had
	blobs  [][]byte         // contents of blocks without zeros at the end; 0 is empty
	blobOf map[string]int64 // their numbers

	reported   int       // the number of events before the process printed its outcome
	reportedAt time.Time // when it had certainly printed it; zero if that is not known
}

// inode is a file, a folder, a symlink or a socket.
type inode struct {
	kind    fs.FileMode // its type
	target  string      // of a symlink
	number  uint64      // in the traced file system, 0 if it is not known
	modTime time.Time
}

type slotKind int

const (
	nameSlot  slotKind = iota // a folder's name: the inode that it has, or none
	modeSlot                  // permissions
	sizeSlot                  // of a file
	blockSlot                 // a blob
)

// slot is a place on disk that a crash leaves with one of its values.
type slot struct {
	kind  slotKind
	inode int
	name  string // of nameSlot
	block int64  // of blockSlot
}

// value is what a slot has from an event on.
type value struct {
	event int // -1: from the start
	is    int64
}

// event is a change, or a sync.
type event struct {
	What    string // for messages
	changes []change
	sync    *syncEvent
	from    time.Time // when the call began
	until   time.Time // when it had certainly ended; zero if that is not known
}

type change struct {
	slot slot
	is   int64
}

// syncEvent makes durable what was done to an inode, or to everything, before the sync began.
type syncEvent struct {
	inode int // 0: everything
	began int // the number of events that had ended by then
}

// isMetadata is true for a change of names or permissions.
func (c change) isMetadata() bool { return c.slot.kind == nameSlot || c.slot.kind == modeSlot }

// touches is true if the change is one of the inode's own metadata: of its names as a folder,
// of a name that it gets, or of its permissions.
func (c change) touches(inode int) bool {
	return c.isMetadata() && (c.slot.inode == inode || c.slot.kind == nameSlot && c.is == int64(inode))
}

// Points is the number of moments at which the process can crash: before the first event, and
// after each.
func (t *Trace) Points() int { return len(t.events) + 1 }

// values are what a slot may have when those before the event from are replaced or durable
// and those from the event to on have not happened: the last of the former, and the others.
func (t *Trace) values(s slot, from, to int) (all []int64) {
	all = append(all, t.first[s])
	for _, v := range t.past[s] {
		switch {
		case v.event >= to:
			return all
		case v.event < from:
			all = append(all[:0], v.is)
		default:
			all = append(all, v.is)
		}
	}
	return all
}

// at is the value of a slot before an event.
func (t *Trace) at(s slot, to int) int64 {
	all := t.values(s, to, to)
	return all[0]
}

// index fills what is derived from the events. Names have the order in which they came, so
// that the random ones of temporary files do not change the numbers of images.
func (t *Trace) index() {
	t.past, t.names = map[slot][]value{}, map[int][]string{}
	for s := range t.first {
		if s.kind == nameSlot {
			t.names[s.inode] = append(t.names[s.inode], s.name)
		}
	}
	for _, names := range t.names {
		slices.Sort(names)
	}
	for i, e := range t.events {
		for _, c := range e.changes {
			t.past[c.slot] = append(t.past[c.slot], value{i, c.is})
			if names := t.names[c.slot.inode]; c.slot.kind == nameSlot && !slices.Contains(names, c.slot.name) {
				t.names[c.slot.inode] = append(names, c.slot.name)
			}
		}
	}
}

// isSocket is true for a name that a socket had. Images have none: whoever listens next removes
// what has the name. Cut disks of real file systems have them.
func (t *Trace) isSocket(s slot) bool {
	return slices.ContainsFunc(t.past[s], func(v value) bool { return s.kind == nameSlot && t.inodes[v.is].kind == fs.ModeSocket })
}

// What says what the last event before a point was.
func (t *Trace) What(point int) string {
	if point == 0 {
		return "nothing"
	}
	return t.events[point-1].What
}
