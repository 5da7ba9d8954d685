package directio

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// ReadAt fills b from an offset, like io.ReaderAt. Where dontCache is refused, the bytes
// stay in the page cache until Drop.
func ReadAt(f *os.File, b []byte, at int64) (n int, err error) {
	for n < len(b) {
		m, err := readUncached(f, b[n:], at+int64(n))
		if isRefused(err) {
			m, err = f.ReadAt(b[n:], at+int64(n))
		}
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Reader reads a file to its end, and leaves the page cache as it found
// it: with dontCache, or else by direct reads. Its buffers must come from Buffer. The
// file must have no other use meanwhile. Not safe for concurrent use.
type Reader struct {
	file     *os.File
	at       int64
	isDirect bool // the file was switched to direct I/O
	isCached bool // direct reads were refused
	isAtEnd  bool
}

// NewReader returns a Reader for a file that was opened for reading.
func NewReader(file *os.File) *Reader { return NewReaderAt(file, 0) }

// NewReaderAt is NewReader for the bytes from an offset on.
func NewReaderAt(file *os.File, at int64) *Reader { return &Reader{file: file, at: at} }

func (r *Reader) Read(b []byte) (int, error) {
	n, err := readUncached(r.file, b, r.at)
	if isRefused(err) {
		n, err = r.readDirect(b)
	}
	r.at += int64(n)
	return n, err
}

// readDirect makes one direct read, or a cached one where these are refused. Direct I/O
// reads a part of a block only at the end of a file.
func (r *Reader) readDirect(b []byte) (int, error) {
	if r.isAtEnd {
		return 0, io.EOF
	}
	if !r.isDirect && !r.isCached {
		r.isDirect = r.setDirect(true) == nil
		r.isCached = !r.isDirect
	}
	n, err := readAt(r.file, b, r.at)
	switch {
	case r.isDirect && isRefused(err):
		r.isDirect, r.isCached = false, true
		if err := r.setDirect(false); err != nil {
			return 0, err
		}
		return r.readDirect(b)
	case errors.Is(err, syscall.EINTR):
		return r.readDirect(b)
	case err != nil:
		return 0, &os.PathError{Op: "read", Path: r.file.Name(), Err: err}
	case n == 0:
		return 0, io.EOF
	}
	r.isAtEnd = r.isDirect && n%Block != 0
	return n, nil
}
