package fetcher

import (
	"cmp"
	"slices"
)

// segment is the range that one connection fetches: the bytes from next up to, but
// without, end. Another connection may take the rear over, even if it was requested
// already. partial.mu guards its fields, and only its own connection changes next.
type segment struct {
	next, end int64
	requested byteRange // by the last request
}

func (c *segment) left() int64 { return c.end - c.next }

// layout says which bytes of a file are present, and which of the missing ones are
// assigned. Not safe for concurrent use.
type layout struct {
	size     int64       // endless until it is known
	present  []byteRange // in order, none touching the next
	segments []*segment
}

// prefix returns the number of bytes before the first gap.
func (l *layout) prefix() int64 {
	if len(l.present) == 0 || l.present[0].from > 0 {
		return 0
	}
	return l.present[0].to
}

// end returns where the last present bytes end.
func (l *layout) end() int64 {
	if len(l.present) == 0 {
		return 0
	}
	return l.present[len(l.present)-1].to
}

// bytes returns the number of present bytes.
func (l *layout) bytes() (n int64) {
	for _, r := range l.present {
		n += r.size()
	}
	return n
}

// assignNext assigns the first bytes that are missing and not assigned yet, limit bytes at
// most. It returns nil when there are none.
func (l *layout) assignNext(limit int64) *segment {
	gap, found := l.firstUnassigned()
	if !found {
		return nil
	}
	c := &segment{next: gap.from, end: gap.from + min(gap.size(), limit)}
	l.segments = append(l.segments, c)
	return c
}

func (l *layout) firstUnassigned() (gap byteRange, found bool) {
	taken := slices.Clone(l.present)
	for _, c := range l.segments {
		taken = append(taken, byteRange{c.next, c.end})
	}
	slices.SortFunc(taken, func(a, b byteRange) int { return cmp.Compare(a.from, b.from) })
	var at int64
	for _, r := range taken {
		if r.from > at {
			return byteRange{at, r.from}, true
		}
		at = max(at, r.to)
	}
	return byteRange{at, l.size}, at < l.size
}

// splitLongest frees the rear of the segment that has most left, for another
// connection. The segment keeps its next limit bytes, or half of what is left if that
// is less. It returns false when no segment is long enough.
func (l *layout) splitLongest(limit int64) bool {
	if len(l.segments) == 0 {
		return false
	}
	longest := slices.MaxFunc(l.segments, func(a, b *segment) int { return cmp.Compare(a.left(), b.left()) })
	if longest.left() < 2*minSegment || longest.end == endless {
		return false
	}
	longest.end = longest.next + min(limit, longest.left()/2)
	return true
}

// advance notes that the next n bytes of a segment are present.
func (l *layout) advance(c *segment, n int64) {
	if n == 0 {
		return
	}
	added := byteRange{c.next, c.next + n}
	c.next = added.to
	i, _ := slices.BinarySearchFunc(l.present, added.from, func(r byteRange, from int64) int { return cmp.Compare(r.to, from) })
	j := i
	for ; j < len(l.present) && l.present[j].from <= added.to; j++ {
		added = byteRange{min(added.from, l.present[j].from), max(added.to, l.present[j].to)}
	}
	l.present = slices.Replace(l.present, i, j, added)
}

// release gives a segment up. Its missing bytes go back to the segment that they were
// split from, if that one still exists and has requested them. Otherwise they are
// free to be assigned.
func (l *layout) release(c *segment) {
	l.segments = slices.DeleteFunc(l.segments, func(other *segment) bool { return other == c })
	for _, other := range l.segments {
		if other.end == c.next && other.end < other.requested.to {
			other.end = min(other.requested.to, l.unassignedUntil(other.end))
		}
	}
}

// unassignedUntil returns the end of the missing and unassigned bytes that start at from.
func (l *layout) unassignedUntil(from int64) int64 {
	end := l.size
	for _, r := range l.present {
		if r.to > from {
			end = min(end, max(r.from, from))
			break
		}
	}
	for _, c := range l.segments {
		if c.end > from {
			end = min(end, max(c.next, from))
		}
	}
	return end
}
