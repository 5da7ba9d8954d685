package durable

import (
	"bufio"
	"io"
	"io/fs"
	"os"
)

// WriteStream is WriteFile for content that write makes piece by piece, so that it
// is never in memory as a whole.
func (d *Disk) WriteStream(path string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	err = step("write", path, func() error {
		buffer := bufio.NewWriterSize(f, 64<<10)
		if err := write(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	})
	if err != nil {
		return err
	}
	return finish(f, perm)
}
