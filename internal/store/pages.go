package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
)

// checkTree checks the pages that are in use: that every page, key, value and bucket
// lies within the file, and that nothing is reachable twice. It also checks the list
// of free pages. It reads the file, not bbolt's mapping of it.
//
// bbolt's Tx.Check cannot do this, not even in a child process. It follows a length
// out of the file, which is a fault, and a page that is its own child without end.
// It overlooks values that end outside of their page, and keys of a branch that are
// not the first of the child: the former fault later, the latter lose changes.
func checkTree(tx *bbolt.Tx, file io.ReaderAt) error {
	size := tx.DB().Info().PageSize
	t := &tree{file: file, pageSize: size, pages: uint64(tx.Size()) / uint64(size), seen: map[uint64]bool{}}
	if _, err := t.checkPage(uint64(tx.Cursor().Bucket().RootPage())); err != nil {
		return err
	}
	return t.checkFreeList()
}

// tree reads the pages of a bbolt file. A page has a header (number, type, count,
// overflow), then count elements, then keys and values. Each element says where its
// key and value are, counted from the element itself.
type tree struct {
	file     io.ReaderAt
	pageSize int
	pages    uint64 // of the file
	seen     map[uint64]bool
}

const (
	headerSize  = 16 // of a page, and of a bucket's value
	elementSize = 16

	branchType = 1
	leafType   = 2
	bucketFlag = 1
)

// checkPage checks a page and all pages below it. It returns the first key.
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

// read reads a page and the pages that continue it. It marks them as seen.
func (t *tree) read(id uint64) ([]byte, error) {
	header := make([]byte, headerSize)
	if id < 2 || id >= t.pages { // 0 and 1 are the meta pages
		return nil, fmt.Errorf("page %d is none of the file's %d", id, t.pages)
	}
	if _, err := t.file.ReadAt(header, int64(id)*int64(t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	if number := binary.NativeEndian.Uint64(header); number != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, number)
	}
	overflow := uint64(binary.NativeEndian.Uint32(header[12:]))
	if overflow >= t.pages-id {
		return nil, fmt.Errorf("page %d continues for %d pages, the file has only %d", id, overflow, t.pages)
	}
	for i := id; i <= id+overflow; i++ {
		if t.seen[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		t.seen[i] = true
	}
	page := make([]byte, int(overflow+1)*t.pageSize)
	if _, err := t.file.ReadAt(page, int64(id)*int64(t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}

// checkElements checks the elements of a page, or of an inline bucket, which has the
// form of a page. It returns the first key.
func (t *tree) checkElements(page []byte) (first []byte, err error) {
	if len(page) < headerSize {
		return nil, fmt.Errorf("a page of %d bytes has no header", len(page))
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

// checkBranch checks an element that points to another page. rest is its page from
// the element on. Its key must be the first key of that other page: when the page
// changes, bbolt looks the element up by that key, and adds a second one if it does
// not find it.
func (t *tree) checkBranch(rest []byte) (key []byte, err error) {
	offset, size := uint64(binary.NativeEndian.Uint32(rest)), uint64(binary.NativeEndian.Uint32(rest[4:]))
	if offset+size > uint64(len(rest)) {
		return nil, fmt.Errorf("a key of %d bytes ends outside of it", size)
	}
	key = rest[offset : offset+size]
	child := binary.NativeEndian.Uint64(rest[8:])
	first, err := t.checkPage(child)
	if err == nil && !bytes.Equal(key, first) {
		err = fmt.Errorf("its key for page %d is not that page's first", child)
	}
	return key, err
}

// checkLeaf checks an element that has a key and a value, or a bucket. rest is its
// page from the element on.
func (t *tree) checkLeaf(rest []byte) (key []byte, err error) {
	flags, offset := binary.NativeEndian.Uint32(rest), uint64(binary.NativeEndian.Uint32(rest[4:]))
	keySize, valueSize := uint64(binary.NativeEndian.Uint32(rest[8:])), uint64(binary.NativeEndian.Uint32(rest[12:]))
	value := offset + keySize
	if value+valueSize > uint64(len(rest)) {
		return nil, fmt.Errorf("a key and value of %d bytes end outside of it", keySize+valueSize)
	}
	if flags&bucketFlag != 0 {
		err = t.checkBucket(rest[value : value+valueSize])
	}
	return rest[offset:value], err
}

// checkBucket checks a bucket, which has its root on another page or is inline.
func (t *tree) checkBucket(value []byte) error {
	if len(value) < headerSize {
		return fmt.Errorf("a bucket of %d bytes has no header", len(value))
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		_, err := t.checkPage(root)
		return err
	}
	_, err := t.checkElements(value[headerSize:])
	return err
}
