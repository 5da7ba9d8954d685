package manifest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// Contents are the distinct expected digests of a list of files, numbered from 0 on. They
// take five bytes a file: the digests stay in the files, which must not change. A nil
// Contents is empty.
type Contents struct {
	files []File
	order []int32 // one file for each content, the first that has it, by digest
	first []int32 // for each value of the first bits of a sum, its first place in order; one more at the end
	shift int     // leaves the first bits of the first 32
}

// ContentsOf returns the contents of files. Sums are evenly spread, so that about four
// contents share their first bits.
func ContentsOf(files []File) *Contents {
	width := max(bits.Len(uint(len(files)))-2, 0)
	c := &Contents{files: files, order: make([]int32, len(files)), first: make([]int32, 1<<width+1), shift: 32 - width}
	next := make([]int32, 1<<width)
	for i := range files {
		next[c.bucket(&files[i].Expected)]++
	}
	var sum int32
	for b, n := range next {
		next[b], c.first[b], sum = sum, sum, sum+n
	}
	c.first[len(next)] = sum
	for i := range files {
		b := c.bucket(&files[i].Expected)
		c.order[next[b]] = int32(i)
		next[b]++
	}
	c.sortBuckets()
	return c
}

// sortBuckets sorts the contents by digest, and keeps the first file of each.
func (c *Contents) sortBuckets() {
	kept := 0
	for b := range len(c.first) - 1 {
		bucket := c.order[c.first[b]:c.first[b+1]]
		slices.SortFunc(bucket, func(x, y int32) int {
			return cmp.Or(c.files[x].Expected.Compare(&c.files[y].Expected), cmp.Compare(x, y))
		})
		c.first[b] = int32(kept)
		for i, file := range bucket {
			if i == 0 || c.files[file].Expected != c.files[bucket[i-1]].Expected {
				c.order[kept] = file
				kept++
			}
		}
	}
	c.first[len(c.first)-1] = int32(kept)
	c.order = c.order[:kept]
}

func (c *Contents) bucket(d *Digest) uint32 {
	return uint32(uint64(binary.BigEndian.Uint32(d.Sum[:4])) >> c.shift)
}

// Len is the number of contents.
func (c *Contents) Len() int {
	if c == nil {
		return 0
	}
	return len(c.order)
}

// Find returns the number of a content.
func (c *Contents) Find(content Digest) (number int, found bool) {
	if c.Len() == 0 {
		return 0, false
	}
	b := c.bucket(&content)
	from, to := c.first[b], c.first[b+1]
	at, found := slices.BinarySearchFunc(c.order[from:to], &content, func(file int32, content *Digest) int {
		return c.files[file].Expected.Compare(content)
	})
	return int(from) + at, found
}

// File returns the first file that has a content.
func (c *Contents) File(number int) *File { return &c.files[c.order[number]] }

// Table is a map from the contents of a list of files. A map of Go would take five times as
// much memory for thousands of sizes, because it has the digests again. A nil Table is empty.
type Table[V any] struct {
	contents *Contents
	values   []V
	has      []uint64 // a bit for each content
	len      int
}

// NewTable returns an empty table.
func NewTable[V any](contents *Contents) *Table[V] {
	return &Table[V]{contents: contents, values: make([]V, contents.Len()), has: make([]uint64, (contents.Len()+63)/64)}
}

// Len is the number of contents with a value.
func (t *Table[V]) Len() int {
	if t == nil {
		return 0
	}
	return t.len
}

// Get returns the value of a content.
func (t *Table[V]) Get(content Digest) (value V, found bool) {
	if t == nil {
		return value, false
	}
	i, found := t.contents.Find(content)
	if !found || !t.isSet(i) {
		return value, false
	}
	return t.values[i], true
}

// Put sets the value of a content. It passes over a content of other files.
func (t *Table[V]) Put(content Digest, value V) {
	i, found := t.contents.Find(content)
	if !found {
		return
	}
	if t.values[i] = value; !t.isSet(i) {
		t.has[i/64] |= 1 << (i % 64)
		t.len++
	}
}

func (t *Table[V]) isSet(i int) bool { return t.has[i/64]&(1<<(i%64)) != 0 }

// All returns the contents with a value, in the order of their digests.
func (t *Table[V]) All() iter.Seq2[Digest, V] {
	return func(yield func(Digest, V) bool) {
		if t == nil {
			return
		}
		for i, value := range t.values {
			if t.isSet(i) && !yield(t.contents.File(i).Expected, value) {
				return
			}
		}
	}
}

// Compare orders digests by their sums, and equal sums by their algorithms.
func (d *Digest) Compare(other *Digest) int {
	return cmp.Or(bytes.Compare(d.Sum[:], other.Sum[:]), cmp.Compare(d.Algorithm, other.Algorithm))
}
