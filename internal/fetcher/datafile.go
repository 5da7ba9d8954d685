package fetcher

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// writeBackEvery is the number of bytes after which the kernel starts to write them
// to the disk. Otherwise the fsync at the end would wait for the whole file.
const writeBackEvery = 8 << 20

// dataFile holds the bytes of a partial file. It remembers whether the disk failed:
// bytes that the disk refused can still be read from the page cache, and a second
// fsync can report success for them, so such a file must not be used again.
// Safe for concurrent use.
type dataFile struct {
	created   *fsops.NewFile   // a new file that stays in the page cache; nil for another one
	file      *os.File         // nil if created is not, see open
	past      *directio.Writer // past the page cache; nil to keep the file in it
	hasFailed atomic.Bool
}

func (p *partial) newDataFile(file *os.File) *dataFile {
	f := &dataFile{file: file}
	if !p.keepCache {
		f.past = directio.NewWriter(file, func() (*os.File, error) { return p.dir.OpenToWrite(p.name, directio.Flag) })
	}
	return f
}

// open returns the file for what a new one seldom needs.
func (f *dataFile) open() *os.File {
	if f.created != nil {
		return f.created.OS()
	}
	return f.file
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
	if err := f.track(f.write(b, at)); err != nil {
		return err
	}
	to := at + int64(len(b))
	if end := to / writeBackEvery * writeBackEvery; end > at {
		fsops.StartWriteBack(f.open(), end-writeBackEvery, writeBackEvery)
		if before := end - 2*writeBackEvery; f.past != nil && before >= 0 {
			directio.Drop(f.file, before, writeBackEvery) // mostly on the disk by now
		}
	}
	return nil
}

// maxCachedWrite bounds a write to the page cache. The kernel takes larger pieces of
// memory for a larger one, which was twice as slow where these were not in use before.
const maxCachedWrite = 256 << 10

func (f *dataFile) write(b []byte, at int64) error {
	if f.past != nil {
		_, err := f.past.WriteAt(b, at)
		return err
	}
	to := io.WriterAt(f.file)
	if f.created != nil {
		to = f.created
	}
	for part := range slices.Chunk(b, maxCachedWrite) {
		if _, err := to.WriteAt(part, at); err != nil {
			return err
		}
		at += int64(len(part))
	}
	return nil
}

// ReadAt fills b from an offset.
func (f *dataFile) ReadAt(b []byte, at int64) (n int, err error) {
	if f.past != nil {
		n, err = directio.ReadAt(f.file, b, at)
	} else {
		n, err = f.open().ReadAt(b, at)
	}
	if err != nil {
		err = f.track(fmt.Errorf("read back an unfinished download: %w", err))
	}
	return n, err
}

// truncate cuts the file off at a size.
func (f *dataFile) truncate(size int64) error { return f.track(fsops.Truncate(f.open(), size)) }

func (f *dataFile) makeReadOnly() error {
	if f.created != nil && f.created.HasPerm(finalPerm) {
		return nil
	}
	return f.track(fsops.Fchmod(f.open(), finalPerm))
}

// sync makes the bytes durable.
func (f *dataFile) sync() error {
	err := f.track(durable.SyncFile(f.open()))
	f.drop()
	return err
}

// drop removes the file from the page cache, unless it is to stay there.
func (f *dataFile) drop() {
	if f.past != nil {
		directio.Drop(f.file, 0, 0)
	}
}

func (f *dataFile) close() {
	if f.past != nil {
		f.past.Close()
		return
	}
	if f.created != nil {
		f.created.Close()
		return
	}
	f.file.Close()
}
