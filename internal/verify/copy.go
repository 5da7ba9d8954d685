package verify

import (
	"context"
	"errors"
	"io"
	"os"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// Copy makes a new file with the content of an open one.
type Copy struct {
	From      *os.File
	Size      int64 // of From
	Into      *fsops.Dir
	Name      string // of the new file, which only this user may read
	Algorithm manifest.Algorithm
	Progress  io.Writer // gets the bytes that were read; nil for none
}

// Make copies and hashes exactly the bytes that the new file has. The two share blocks
// where the file system can clone them. It reads each byte once, and a block more than
// Size at most, so that a file that grows has another hash. The page cache stays as it was.
func (c Copy) Make(ctx context.Context) (h *Hasher, err error) {
	to, err := c.Into.OpenFile(c.Name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if fsops.Clone(c.From, to) == nil {
		defer to.Close()
		return Reader(ctx, c.limit(to), c.Algorithm)
	}
	w := directio.NewWriter(to, func() (*os.File, error) { return c.Into.OpenToWrite(c.Name, directio.Flag) })
	defer func() { err = errors.Join(err, w.Close()) }()
	return Reader(ctx, io.TeeReader(c.limit(c.From), io.NewOffsetWriter(w, 0)), c.Algorithm)
}

// limit reads whole blocks, as direct reads must.
func (c Copy) limit(f *os.File) io.Reader {
	r := io.LimitReader(directio.NewReader(f), c.Size/directio.Block*directio.Block+directio.Block)
	if c.Progress == nil {
		return r
	}
	return io.TeeReader(r, c.Progress)
}
