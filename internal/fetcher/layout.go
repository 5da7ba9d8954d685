package fetcher

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// span is the bytes from `from` up to `to`, without the latter.
type span struct{ from, to int64 }

// endless is the end of a file whose size nobody told.
const endless = math.MaxInt64

// everything is what a request without a range asks for.
var everything = span{0, endless}

// layout is which bytes of a file are there, and which of the others somebody
// fetches. Not safe for concurrent use.
type layout struct {
	size   int64  // endless until it is told
	here   []span // in order, none touching the next
	claims []*claim
}

// claim is what one connection fetches: the bytes from next up to end. Another one
// may take the rear over, also of what was asked for already.
type claim struct {
	next, end int64
	asked     span
}

// prefix is how many bytes are there from the first on without a gap.
func (l *layout) prefix() int64 {
	if len(l.here) == 0 || l.here[0].from > 0 {
		return 0
	}
	return l.here[0].to
}

// end is where the last bytes that are there end.
func (l *layout) end() int64 {
	if len(l.here) == 0 {
		return 0
	}
	return l.here[len(l.here)-1].to
}

// bytes is how many are there.
func (l *layout) bytes() (n int64) {
	for _, s := range l.here {
		n += s.to - s.from
	}
	return n
}

// gap is the first bytes that are not there and that nobody fetches.
func (l *layout) gap() (span, bool) {
	taken := slices.Clone(l.here)
	for _, c := range l.claims {
		taken = append(taken, span{c.next, c.end})
	}
	slices.SortFunc(taken, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var at int64
	for _, s := range taken {
		if s.from > at {
			return span{at, s.from}, true
		}
		at = max(at, s.to)
	}
	return span{at, l.size}, at < l.size
}

// claim takes the first limit bytes that nobody has or fetches; nil when there
// are none.
func (l *layout) claim(limit int64) *claim {
	gap, found := l.gap()
	if !found {
		return nil
	}
	c := &claim{next: gap.from, end: gap.from + min(gap.to-gap.from, limit)}
	l.claims = append(l.claims, c)
	return c
}

// cut takes the rear from the claim that has most left, so that there is a gap
// for another connection: all but its next limit bytes, half at most. It is
// false when no claim is worth it.
func (l *layout) cut(limit int64) bool {
	if len(l.claims) == 0 {
		return false
	}
	longest := slices.MaxFunc(l.claims, func(a, b *claim) int { return cmp.Compare(a.end-a.next, b.end-b.next) })
	left := longest.end - longest.next
	if left < 2*minSegment || longest.end == endless {
		return false
	}
	longest.end = longest.next + min(limit, left/2)
	return true
}

// advance notes that the next n bytes of a claim are there.
func (l *layout) advance(c *claim, n int64) {
	if n == 0 {
		return
	}
	added := span{c.next, c.next + n}
	c.next = added.to
	i, _ := slices.BinarySearchFunc(l.here, added.from, func(s span, from int64) int { return cmp.Compare(s.to, from) })
	j := i
	for ; j < len(l.here) && l.here[j].from <= added.to; j++ {
		added = span{min(added.from, l.here[j].from), max(added.to, l.here[j].to)}
	}
	l.here = slices.Replace(l.here, i, j, added)
}

// release gives a claim up. What is missing of it goes back to the one from which
// it was cut, if that is still there and has asked for it; else it is a gap.
func (l *layout) release(c *claim) {
	l.claims = slices.DeleteFunc(l.claims, func(other *claim) bool { return other == c })
	for _, other := range l.claims {
		if other.end == c.next && other.end < other.asked.to {
			other.end = min(other.asked.to, l.free(other.end))
		}
	}
}

// free is where the bytes end that are not there and that nobody fetches, from one
// of them on.
func (l *layout) free(from int64) int64 {
	end := l.size
	for _, s := range l.here {
		if s.to > from {
			end = min(end, max(s.from, from))
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

// String is the span as a header asks for it.
func (s span) String() string {
	if s.to == endless {
		return fmt.Sprintf("bytes=%d-", s.from)
	}
	return fmt.Sprintf("bytes=%d-%d", s.from, s.to-1)
}

// MarshalJSON writes a span as [from, to].
func (s span) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{s.from, s.to}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *span) UnmarshalJSON(data []byte) error {
	var pair [2]int64
	err := json.Unmarshal(data, &pair)
	*s = span{pair[0], pair[1]}
	return err
}

// within returns the spans as far as they can be of a file of so many bytes: nil
// when they are in no order, for then nothing is known.
func within(spans []span, size int64) []span {
	var kept []span
	var end int64 = -1
	for _, s := range spans {
		if s.from <= end || s.to <= s.from || s.from < 0 {
			return nil
		}
		end = s.to
		if s.to = min(s.to, size); s.from < s.to {
			kept = append(kept, s)
		}
	}
	return kept
}
