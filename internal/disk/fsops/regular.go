package fsops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is the cause of the error for a FIFO, a directory, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is the cause of the error for a file above the limit.
var ErrTooLarge = errors.New("file too large")

// OpenRegular opens a file for reading, and describes what it has opened. It follows links,
// and waits for no FIFO. Its errors are *fs.PathError.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket, or a device without hardware
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadRegular returns the content of a file of at most limit bytes, and what describes the
// file. It follows links. Its errors are *fs.PathError.
func ReadRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := ReadUpTo(f, limit)
	return data, info, err
}

// ReadRegular returns the content of a file in d, as the function of that name does. It
// follows no link.
func (d *Dir) ReadRegular(name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := d.OpenRegular(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := ReadUpTo(f, limit)
	return data, info, err
}

// ReadUpTo returns what is left of a file, of at most limit bytes.
func ReadUpTo(f *os.File, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: ErrTooLarge}
	}
	return data, err
}
