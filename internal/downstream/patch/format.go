package patch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"syncd/internal/manifest"
)

const (
	magic      = "syncd-patch/v1\n"
	headerSize = len(magic) + 4 + 8 + 8 + 2*len(manifest.ObjectID{})
	entrySize  = 4

	segmentSize    = 2 << 20
	minSegmentSize = 1 << 20
	maxSegmentSize = 4 << 20
	maxRegion      = 4 << 20
	maxExtents     = 128
	maxWindow      = 8 << 20 // of a frame
	// maxOverhead is how much a body may be larger than its segment: extents, and the
	// headers of a frame that holds incompressible bytes.
	maxOverhead = 64 << 10
	// maxSize of a content: positions in the index have 40 bits.
	maxSize = 1 << 40
)

// ErrInvalid is returned for a patch that is damaged, or made for other contents. The whole
// content must be fetched instead.
var ErrInvalid = errors.New("the patch is not valid")

// Identity names a content. Its digest is believed by nobody but the maker.
type Identity struct {
	Size   int64
	Digest manifest.ObjectID
}

// Patch is the beginning of a patch: which contents it belongs to, and where each of its
// segments lies.
type Patch struct {
	Old, New    Identity
	SegmentSize int64

	bodies []uint32 // size of each segment's body
}

// Open reads the beginning of a patch between two known contents. Memory depends on the
// size of the new one: 4 bytes a MiB at most.
func Open(from io.Reader, before, after Identity) (*Patch, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, readError(err)
	}
	rest, found := bytes.CutPrefix(header, []byte(magic))
	if !found {
		return nil, fmt.Errorf("%w: unknown form", ErrInvalid)
	}
	p := &Patch{SegmentSize: int64(binary.LittleEndian.Uint32(rest)), Old: before, New: after}
	if p.SegmentSize < minSegmentSize || p.SegmentSize > maxSegmentSize {
		return nil, fmt.Errorf("%w: segments of %d bytes", ErrInvalid, p.SegmentSize)
	}
	if before.Size > maxSize || after.Size > maxSize || !bytes.Equal(p.header(), header) {
		return nil, fmt.Errorf("%w: it belongs to other contents", ErrInvalid)
	}
	table := make([]byte, entrySize*p.Segments())
	if _, err := io.ReadFull(from, table); err != nil {
		return nil, readError(err)
	}
	p.bodies = make([]uint32, p.Segments())
	for i := range p.bodies {
		p.bodies[i] = binary.LittleEndian.Uint32(table[entrySize*i:])
		if size := p.bodies[i]; int64(size) > p.length(i)+maxOverhead {
			return nil, fmt.Errorf("%w: segment %d has %d bytes", ErrInvalid, i, size)
		}
	}
	return p, nil
}

// MaxBegin is the most bytes that Open reads of a patch to a content of a size.
func MaxBegin(size int64) int64 {
	return int64(headerSize) + entrySize*((size+minSegmentSize-1)/minSegmentSize)
}

// readError tells the end of a patch from a reader that failed.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut", ErrInvalid)
	}
	return fmt.Errorf("read a patch: %w", err)
}

func (p *Patch) header() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(p.SegmentSize))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.Old.Size))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.New.Size))
	return append(append(b, p.Old.Digest[:]...), p.New.Digest[:]...)
}

// table is the header, and the sizes of the bodies.
func (p *Patch) table() []byte {
	b := p.header()
	for _, size := range p.bodies {
		b = binary.LittleEndian.AppendUint32(b, size)
	}
	return b
}

// Segments counts the segments.
func (p *Patch) Segments() int { return int((p.New.Size + p.SegmentSize - 1) / p.SegmentSize) }

// length is how many bytes of the new content a segment makes.
func (p *Patch) length(segment int) int64 {
	return min(p.SegmentSize, p.New.Size-int64(segment)*p.SegmentSize)
}

// Offset is where the body of a segment begins in the patch. Offset(Segments()) is the size
// of the patch.
func (p *Patch) Offset(segment int) int64 {
	offset := int64(headerSize + entrySize*p.Segments())
	for _, size := range p.bodies[:segment] {
		offset += int64(size)
	}
	return offset
}

// Size is the size of the patch.
func (p *Patch) Size() int64 { return p.Offset(p.Segments()) }

// Complete says how many segments the first bytes of the new content hold. To go on with a
// result that was cut, truncate it to Complete times SegmentSize, or leave it if that is more.
func (p *Patch) Complete(bytes int64) int {
	if bytes >= p.New.Size {
		return p.Segments()
	}
	return int(max(bytes, 0) / p.SegmentSize)
}

// extent is a part of the old content.
type extent struct{ offset, length int64 }

// appendExtents begins a body.
func appendExtents(body []byte, extents []extent) []byte {
	body = binary.AppendUvarint(body, uint64(len(extents)))
	for _, e := range extents {
		body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(e.offset)), uint64(e.length))
	}
	return body
}

// parseExtents returns the extents of a body, and its frame.
func parseExtents(body []byte, before int64) (extents []extent, frame []byte, err error) {
	wrong := fmt.Errorf("%w: its extents make no sense", ErrInvalid)
	next := func() (n int64, sane bool) {
		u, size := binary.Uvarint(body)
		if size <= 0 || u > maxSize {
			return 0, false
		}
		body = body[size:]
		return int64(u), true
	}
	count, sane := next()
	if !sane || count > maxExtents {
		return nil, nil, wrong
	}
	region := int64(0)
	for range count {
		offset, sane := next()
		length, alsoSane := next()
		if !sane || !alsoSane || length == 0 || offset+length > before {
			return nil, nil, wrong
		}
		if region += length; region > maxRegion {
			return nil, nil, wrong
		}
		extents = append(extents, extent{offset, length})
	}
	return extents, body, nil
}

// readRegion reads extents of the old content, one after the other, into a buffer.
func readRegion(from io.ReaderAt, extents []extent, buffer []byte) ([]byte, error) {
	buffer = buffer[:0]
	for _, e := range extents {
		begin := len(buffer)
		buffer = grow(buffer, begin+int(e.length))
		if err := readAt(from, buffer[begin:], e.offset); err != nil {
			return nil, fmt.Errorf("read the old content: %w", err)
		}
	}
	return buffer, nil
}

// readAt fills a buffer. A content that is shorter than it was said to be is an error.
func readAt(from io.ReaderAt, buffer []byte, offset int64) error {
	n, err := from.ReadAt(buffer, offset)
	switch {
	case n == len(buffer):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// grow returns a buffer of a size, with what it held.
func grow(buffer []byte, size int) []byte {
	if size <= cap(buffer) {
		return buffer[:size]
	}
	return append(buffer, make([]byte, size-len(buffer))...)
}
