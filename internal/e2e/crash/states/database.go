package states

import (
	"encoding/binary"
	"hash/fnv"
)

// Pages of bbolt. The comments of go.etcd.io/bbolt/internal/common describe them.
const (
	databaseMagic = 0xED0CDAED
	pageHeader    = 16
	metaSize      = 64
	branchPage    = 1
	leafPage      = 2
	bucketLeaf    = 1
	maxDepth      = 64
)

var (
	little = binary.LittleEndian
	big    = binary.BigEndian // of proofs
)

// isDatabase is true for the first block of a state file.
func isDatabase(blob []byte) bool {
	return len(blob) >= pageHeader+4 && little.Uint32(blob[pageHeader:]) == databaseMagic
}

// database reads a state file as bbolt does: the newer of the two pages that say where
// everything is, then what it leads to.
type database struct {
	pages int64
	get   func(page int64) int64 // asks for a block
	read  map[int64]int64        // what was asked for, by block
}

// pagesRead returns the blocks of a state file that a reader looks at.
func (t *Trace) pagesRead(pages int64, get func(page int64) int64) map[int64]int64 {
	d := &database{pages: pages, get: get, read: map[int64]int64{}}
	block := func(page int64) []byte {
		blob, found := d.read[page]
		if !found {
			blob = get(page)
			d.read[page] = blob
		}
		full := make([]byte, blockSize)
		copy(full, t.blobs[blob])
		return full
	}
	var root, free, newest uint64
	for page := range min(2, pages) {
		meta := block(page)[pageHeader:][:metaSize]
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:metaSize-8]) // a hash takes everything
		txid := little.Uint64(meta[metaSize-16:])
		if little.Uint32(meta) == databaseMagic && sum.Sum64() == little.Uint64(meta[metaSize-8:]) && txid+1 > newest {
			root, free, newest = little.Uint64(meta[16:]), little.Uint64(meta[32:]), txid+1
		}
	}
	if newest == 0 {
		return d.read
	}
	d.whole(free, block)
	d.tree(root, block, maxDepth)
	return d.read
}

// whole reads a page with those that it goes on in.
func (d *database) whole(page uint64, block func(int64) []byte) []byte {
	if page >= uint64(d.pages) { //nolint:gosec // not below 0
		return nil
	}
	at := int64(page) //nolint:gosec // below pages
	data := block(at)
	for more := range int64(min(little.Uint32(data[12:]), 1<<20)) {
		if at+1+more < d.pages {
			data = append(data, block(at+1+more)...)
		}
	}
	return data
}

// tree reads a page and everything below it. What is no page of a tree leads nowhere.
func (d *database) tree(page uint64, block func(int64) []byte, depth int) {
	data := d.whole(page, block)
	if data == nil || depth == 0 || little.Uint64(data) != page {
		return
	}
	d.elements(data, block, depth)
}

func (d *database) elements(data []byte, block func(int64) []byte, depth int) {
	flags, count := little.Uint16(data[8:]), int(little.Uint16(data[10:]))
	for i := range count {
		at := pageHeader + i*16
		if at+16 > len(data) {
			return
		}
		element := data[at:][:16]
		switch {
		case flags&branchPage != 0:
			d.tree(little.Uint64(element[8:]), block, depth-1)
		case flags&leafPage != 0 && little.Uint32(element)&bucketLeaf != 0:
			from := at + int(little.Uint32(element[4:])) + int(little.Uint32(element[8:]))
			end := from + int(little.Uint32(element[12:]))
			if from+16 > end || end > len(data) {
				continue
			}
			if root := little.Uint64(data[from:]); root != 0 {
				d.tree(root, block, depth-1)
			} else if end-from >= 16+pageHeader {
				d.elements(data[from+16:end], block, depth-1)
			}
		}
	}
}
