package patch

import (
	"cmp"
	"slices"
)

// blockSize is the granularity of a region.
const blockSize = 64 << 10

// finder finds the region of each segment, in their order.
type finder struct {
	index *index
	old   int64 // size of the old content
	new   int64
	shift int64 // old position less new position of most anchors of the last segment that had any
	known bool  // there was one

	votes, shifts map[int64]int  // of the present segment
	chosen        map[int64]bool // blocks of the present segment
}

func newFinder(x *index, before, after int64) *finder {
	return &finder{index: x, old: before, new: after, votes: map[int64]int{}, shifts: map[int64]int{}, chosen: map[int64]bool{}}
}

// region is where the predecessor of a segment seems to be.
type region struct {
	extents []extent
	// same is where the segment lies if nothing in it changed, -1 for nowhere.
	same int64
}

// find reads the anchors of a segment.
func (f *finder) find(segment []byte, at int64) region {
	clear(f.votes)
	clear(f.shifts)
	most := 0
	anchors(segment, 0, f.index.distance, func(i int, hash uint64) {
		if i < window {
			return // chosen by fewer bytes than in the old content
		}
		position, found := f.index.find(hash)
		if !found {
			return
		}
		f.votes[position/blockSize]++
		shift := position - at - int64(i)
		if f.shifts[shift]++; f.shifts[shift] > most {
			most, f.shift, f.known = f.shifts[shift], shift, true
		}
	})
	r := region{same: -1}
	middle := at + f.shift
	if !f.known {
		middle = int64(float64(at) / float64(f.new) * float64(f.old))
	}
	length := int64(len(segment))
	if middle >= 0 && middle+length <= f.old {
		r.same = middle
	}
	if len(f.votes) > 0 {
		r.extents = f.blocks(middle-blockSize, middle+length+blockSize)
	} else { // behind the region before, or in proportion
		begin := max(middle-length/2, 0)
		if end := min(middle+length+length/2, f.old, begin+usedRegion); end > begin {
			r.extents = []extent{{begin, end - begin}}
		}
	}
	return r
}

// blocks joins the blocks with the most anchors, and their neighbours, while there is room. Where
// too many blocks have anchors, those from begin to end come first: text that stands at several
// places has its anchors at any of them, and all of it lies there if it moved as a whole.
func (f *finder) blocks(begin, end int64) []extent {
	all := make([]int64, 0, len(f.votes))
	for block := range f.votes {
		all = append(all, block)
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Or(f.votes[b]-f.votes[a], cmp.Compare(a, b)) })
	const room = usedRegion / blockSize
	clear(f.chosen)
	last := (f.old - 1) / blockSize
	choose := func(block int64) {
		if len(f.chosen) < room && block >= 0 && block <= last {
			f.chosen[block] = true
		}
	}
	if f.votesOf(all[min(len(all), room):])*25 > f.votesOf(all) {
		for at := begin; at < end; at += blockSize {
			choose(at / blockSize)
		}
	}
	for _, block := range all {
		choose(block)
	}
	for _, block := range all {
		choose(block - 1)
		choose(block + 1)
	}
	all = all[:0]
	for block := range f.chosen {
		all = append(all, block)
	}
	slices.Sort(all)
	var extents []extent
	for _, block := range all {
		begin := block * blockSize
		end := min(begin+blockSize, f.old)
		if n := len(extents) - 1; n >= 0 && extents[n].offset+extents[n].length == begin {
			extents[n].length += end - begin
		} else {
			extents = append(extents, extent{begin, end - begin})
		}
	}
	return extents
}

func (f *finder) votesOf(blocks []int64) (sum int) {
	for _, block := range blocks {
		sum += f.votes[block]
	}
	return sum
}
