package adopt

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Copy makes a new file of a candidate and hashes exactly the bytes that it has. The new
// file shares the candidate's blocks where the file system can clone them; its inode is
// its own in any case, so that no write to the candidate reaches it.
func (f *Folder) Copy(ctx context.Context, c Candidate, into *fsops.Dir, name string, algorithm manifest.Algorithm) (*verify.Hasher, error) {
	from, err := f.dir.OpenRegular(c.Path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := into.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	h, err := verify.Copy(ctx, from, to, c.Size, algorithm)
	if err == nil {
		err = fsops.Fchmod(to, 0o444)
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
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil
}
