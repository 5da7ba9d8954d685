package cli

import (
	"io"
	"io/fs"
	"path/filepath"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// ReplaceFile writes a file as a whole or not at all. It replaces no device, such as
// /dev/null, and no symlink.
func ReplaceFile(name string, perm fs.FileMode, write func(io.Writer) error) error {
	dir, err := fsops.OpenDir(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := dir.Lstat(filepath.Base(name)); err == nil && !info.Mode().IsRegular() {
		return Usagef("%s is not a regular file: name another one", name)
	}
	return new(durable.Disk).ReplaceFile(dir, filepath.Base(name), perm, write)
}
