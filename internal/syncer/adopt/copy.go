package adopt

import (
	"context"
	"io"
	"io/fs"
	"os"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Copy makes a new file of a candidate and hashes exactly the bytes that it has. The new
// file shares the candidate's blocks where the file system can clone them; its inode is
// its own in any case, so that no write to the candidate reaches it. copied describes the
// candidate from before it was read. progress gets the bytes that were read.
func (f *Folder) Copy(ctx context.Context, c Candidate, into *fsops.Dir, name string, algorithm manifest.Algorithm, progress io.Writer) (h *verify.Hasher, copied fs.FileInfo, err error) {
	dir, from, err := f.open(c)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	defer from.Close()
	if copied, err = from.Stat(); err != nil {
		return nil, nil, err
	}
	h, err = verify.Copy{From: from, Size: c.Size, Into: into, Name: name, Algorithm: algorithm, Progress: progress}.Make(ctx)
	if err == nil {
		err = into.Chmod(name, 0o444)
	}
	return h, copied, err
}

// CanClone is true when a copy of the candidate needs no space.
func (f *Folder) CanClone(c Candidate, into *fsops.Dir, name string) bool {
	dir, from, err := f.open(c)
	if err != nil {
		return false
	}
	defer dir.Close()
	defer from.Close()
	to, err := into.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	defer into.Discard(name)
	defer to.Close()
	return fsops.Clone(from, to) == nil
}
