package changes

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// MaxRow is the longest row whose columns are looked at. A longer one is compared as a
// whole, without keeping it in memory.
const MaxRow = 4 << 20

// content is one file, or nothing.
type content struct {
	io.ReaderAt
	size int64
}

// row is one row of a file. Its text is valid until the reader's next step.
type row struct {
	offset int64
	text   []byte    // without the line end
	raw    bool      // the text is no row of its format: it compares byte by byte
	long   *[32]byte // the digest of a row above MaxRow, whose text is only its beginning
}

// reader splits a file into rows.
type reader struct {
	file   content
	format format
	hasher hash.Hash // of long rows; made when it is needed

	buf   []byte
	base  int64 // offset of buf in the file
	at    int   // where the next row begins in buf
	chunk int   // bytes of the next read

	begun  bool // the bracket of an array is behind
	closed bool // so is its last one: lines follow
	row    row
}

// The sizes of reads: the first one after a jump is small.
const (
	firstChunk = 16 << 10
	fullChunk  = 256 << 10
)

func newReader(file content, f format) *reader {
	return &reader{file: file, format: f, chunk: firstChunk}
}

// offset is where the next row begins, or white space before it.
func (r *reader) offset() int64 { return r.base + int64(r.at) }

// seek goes to a row that next has returned before.
func (r *reader) seek(offset int64) {
	r.begun, r.closed = true, false
	if offset >= r.base && offset <= r.base+int64(len(r.buf)) {
		r.at = int(offset - r.base)
		return
	}
	r.buf, r.base, r.at, r.chunk = r.buf[:0], offset, 0, firstChunk
}

// fill reads on. It is false at the end of the file.
func (r *reader) fill() (bool, error) {
	next := r.base + int64(len(r.buf))
	if r.file.ReaderAt == nil || next >= r.file.size {
		return false, nil
	}
	if r.at > 0 {
		n := copy(r.buf, r.buf[r.at:])
		r.buf, r.base, r.at = r.buf[:n], r.base+int64(r.at), 0
	}
	n := int(min(int64(r.chunk), r.file.size-next))
	r.chunk = min(r.chunk*2, max(fullChunk, min(len(r.buf), MaxRow)))
	if need := len(r.buf) + n; need > cap(r.buf) {
		larger := make([]byte, len(r.buf), max(need, int(min(int64(2*cap(r.buf)+2*fullChunk), r.file.size))))
		copy(larger, r.buf)
		r.buf = larger
	}
	n, err := io.ReadFull(io.NewSectionReader(r.file, next, int64(n)), r.buf[len(r.buf):len(r.buf)+n])
	r.buf = r.buf[:len(r.buf)+n]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.file.size = next + int64(n) // somebody cut the file while it was read
		err = nil
	}
	return n > 0, err
}

