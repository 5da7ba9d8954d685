package changes

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
)

// Scratch is the folder for rows that do not fit into memory. A file in it loses its name
// at once where the system can do that, so that a crash leaves nothing.
type Scratch struct {
	Dir *fsops.Dir // exists; nil for the system's folder of temporary files
}

// OrTemporary returns the folder if this user can make files in it, and the one of
// temporary files otherwise.
func (s Scratch) OrTemporary() Scratch {
	_, remove, err := s.file()
	if err != nil {
		return Scratch{}
	}
	remove()
	return s
}

// keepFree is how much of the volume a comparison never takes.
const keepFree = 256 << 20

// spillName begins the names of scratch files.
const spillName = "rows"

// file makes a scratch file. The function that comes with it removes it.
func (s Scratch) file() (*os.File, func(), error) {
	if s.Dir == nil {
		f, err := os.CreateTemp("", ".tmp-syncd-rows-")
		if err != nil {
			return nil, nil, err
		}
		if removesOpenFiles && os.Remove(f.Name()) == nil {
			return f, func() { _ = f.Close() }, nil
		}
		return f, func() { _ = f.Close(); _ = os.Remove(f.Name()) }, nil
	}
	name := fsops.TempName(spillName)
	f, err := s.Dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, space.RefuseIfFull(err)
	}
	if removesOpenFiles && s.Dir.Remove(name) == nil {
		return f, func() { _ = f.Close() }, nil
	}
	return f, func() { _ = f.Close(); fsops.DiscardFile(s.Dir, name) }, nil
}

// removesOpenFiles is true where an open file may lose its name; changed by a test.
var removesOpenFiles = runtime.GOOS != "windows"

// room refuses to write n more bytes if the volume would become full.
func (s Scratch) room(n int64) error {
	if s.Dir == nil {
		return nil
	}
	free, err := space.Free(s.Dir)
	if err != nil {
		return err
	}
	if need := space.OfContent(n).Plus(space.Amount{Bytes: keepFree}); !space.Fits(need, free) {
		return space.Refuse(need, free, "comparing rows needs it for a short time")
	}
	return nil
}

// spill is a scratch file of fixed-size records in partitions. Each partition is a chain of
// blocks.
type spill struct {
	scratch Scratch
	record  int // bytes
	file    *os.File
	remove  func()
	parts   []partition
	written int64
	checked int64 // written when the free space was last looked at
	block   []byte
}

type partition struct {
	pending []byte
	blocks  []int64
	size    int64 // bytes, with pending
}

// spillBlock is what a partition keeps in memory.
const spillBlock = 8 << 10

// partitions is how many partitions data of a size gets, so that a table of one partition
// is small enough for the caches of a processor.
func partitions(size int64) int {
	n := 16
	for n < 2048 && int64(n)*(4<<20) < size {
		n *= 2
	}
	return n
}

func newSpill(scratch Scratch, record, parts int) *spill {
	return &spill{scratch: scratch, record: record, parts: make([]partition, parts), block: make([]byte, 0, spillBlock)}
}

// add appends one record to a partition.
func (s *spill) add(part int, record []byte) error {
	p := &s.parts[part]
	if len(p.pending)+len(record) > spillBlock {
		if err := s.flush(p); err != nil {
			return err
		}
	}
	if p.pending == nil {
		p.pending = make([]byte, 0, spillBlock)
	}
	p.pending = append(p.pending, record...)
	p.size += int64(len(record))
	return nil
}

func (s *spill) flush(p *partition) (err error) {
	if s.file == nil {
		if s.file, s.remove, err = s.scratch.file(); err != nil {
			return err
		}
	}
	if s.written >= s.checked {
		const step = 64 << 20
		if err := s.scratch.room(step); err != nil {
			return err
		}
		s.checked = s.written + step
	}
	if _, err := s.file.WriteAt(p.pending, s.written); err != nil {
		return space.RefuseIfFull(err)
	}
	p.blocks = append(p.blocks, s.written)
	s.written += spillBlock
	p.pending = p.pending[:0]
	return nil
}

// each visits the records of a partition in the order in which they came.
func (s *spill) each(part int, visit func(record []byte)) error {
	p := &s.parts[part]
	full := spillBlock / s.record * s.record
	for _, at := range p.blocks {
		block := s.block[:full]
		if _, err := s.file.ReadAt(block, at); err != nil {
			return err
		}
		for ; len(block) > 0; block = block[s.record:] {
			visit(block[:s.record])
		}
	}
	for rest := p.pending; len(rest) > 0; rest = rest[s.record:] {
		visit(rest[:s.record])
	}
	return nil
}

// close gives the space back.
func (s *spill) close() {
	if s != nil && s.file != nil {
		s.remove()
	}
}

// utf16Order returns the decoder of a file in UTF-16 with a byte order mark, or nil.
func utf16Order(head []byte) *encoding.Decoder {
	if len(head) < 2 {
		return nil
	}
	switch binary.BigEndian.Uint16(head) {
	case 0xfeff:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()
	case 0xfffe:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	}
	return nil
}

// asUTF8 returns a file as UTF-8. A file in UTF-16 is copied.
func (s Scratch) asUTF8(file content, head []byte) (content, func(), error) {
	decoder := utf16Order(head)
	if decoder == nil {
		return file, func() {}, nil
	}
	copied, remove, err := s.file()
	if err != nil {
		return file, nil, err
	}
	to := &roomy{scratch: s, file: copied}
	buffered := bufio.NewWriterSize(to, fullChunk)
	_, err = io.Copy(buffered, decoder.Reader(io.NewSectionReader(file, 0, file.size)))
	if err = errors.Join(err, buffered.Flush()); err != nil {
		remove()
		return file, nil, err
	}
	return content{ReaderAt: copied, size: to.written}, remove, nil
}

// roomy is a writer that looks at the free space from time to time.
type roomy struct {
	scratch          Scratch
	file             *os.File
	written, checked int64
}

func (w *roomy) Write(text []byte) (int, error) {
	if w.written >= w.checked {
		const step = 64 << 20
		if err := w.scratch.room(step); err != nil {
			return 0, err
		}
		w.checked = w.written + step
	}
	n, err := w.file.Write(text)
	w.written += int64(n)
	return n, space.RefuseIfFull(err)
}
