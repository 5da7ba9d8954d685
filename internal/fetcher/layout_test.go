package fetcher

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// check fails the test unless the layout is consistent.
func (l *layout) check(t interface{ Fatalf(string, ...any) }) {
	var end int64 = -1
	for _, s := range l.present {
		if s.from <= end || s.to <= s.from || s.to > l.size {
			t.Fatalf("ranges %v of %d bytes", l.present, l.size)
		}
		end = s.to
	}
	for i, c := range l.segments {
		if c.next > c.end || c.end > l.size {
			t.Fatalf("segment %+v of %d bytes", *c, l.size)
		}
		for _, other := range l.segments[:i] {
			if c.next < other.end && other.next < c.end {
				t.Fatalf("segments %+v and %+v overlap", *c, *other)
			}
		}
		for _, s := range l.present {
			if c.next < c.end && c.next < s.to && s.from < c.end {
				t.Fatalf("bytes of segment %+v are present: %v", *c, l.present)
			}
		}
	}
}

func TestLayoutFetchesEachByteOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 64*minSegment).Draw(t, "size")
		l := &layout{size: size}
		arrived := int64(0)
		for !(l.prefix() >= size && len(l.segments) == 0) {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if c := l.assignNext(rapid.Int64Range(minSegment, 32*minSegment).Draw(t, "limit")); c != nil {
					c.requested = byteRange{c.next, c.end} // as a connection does before it fetches
				}
			case 1:
				l.splitLongest(rapid.Int64Range(minSegment, 32*minSegment).Draw(t, "limit"))
			case 2:
				if len(l.segments) > 0 {
					c := rapid.SampledFrom(l.segments).Draw(t, "segment")
					n := c.end - c.next
					if !rapid.Bool().Draw(t, "all") { // rapid prefers small numbers, which would take thousands of steps
						n = rapid.Int64Range(0, n).Draw(t, "bytes")
					}
					l.advance(c, n)
					arrived += n
				}
			case 3:
				if len(l.segments) > 0 {
					l.release(rapid.SampledFrom(l.segments).Draw(t, "released"))
				}
			}
			l.check(t)
			if l.bytes() != arrived {
				t.Fatalf("%d bytes are present, %d arrived", l.bytes(), arrived)
			}
		}
		if arrived != size || l.assignNext(endless) != nil {
			t.Fatalf("%d of %d bytes", arrived, size)
		}
	})
}

func TestSplitLongest(t *testing.T) {
	tests := map[string]struct {
		segment segment
		limit   int64
		end     int64 // 0: the segment is not split
	}{
		"a long one keeps its next part": {segment{next: 100, end: 100 * mib}, 8 * mib, 100 + 8*mib},
		"a short one is halved":          {segment{next: 0, end: 12 * mib}, 8 * mib, 6 * mib},
		"the least":                      {segment{next: 0, end: 8 * mib}, 8 * mib, 4 * mib},
		"too little":                     {segment{next: 1, end: 8 * mib}, 8 * mib, 0},
		"no known end":                   {segment{next: 0, end: endless}, 8 * mib, 0},
	}
	for name, tt := range tests {
		c := tt.segment
		l := layout{size: c.end, segments: []*segment{{next: 0, end: 0}, &c}}
		if did := l.splitLongest(tt.limit); did != (tt.end != 0) || did && c.end != tt.end {
			t.Errorf("%s: %t, %+v", name, did, c)
		}
	}
	if (&layout{size: 100 * mib}).splitLongest(mib) {
		t.Error("split a layout without segments")
	}
}

func TestClipRangesFromDisk(t *testing.T) {
	tests := map[string]struct {
		text string
		size int64
		want []byteRange
	}{
		"in order":           {`[[0,5],[7,9]]`, 10, []byteRange{{0, 5}, {7, 9}}},
		"none":               {`[]`, 10, nil},
		"beyond the file":    {`[[0,5],[7,20]]`, 10, []byteRange{{0, 5}, {7, 10}}},
		"behind its end":     {`[[0,5],[17,20]]`, 10, []byteRange{{0, 5}}},
		"empty":              {`[[5,5]]`, 10, nil},
		"backwards":          {`[[5,4]]`, 10, nil},
		"negative":           {`[[-5,4]]`, 10, nil},
		"in the wrong order": {`[[7,9],[0,5]]`, 10, nil},
		"overlapping":        {`[[0,5],[4,9]]`, 10, nil},
		"touching":           {`[[0,5],[5,9]]`, 10, nil},
	}
	for name, tt := range tests {
		var spans []byteRange
		must(t, json.Unmarshal([]byte(tt.text), &spans))
		if got := clip(spans, tt.size); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestReleasedBytesReturnToTheSplitClaim(t *testing.T) {
	for name, tt := range map[string]struct {
		requested byteRange // by the first segment, which is split to 10-40
		here      []byteRange
		fetched   int64 // by the released segment, of 40-60
		want      int64 // the end of the first segment
	}{
		"all":                        {requested: everything, want: 70},
		"up to the requested end":    {requested: byteRange{10, 50}, want: 50},
		"beyond the requested end":   {requested: byteRange{10, 40}, want: 40},
		"not requested yet":          {want: 40},
		"behind fetched bytes":       {requested: everything, fetched: 5, want: 40},
		"up to present bytes":        {requested: everything, here: []byteRange{{0, 10}, {55, 58}}, want: 55},
		"present bytes right behind": {requested: everything, here: []byteRange{{0, 10}, {40, 41}}, want: 40},
	} {
		t.Run(name, func(t *testing.T) {
			first, cut, next := &segment{next: 10, end: 40, requested: tt.requested}, &segment{next: 40, end: 60}, &segment{next: 70, end: 90}
			l := layout{size: 100, present: tt.here, segments: []*segment{first, cut, next}}
			l.advance(cut, tt.fetched)
			if l.release(cut); first.end != tt.want {
				t.Errorf("the first segment ends at %d, want %d", first.end, tt.want)
			}
		})
	}
}
