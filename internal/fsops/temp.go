package fsops

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempPrefix marks unfinished files and directories. A crash leaves some behind,
// and SweepTemps removes them.
const tempPrefix = ".tmp-"

// TempName returns a unique temporary name in the directory of path.
func TempName(path string) string {
	return filepath.Join(filepath.Dir(path), tempPrefix+filepath.Base(path)+"-"+rand.Text()[:10])
}

// SweepTemps removes everything in dir that has a temporary name. A missing dir is
// no error.
func SweepTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			err = errors.Join(err, RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// RemoveTree renames dir to a temporary name and removes it. A crash half-way
// therefore never leaves the final name with half of its content. A missing dir is
// no error.
func RemoveTree(dir string) error {
	if strings.HasPrefix(filepath.Base(dir), tempPrefix) {
		return RemoveAll(dir)
	}
	temp := TempName(dir)
	if err := Rename(dir, temp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return RemoveAll(temp)
}
