package export

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/manifest/refusal"
)

// chooseMethod tries the ways on the first file. Asking the kernel is the only safe way:
// under systemd, two folders of one file system may be two mounts, between which hard
// links are refused.
func (b *builder) chooseMethod() (method, error) {
	if len(b.files) == 0 {
		return hardLink, nil
	}
	first := b.files[0].Path
	from, err := b.source.Dir.Open(path.Dir(first))
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := b.work.Open(b.temp)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	probe := fsops.TempName("probe")
	err = fsops.HardLink(from, path.Base(first), to, probe)
	if err == nil {
		return hardLink, b.work.Remove(filepath.Join(b.temp, probe))
	}
	if !fsops.IsNoHardLink(err) {
		return 0, err
	}
	return b.chooseCopy(first, filepath.Join(b.temp, probe))
}

func (b *builder) chooseCopy(first, probe string) (method, error) {
	src, err := b.source.Dir.OpenRegular(first)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	dst, err := b.work.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	chosen := reflink
	if fsops.Clone(src, dst) != nil {
		chosen = fullCopy
	}
	return chosen, b.work.Remove(probe)
}

// reserve refuses a tree that does not fit.
func (b *builder) reserve(dirs int) error {
	const marks = 2 // a mark and a list
	need := space.Amount{Bytes: int64(dirs+marks) * space.BlockSize, Inodes: int64(dirs + marks)}
	for _, f := range b.files {
		need.Bytes += int64(len(f.Path)) + 150 // its line in the list
		if b.method != hardLink {
			need.Inodes++
		}
		if b.method == fullCopy {
			need = need.Plus(space.OfContent(f.Size))
		}
	}
	free, err := space.Free(b.work)
	if err != nil {
		return err
	}
	lack := space.Lacking(need, free)
	if lack == space.LacksNothing {
		return nil
	}
	left := lack.Text(free)
	left = cmp.Or(left, "none")
	return refusal.New(refusal.NoSpace, "needs %s, %s are free: make room on the disk of the export", lack.Text(need), left)
}

// isGone is true for the error of a file that is not there.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
