package states

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// Image is what a disk has after a crash.
type Image struct {
	Number     string  // names it: kind of file system, point, and the answers
	IsReported bool    // the process printed its outcome before the crash
	Entries    []Entry // parents before children; the first is the folder itself
	trace      *Trace
}

// Entry is a name in an image. Names of one file have the same inode.
type Entry struct {
	Path   string
	Mode   fs.FileMode
	Target string  // of a symlink
	size   int64   // of a file
	blocks []int64 // its blobs, those that no reader looks at less than 0
	inode  int
}

// Key is equal for images that no reader can tell apart.
func (i *Image) Key() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, i.IsReported)
	for _, e := range i.Entries {
		fmt.Fprintf(h, "%q %o %q %d %d\n", e.Path, e.Mode, e.Target, e.inode, e.size)
		for _, blob := range e.blocks {
			_ = binary.Write(h, binary.LittleEndian, max(blob, 0)) // a hash takes everything
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Bytes are the bytes of a file.
func (i *Image) Bytes(e Entry) []byte {
	data := make([]byte, e.size)
	for at, blob := range e.blocks {
		copy(data[at*blockSize:], i.trace.blobs[max(blob, -blob)])
	}
	return data
}

// reader reads an image from a disk after a crash.
type reader struct {
	*crash
	ask   func(question slot, answers int) int
	image *Image
	files map[int]Entry // that were read by another name
}

func (r *reader) get(s slot) int64 { return r.read(s, r.ask) }

// visit reads what has a name, and what is below it.
func (r *reader) visit(name string, number int, above []int) {
	node := r.inodes[number]
	e := Entry{Path: name, Mode: node.kind, Target: node.target, inode: number}
	if node.kind != fs.ModeSymlink {
		e.Mode |= fs.FileMode(r.get(slot{kind: modeSlot, inode: number})) //nolint:gosec // permissions
	}
	if node.kind == 0 {
		read, found := r.files[number]
		if !found {
			read = e
			read.size = r.get(slot{kind: sizeSlot, inode: number})
			read.blocks = r.content(number, read.size)
			r.files[number] = read
		}
		e.size, e.blocks = read.size, read.blocks
	}
	r.image.Entries = append(r.image.Entries, e)
	if node.kind != fs.ModeDir {
		return
	}
	for _, child := range r.names[number] {
		s := slot{kind: nameSlot, inode: number, name: child}
		if r.isSocket(s) {
			continue
		}
		if is := int(r.get(s)); is != 0 && !slices.Contains(above, is) { // else a folder is left in itself, which fsck cuts off
			r.visit(path.Join(name, child), is, append(above[:len(above):len(above)], is))
		}
	}
}

// content asks for the blocks of a file that a reader looks at. Others have their oldest
// bytes and count for nothing.
func (r *reader) content(number int, size int64) []int64 {
	blocks := make([]int64, (size+blockSize-1)/blockSize)
	get := func(at int64) int64 {
		blob := r.get(slot{kind: blockSlot, inode: number, block: at})
		if rest := size - at*blockSize; rest < int64(len(r.blobs[blob])) {
			blob = r.intern(r.blobs[blob][:rest])
		}
		return blob
	}
	if isDatabase(r.blobs[r.at(slot{kind: blockSlot, inode: number}, r.point)]) {
		asked := r.pagesRead(int64(len(blocks)), get)
		for at := range blocks {
			s := slot{kind: blockSlot, inode: number, block: int64(at)}
			if blob, found := asked[int64(at)]; found {
				blocks[at] = blob
			} else {
				blocks[at] = -r.values(s, r.settled(s), r.point)[0]
			}
		}
		return blocks
	}
	for at := range blocks {
		blocks[at] = get(int64(at))
	}
	return blocks
}

// intern returns the number of a blob.
func (t *Trace) intern(data []byte) int64 {
	data = trimmed(data)
	if len(data) == 0 {
		return 0
	}
	number, found := t.blobOf[string(data)]
	if !found {
		number = int64(len(t.blobs))
		t.blobOf[string(data)] = number
		t.blobs = append(t.blobs, append([]byte(nil), data...))
	}
	return number
}

// trimmed are bytes without the zeros at their end.
func trimmed(data []byte) []byte {
	for len(data) > 0 && data[len(data)-1] == 0 {
		data = data[:len(data)-1]
	}
	return data
}
