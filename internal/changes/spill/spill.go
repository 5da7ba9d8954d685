package spill

import (
	"os"
	"runtime"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
)

// Folder is where records go that do not fit into memory. A file in it loses its name at
// once where the system can do that, so that a crash leaves nothing.
type Folder struct {
	Dir *fsops.Dir // exists; nil for the system's folder of temporary files
}

// OrTemporary returns the folder if this user can make files in it, and the one of
// temporary files otherwise.
func (s Folder) OrTemporary() Folder {
	_, remove, err := s.File()
	if err != nil {
		return Folder{}
	}
	remove()
	return s
}

// keepFree is how much of the volume a comparison never takes.
const keepFree = 256 << 20

// spillName begins the names of scratch files.
const spillName = "rows"

// File makes a scratch file. The function that comes with it removes it.
func (s Folder) File() (*os.File, func(), error) {
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
func (s Folder) room(n int64) error {
	if s.Dir == nil {
		return nil
	}
	free, err := space.Free(s.Dir)
	if err != nil {
		return err
	}
	if need := space.OfContent(n).Plus(space.Amount{Bytes: keepFree}); !space.Fits(need, free) {
		return space.Refuse(need, free, "; comparing rows needs it for a short time")
	}
	return nil
}

// Records is a scratch file of records of one size in partitions. Each partition is a chain
// of blocks. Not safe for concurrent use.
type Records struct {
	folder  Folder
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

// Partitions is how many partitions data of a size gets, so that a table of one partition
// is small enough for the caches of a processor.
func Partitions(size int64) int {
	n := 16
	for n < 2048 && int64(n)*(4<<20) < size {
		n *= 2
	}
	return n
}

// New returns a file of records of some bytes each. It takes no space before the first block
// is full.
func New(folder Folder, record, parts int) *Records {
	return &Records{folder: folder, record: record, parts: make([]partition, parts), block: make([]byte, 0, spillBlock)}
}

// Add appends one record to a partition.
func (s *Records) Add(part int, record []byte) error {
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

func (s *Records) flush(p *partition) (err error) {
	if s.file == nil {
		if s.file, s.remove, err = s.folder.File(); err != nil {
			return err
		}
	}
	if s.written >= s.checked {
		const step = 64 << 20
		if err := s.folder.room(step); err != nil {
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

// Parts is how many partitions there are.
func (s *Records) Parts() int { return len(s.parts) }

// Len is how many records a partition has.
func (s *Records) Len(part int) int64 { return s.parts[part].size / int64(s.record) }

// Each visits the records of a partition in the order in which they came.
func (s *Records) Each(part int, visit func(record []byte)) error {
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

// Close gives the space back.
func (s *Records) Close() {
	if s != nil && s.file != nil {
		s.remove()
	}
}

// Writer writes a file of a folder, and looks at the free space from time to time.
type Writer struct {
	Folder  Folder
	To      *os.File
	Written int64 // bytes

	checked int64
}

// Write writes to the file. The error is a refusal when the volume would become full.
func (w *Writer) Write(text []byte) (int, error) {
	if w.Written >= w.checked {
		const step = 64 << 20
		if err := w.Folder.room(step); err != nil {
			return 0, err
		}
		w.checked = w.Written + step
	}
	n, err := w.To.Write(text)
	w.Written += int64(n)
	return n, space.RefuseIfFull(err)
}
