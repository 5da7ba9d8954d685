package fetcher

import (
	"cmp"
	"slices"
)

// claim is the range that one connection fetches: the bytes from next up to, but
// without, end. Another connection may take the rear over, even if it was requested
// already. partial.mu guards its fields, and only its own connection changes next.
type claim struct {
	next, end int64
	requested byteRange // by the last request
}

func (c *claim) left() int64 { return c.end - c.next }

// layout says which bytes of a file are present, and which of the missing ones are
// claimed. Not safe for concurrent use.
type layout struct {
	size    int64       // endless until it is known
	present []byteRange // in order, none touching the next
	claims  []*claim
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

// claimNext claims the first bytes that are missing and not claimed, limit bytes at
// most. It returns nil when there are none.
func (l *layout) claimNext(limit int64) *claim {
	gap, found := l.firstUnclaimed()
	if !found {
		return nil
	}
	c := &claim{next: gap.from, end: gap.from + min(gap.size(), limit)}
	l.claims = append(l.claims, c)
	return c
}

func (l *layout) firstUnclaimed() (gap byteRange, found bool) {
	taken := slices.Clone(l.present)
	for _, c := range l.claims {
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

// splitLongest frees the rear of the claim that has most left, for another
// connection. The claim keeps its next limit bytes, or half of what is left if that
// is less. It returns false when no claim is long enough.
func (l *layout) splitLongest(limit int64) bool {
	if len(l.claims) == 0 {
		return false
	}
	longest := slices.MaxFunc(l.claims, func(a, b *claim) int { return cmp.Compare(a.left(), b.left()) })
	if longest.left() < 2*minSegment || longest.end == endless {
		return false
	}
	longest.end = longest.next + min(limit, longest.left()/2)
	return true
}

// advance notes that the next n bytes of a claim are present.
func (l *layout) advance(c *claim, n int64) {
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

// release gives a claim up. Its missing bytes go back to the claim that they were
// split from, if that one still exists and has requested them. Otherwise they are
// free to be claimed.
func (l *layout) release(c *claim) {
	l.claims = slices.DeleteFunc(l.claims, func(other *claim) bool { return other == c })
	for _, other := range l.claims {
		if other.end == c.next && other.end < other.requested.to {
			other.end = min(other.requested.to, l.unclaimedUntil(other.end))
		}
	}
}

// unclaimedUntil returns the end of the missing and unclaimed bytes that start at from.
func (l *layout) unclaimedUntil(from int64) int64 {
	end := l.size
	for _, r := range l.present {
		if r.to > from {
			end = min(end, max(r.from, from))
			break
		}
	}
	for _, c := range l.claims {
		if c.end > from {
			end = min(end, max(c.next, from))
		}
	}
	return end
}