// has makes n bytes of the next row readable. It is false when the file has fewer.
func (r *reader) has(n int) (bool, error) {
	for len(r.buf)-r.at < n {
		if more, err := r.fill(); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// next returns the next row, or nil at the end. Empty lines are no rows.
func (r *reader) next() (*row, error) {
	if r.offset() == 0 {
		if ok, err := r.has(len(bom)); err != nil {
			return nil, err
		} else if ok && bytes.HasPrefix(r.buf[r.at:], bom) {
			r.at += len(bom)
		}
	}
	if r.format.form == jsonArray && !r.closed {
		if found, err := r.element(); found || err != nil {
			return r.found(), err
		}
		if !r.closed {
			return nil, nil
		}
	}
	for {
		if ok, err := r.has(1); !ok {
			return nil, err
		}
		n := 0
		for rest := r.buf[r.at:]; n < len(rest) && (rest[n] == '\n' || rest[n] == '\r'); {
			n++
		}
		if r.at += n; r.at < len(r.buf) {
			break
		}
	}
	if err := r.line(); err != nil {
		return nil, err
	}
	return r.found(), nil
}

func (r *reader) found() *row { return &r.row }

// line reads a row that ends at a line end.
func (r *reader) line() error {
	end, err := r.lineEnd(0)
	if err != nil {
		return err
	}
	if end < 0 {
		return r.longRow()
	}
	r.row = row{offset: r.offset()}
	if r.format.form == delimited && bytes.IndexByte(r.buf[r.at:r.at+end], '"') >= 0 {
		whole, err := r.quotedEnd()
		if err != nil {
			return err
		}
		if whole >= 0 {
			end = whole
		} else {
			r.row.raw = true
			if end, err = r.lineEnd(0); err != nil {
				return err
			}
		}
	}
	r.row.text = bytes.TrimSuffix(r.buf[r.at:r.at+end], []byte{'\r'})
	r.row.raw = r.row.raw || r.closed
	r.at += end
	return nil
}

// lineEnd returns the distance of the next line end, or of the end of the file, or -1 if
// it is further than MaxRow. from bytes are known to have none.
func (r *reader) lineEnd(from int) (int, error) {
	for {
		text := r.buf[r.at:]
		if i := bytes.IndexByte(text[from:], r.format.eol); i >= 0 {
			return from + i, nil
		}
		if from = len(text); from > MaxRow {
			return -1, nil
		}
		if more, err := r.fill(); err != nil {
			return 0, err
		} else if !more {
			return len(r.buf) - r.at, nil
		}
	}
}

// quotedEnd returns the length of a row with quoted fields, or -1 when a quote is not
// closed within MaxRow.
func (r *reader) quotedEnd() (int, error) {
	for i := 0; ; { // at the start of a field
		c, ok, err := r.byteAt(i)
		if err != nil || !ok {
			return i, err
		}
		if c == '"' {
			if i, err = r.closingQuote(i + 1); i < 0 || err != nil {
				return -1, err
			}
		}
		for {
			c, ok, err = r.byteAt(i)
			if err != nil || !ok || c == r.format.eol {
				return i, err
			}
			i++
			if c == r.format.delimiter {
				break
			}
			rest := r.buf[r.at+i:]
			if n := bytes.IndexByte(rest, r.format.delimiter); n >= 0 {
				rest = rest[:n]
			}
			if n := bytes.IndexByte(rest, r.format.eol); n >= 0 {
				rest = rest[:n]
			}
			i += len(rest)
		}
		if i > MaxRow {
			return -1, nil
		}
	}
}

// closingQuote returns the place after the quote that closes a field, or -1.
func (r *reader) closingQuote(i int) (int, error) {
	for {
		n := bytes.IndexByte(r.buf[min(r.at+i, len(r.buf)):], '"')
		if n < 0 {
			i = max(len(r.buf)-r.at, i)
			if i > MaxRow {
				return -1, nil
			}
			if more, err := r.fill(); !more || err != nil {
				return -1, err
			}
			continue
		}
		i += n + 1
		c, ok, err := r.byteAt(i)
		if err != nil {
			return -1, err
		}
		if !ok || c != '"' {
			return i, nil
		}
		i++
	}
}

// byteAt returns a byte of the row. ok is false at the end of the file.
func (r *reader) byteAt(i int) (c byte, ok bool, err error) {
	if r.at+i >= len(r.buf) {
		if ok, err := r.has(i + 1); !ok {
			return 0, false, err
		}
	}
	return r.buf[r.at+i], true, nil
}

// longRow hashes a row above MaxRow up to its line end.
func (r *reader) longRow() error {
	if r.hasher == nil {
		r.hasher = sha256.New()
	}
	r.hasher.Reset()
	start := r.offset()
	head := bytes.Clone(r.buf[r.at : r.at+firstChunk])
	var last []byte // a carriage return may belong to the line end
	for {
		text := r.buf[r.at:]
		i := bytes.IndexByte(text, r.format.eol)
		if i >= 0 {
			text = text[:i]
		}
		if len(text) > 0 {
			r.hasher.Write(last)
			last = append(last[:0], text[len(text)-1])
			r.hasher.Write(text[:len(text)-1])
		}
		r.at += len(text)
		if i >= 0 {
			break
		}
		if more, err := r.fill(); err != nil {
			return err
		} else if !more {
			break
		}
	}
	if len(last) > 0 && last[0] != '\r' {
		r.hasher.Write(last)
	}
	r.row = row{offset: start, text: head, raw: true, long: (*[32]byte)(r.hasher.Sum(nil))}
	return nil
}

// element reads the next element of an array. It is false at the end of the file, and, with
// closed, at the end of the array and at text that is no value.
func (r *reader) element() (bool, error) {
	for {
		c, ok, err := r.byteAt(0)
		if !ok || err != nil {
			return false, err
		}
		isStart := c == '[' && !r.begun
		r.begun = r.begun || isStart
		if c == ']' {
			r.at++
			r.closed = true
			return false, nil
		}
		if !isStart && bytes.IndexByte([]byte(", \t\r\n"), c) < 0 {
			break
		}
		r.at++
	}
	var s valueScanner
	for n := 0; ; {
		more, complete := s.scan(r.buf[r.at+n:])
		n += more
		if complete && n > 0 {
			r.row = row{offset: r.offset(), text: r.buf[r.at : r.at+n]}
			r.at += n
			return true, nil
		}
		filled := false
		if n <= MaxRow {
			var err error
			if filled, err = r.fill(); err != nil {
				return false, err
			}
		}
		if !filled || complete {
			r.closed = true // cut off, too long, or no JSON: the rest is lines
			return false, nil
		}
	}
}
