package directio

import (
	"errors"
	"os"
	"sync"
)

// minDirect is the least that is worth a direct write, which waits for the disk.
const minDirect = 64 << 10

// Writer writes to a file. Whole blocks pass by the page cache if they lie in memory as
// in the file, relative to a multiple of Block. Safe for concurrent use.
type Writer struct {
	file *os.File
	open func() (*os.File, error)

	mu        sync.Mutex // guards the fields below; held while opening only
	direct    *os.File
	isRefused bool
}

// NewWriter returns a Writer for file. It calls open at most once, to open the same file
// with Flag for writing; not before a large write.
func NewWriter(file *os.File, open func() (*os.File, error)) *Writer {
	return &Writer{file: file, open: open}
}

// WriteAt writes b at an offset. A part of a block goes through the page cache, as does
// a short write.
func (w *Writer) WriteAt(b []byte, at int64) (int, error) {
	head := min(int(-at&(Block-1)), len(b))
	end := head + (len(b)-head)&^(Block-1)
	if end-head < minDirect || !isAligned(b[head:end], at+int64(head)) {
		return w.file.WriteAt(b, at)
	}
	n, err := w.cached(b[:head], at)
	if err != nil {
		return n, err
	}
	m, err := w.writeBlocks(b[head:end], at+int64(head))
	if n += m; err != nil {
		return n, err
	}
	m, err = w.cached(b[end:], at+int64(end))
	return n + m, err
}

func (w *Writer) cached(b []byte, at int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return w.file.WriteAt(b, at)
}

// writeBlocks writes whole blocks directly, or through the page cache once that was
// refused.
func (w *Writer) writeBlocks(b []byte, at int64) (int, error) {
	direct, err := w.directFile()
	if err != nil {
		return 0, err
	}
	if direct != nil {
		n, err := direct.WriteAt(b, at)
		if !isRefused(err) {
			return n, err
		}
		w.refuse()
	}
	return w.file.WriteAt(b, at)
}

// directFile returns nil if direct writes were refused.
func (w *Writer) directFile() (*os.File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isRefused {
		return nil, nil
	}
	if w.direct != nil {
		return w.direct, nil
	}
	f, err := w.open()
	if isRefused(err) || errors.Is(err, os.ErrPermission) { // file may have been opened before it became read-only
		w.isRefused = true
		return nil, nil
	}
	w.direct = f
	return f, err
}

func (w *Writer) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isRefused = true
}

// Close closes both files. No write may be under way.
func (w *Writer) Close() error {
	err := w.file.Close()
	if w.direct != nil {
		err = errors.Join(err, w.direct.Close())
	}
	return err
}
