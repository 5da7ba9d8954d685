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

// ReadRegular returns the content of a file of at most limit bytes, and what describes the
// file. It follows links. Its errors are *fs.PathError.
func ReadRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket, or a device without hardware
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return data, info, err
}
