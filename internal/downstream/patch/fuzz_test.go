package patch

import (
	"errors"
	"testing"
)

// FuzzApply takes any bytes for a patch, and for the only body of one.
func FuzzApply(f *testing.F) {
	before := records(1, 300, 0)
	after := edited(before, 1, 20)
	id := content(after).Identity
	good := makeOf(f, before, after)
	f.Add(good)
	f.Add(good[headerSize+entrySize:])
	f.Fuzz(func(t *testing.T, data []byte) {
		p := Patch{Old: content(before).Identity, New: id, SegmentSize: segmentSize, bodies: []uint32{uint32(len(data))}}
		for _, patch := range [][]byte{data, append(p.table(), data...)} {
			got, err := apply(patch, before, id)
			if err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("%v is not a refusal", err)
			}
			if len(got) > len(after) || err == nil && len(got) != len(after) {
				t.Errorf("%d bytes of %d, %v", len(got), len(after), err)
			}
		}
	})
}
