package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// checkTree proves that every page, element and bucket that can be reached lies
// where it may, and is reached once. bbolt follows what it reads in the mapped
// file without such doubts: a length that leads out of the file is a fault, also
// in its own checker's goroutine, where nothing contains it, and a page that is
// its own child a loop without end. So this reads the file, before bbolt does.
func checkTree(tx *bbolt.Tx) error {
	file, err := os.Open(tx.DB().Path())
	if err != nil {
		return err
	}
	defer file.Close()
	size := tx.DB().Info().PageSize
	t := &tree{file: file, pageSize: size, pages: uint64(tx.Size()) / uint64(size), seen: map[uint64]bool{}}
	_, err = t.checkPage(uint64(tx.Cursor().Bucket().RootPage()))
	return err
}

// tree are the pages of a bbolt file as they lie on disk: a header of number,
// type, count and overflow, then count elements, then the keys and values to
// which the elements point, each from its own place.
type tree struct {
	file     io.ReaderAt
	pageSize int
	pages    uint64 // in use
	seen     map[uint64]bool
}

const (
	headerSize  = 16 // of a page, and of a bucket's value
	elementSize = 16

	branchType = 1
	leafType   = 2
	bucketFlag = 1
)

// checkPage checks a page that something points to, and all below it. It returns
// the first key.
func (t *tree) checkPage(id uint64) (first []byte, err error) {
	page, err := t.read(id)
	if err != nil {
		return nil, err
	}
	first, err = t.checkElements(page)
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return first, nil
}

// read reads a page with those that continue it, which nothing else may point to.
func (t *tree) read(id uint64) ([]byte, error) {
	header := make([]byte, headerSize)
	if id < 2 || id >= t.pages {
		return nil, fmt.Errorf("page %d is none of the file's %d", id, t.pages)
	}
	if _, err := t.file.ReadAt(header, int64(id)*int64(t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	if number := binary.NativeEndian.Uint64(header); number != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, number)
	}
	more := uint64(binary.NativeEndian.Uint32(header[12:]))
	if more >= t.pages-id {
		return nil, fmt.Errorf("page %d has %d more, the file only %d", id, more, t.pages)
	}
	for i := id; i <= id+more; i++ {
		if t.seen[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		t.seen[i] = true
	}
	page := make([]byte, int(more+1)*t.pageSize)
	if _, err := t.file.ReadAt(page, int64(id)*int64(t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}

// checkElements checks what a page has, or the part of one that is an inline
// bucket, and returns the first key.
func (t *tree) checkElements(page []byte) (first []byte, err error) {
	if len(page) < headerSize {
		return nil, fmt.Errorf("%d bytes are no page", len(page))
	}
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	if kind != branchType && kind != leafType {
		return nil, fmt.Errorf("its type is %#x", kind)
	}
	if headerSize+count*elementSize > len(page) {
		return nil, fmt.Errorf("it has no room for %d elements", count)
	}
	check := t.checkLeaf
	if kind == branchType {
		check = t.checkBranch
	}
	for i := range count {
		key, err := check(page[headerSize+i*elementSize:])
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = key
		}
	}
	return first, nil
}

// checkBranch checks an element, at the start of the rest of its page, that points
// to another page. Its key is that page's first one: by it bbolt finds the element
// again when the page changes, and adds a second one if it does not.
func (t *tree) checkBranch(rest []byte) (key []byte, err error) {
	at, size := uint64(binary.NativeEndian.Uint32(rest)), uint64(binary.NativeEndian.Uint32(rest[4:]))
	if at+size > uint64(len(rest)) {
		return nil, fmt.Errorf("a key of %d bytes leads out of it", size)
	}
	key = rest[at : at+size]
	child := binary.NativeEndian.Uint64(rest[8:])
	first, err := t.checkPage(child)
	if err == nil && !bytes.Equal(key, first) {
		err = fmt.Errorf("its key for page %d is not that page's first", child)
	}
	return key, err
}

// checkLeaf checks an element that has a key and a value, or a bucket.
func (t *tree) checkLeaf(rest []byte) (key []byte, err error) {
	flags, at := binary.NativeEndian.Uint32(rest), uint64(binary.NativeEndian.Uint32(rest[4:]))
	size, value := uint64(binary.NativeEndian.Uint32(rest[8:])), uint64(binary.NativeEndian.Uint32(rest[12:]))
	if at+size+value > uint64(len(rest)) {
		return nil, fmt.Errorf("a key and value of %d bytes lead out of it", size+value)
	}
	key = rest[at : at+size]
	if flags&bucketFlag != 0 {
		err = t.checkBucket(rest[at+size : at+size+value])
	}
	return key, err
}

// checkBucket checks a bucket, which has its root elsewhere or is inline.
func (t *tree) checkBucket(value []byte) error {
	if len(value) < headerSize {
		return fmt.Errorf("%d bytes are no bucket", len(value))
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		_, err := t.checkPage(root)
		return err
	}
	_, err := t.checkElements(value[headerSize:])
	return err
}
