package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// A page with the number of a meta page has, after its header: magic, version, page
// size and flags with 4 bytes each, the root bucket with 16, then 8 each for the page
// of the free list, the number of pages, the transaction and a checksum.
const (
	metaSize     = 64
	metaFreeList = 32
	metaTx       = 48
	metaSum      = 56

	freeListType = 0x10
	noFreeList   = 1<<64 - 1
	manyFree     = 0xffff // the first entry holds the count
)

// checkFreeList checks that the list of free pages lies within the file. bbolt copies
// as many entries as the list says before anything else can look at it.
func (t *tree) checkFreeList() error {
	id, err := t.freeList()
	if err != nil || id == noFreeList {
		return err
	}
	page, err := t.read(id)
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	if kind := binary.NativeEndian.Uint16(page[8:]); kind != freeListType {
		return fmt.Errorf("free list: the type of page %d is %#x", id, kind)
	}
	count, entries := uint64(binary.NativeEndian.Uint16(page[10:])), page[headerSize:]
	if count == manyFree {
		count, entries = binary.NativeEndian.Uint64(entries), entries[8:]
	}
	if count > uint64(len(entries))/8 {
		return fmt.Errorf("free list: page %d has no room for %d entries", id, count)
	}
	return nil
}

// freeList returns the page of the free list from the newer of the valid meta pages,
// which is the one that bbolt uses.
func (t *tree) freeList() (id uint64, err error) {
	newest, found := uint64(0), false
	for n := range int64(2) {
		page := make([]byte, headerSize+metaSize)
		if _, err := t.file.ReadAt(page, n*int64(t.pageSize)); err != nil && err != io.EOF {
			return 0, err
		}
		meta := page[headerSize:]
		sum := fnv.New64a()
		sum.Write(meta[:metaSum])
		if sum.Sum64() != binary.NativeEndian.Uint64(meta[metaSum:]) {
			continue
		}
		if tx := binary.NativeEndian.Uint64(meta[metaTx:]); !found || tx > newest {
			newest, found, id = tx, true, binary.NativeEndian.Uint64(meta[metaFreeList:])
		}
	}
	if !found {
		return 0, errors.New("no meta page is valid")
	}
	return id, nil
}
