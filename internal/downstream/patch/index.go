package patch

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
)

const (
	// window is how many bytes choose an anchor: a byte leaves the 64 bits of the hash
	// after as many shifts.
	window       = 64
	minDistance  = 8  // bits of the mean distance between two anchors
	maxAnchors   = 19 // bits of the number of anchors in an index
	maxSlots     = 20 // bits of the number of its slots, 8 MiB
	positionBits = 40
	scanBuffer   = 256 << 10
)

// gear has a random number for each byte. The numbers never change: the seed is fixed.
var gear = func() (table [256]uint64) {
	source := rand.NewPCG(0x73796e6364, 0x7061746368)
	for i := range table {
		table[i] = source.Uint64()
	}
	return table
}()

// index knows where in the old content anchors lie. Two anchors that share a slot lose one
// of them: a region has many, so a lost one does no harm.
type index struct {
	distance int      // bits of the mean distance between two anchors
	slots    []uint64 // the upper bits tell anchors of one slot apart, the others are the position
}

// anchors calls found for each anchor in some bytes. Their hash goes on from call to call.
func anchors(b []byte, hash uint64, distance int, found func(at int, hash uint64)) uint64 {
	shift := 64 - distance
	for i, c := range b {
		if hash = hash<<1 + gear[c]; hash>>shift == 0 {
			found(i, hash)
		}
	}
	return hash
}

// emptyIndex has room for the anchors of a content.
func emptyIndex(size int64) *index {
	x := &index{distance: max(minDistance, bits.Len64(uint64(size)>>maxAnchors))}
	expected := bits.Len64(uint64(size) >> x.distance)
	x.slots = make([]uint64, 1<<min(expected+2, maxSlots))
	return x
}

// newIndex reads the old content once.
func newIndex(ctx context.Context, from io.ReaderAt, size int64) (*index, error) {
	x := emptyIndex(size)
	hash, buffer := uint64(0), make([]byte, min(size, scanBuffer))
	for at := int64(0); at < size; at += int64(len(buffer)) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		buffer = buffer[:min(int64(len(buffer)), size-at)]
		if err := readAt(from, buffer, at); err != nil {
			return nil, fmt.Errorf("read the old content: %w", err)
		}
		hash = anchors(buffer, hash, x.distance, func(i int, hash uint64) {
			if slot, mark := x.slot(hash); at+int64(i) >= window && *slot == 0 {
				*slot = mark | uint64(at+int64(i))
			}
		})
	}
	return x, nil
}

// slot returns the place of an anchor, and the mark that it has there.
func (x *index) slot(hash uint64) (*uint64, uint64) {
	hash *= 0x9E3779B97F4A7C15
	return &x.slots[hash>>(64-bits.Len(uint(len(x.slots)-1)))], hash << positionBits
}

// find returns the position of an anchor in the old content.
func (x *index) find(hash uint64) (position int64, found bool) {
	slot, mark := x.slot(hash)
	if *slot == 0 || *slot>>positionBits != mark>>positionBits {
		return 0, false
	}
	return int64(*slot & (1<<positionBits - 1)), true
}
