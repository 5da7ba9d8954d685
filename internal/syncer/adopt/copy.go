package adopt

import (
	"context"
	"io"
	"os"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Copy makes a new file of a candidate and hashes exactly the bytes that it has. The new
// file shares the candidate's blocks where the file system can clone them; its inode is
// its own in any case, so that no write to the candidate reaches it. progress gets the
// bytes that were read.
func (f *Folder) Copy(ctx context.Context, c Candidate, into *fsops.Dir, name string, algorithm manifest.Algorithm, progress io.Writer) (*verify.Hasher, error) {
	from, err := f.dir.OpenRegular(c.Path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	h, err := verify.Copy{From: from, Size: c.Size, Into: into, Name: name, Algorithm: algorithm, Progress: progress}.Make(ctx)
	if err == nil {
		err = into.Chmod(name, 0o444)
	}
	return h, err
}

// CanClone is true when a copy of the candidate needs no space.
func (f *Folder) CanClone(c Candidate, into *fsops.Dir, name string) bool {
	from, err := f.dir.OpenRegular(c.Path)
	if err != nil {
		return false
	}
	defer from.Close()
	to, err := into.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	defer into.Discard(name)
	defer to.Close()
	return fsops.Clone(from, to) == nil
}
