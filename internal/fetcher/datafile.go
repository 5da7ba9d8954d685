package fetcher

import (
	"fmt"
	"os"
	"sync/atomic"

	"syncd/internal/durable"
	"syncd/internal/fsops"
)

// writeBackEvery is the number of bytes after which the kernel starts to write them
// to the disk. Otherwise the fsync at the end would wait for the whole file.
const writeBackEvery = 8 << 20

// dataFile holds the bytes of a partial file. It remembers whether the disk failed:
// bytes that the disk refused can still be read from the page cache, and a second
// fsync can report success for them, so such a file must not be used again.
// Safe for concurrent use.
type dataFile struct {
	file      *os.File
	hasFailed atomic.Bool
}

// track returns err, and remembers that the disk failed if it is not nil.
func (f *dataFile) track(err error) error {
	if err != nil {
		f.hasFailed.Store(true)
	}
	return err
}

// writeAt writes b at an offset, and starts the write-back of each full part of
// writeBackEvery bytes. It can block on a busy disk.
func (f *dataFile) writeAt(b []byte, at int64) error {
	if _, err := f.file.WriteAt(b, at); err != nil {
		return f.track(err)
	}
	to := at + int64(len(b))
	if end := to / writeBackEvery * writeBackEvery; end > at {
		fsops.StartWriteBack(f.file, end-writeBackEvery, writeBackEvery)
	}
	return nil
}

// readAt fills b from an offset.
func (f *dataFile) readAt(b []byte, at int64) error {
	if _, err := f.file.ReadAt(b, at); err != nil {
		return f.track(fmt.Errorf("read back an unfinished download: %w", err))
	}
	return nil
}

// truncate cuts the file off at a size.
func (f *dataFile) truncate(size int64) error { return f.track(fsops.Truncate(f.file, size)) }

func (f *dataFile) makeReadOnly() error { return f.track(fsops.Fchmod(f.file, finalPerm)) }

// sync makes the bytes durable.
func (f *dataFile) sync() error { return f.track(durable.SyncFile(f.file)) }
