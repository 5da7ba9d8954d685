//go:build linux

package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// written are the files that a setup has made, in order. Each folder is opened once: a user
// who can write above it can give its name to another folder, whose files must stay.
type written struct {
	disk  durable.Disk
	dirs  map[string]*fsops.Dir // by path
	paths []string
}

// dir opens the folder of a file, or returns it.
func (f *written) dir(path string) (*fsops.Dir, error) {
	folder := filepath.Dir(path)
	if dir, isOpen := f.dirs[folder]; isOpen {
		return dir, nil
	}
	dir, err := fsops.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	if f.dirs == nil {
		f.dirs = map[string]*fsops.Dir{}
	}
	f.dirs[folder] = dir
	return dir, nil
}

// addID writes the Customer ID. A file that holds the same one already stays as it is.
func (f *written) addID(path string, id config.Secret) error {
	data, _, err := fsops.ReadRegular(path, 1<<10)
	switch {
	case err == nil && strings.TrimSpace(string(data)) == id.Reveal():
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return f.add(path, 0o600, id.Reveal()+"\n")
	case err != nil:
		return cli.Usagef("%w: the Customer ID belongs there: move it away, or name another configuration with --config", err)
	}
	return cli.Usagef("%s holds another Customer ID, and setup never changes a file: move it away, or give that one", path)
}

// add makes a file whole and durable under a name that must not exist.
func (f *written) add(path string, perm fs.FileMode, text string) error {
	dir, err := f.dir(path)
	if err != nil {
		return err
	}
	err = f.disk.NewFile(dir, filepath.Base(path), perm, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return cli.Usagef("%s exists by now, and setup never changes a file", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f.paths = append(f.paths, path)
	return nil
}

// remove takes the files back, the newest first.
func (f *written) remove() (failed error) {
	for _, path := range slices.Backward(f.paths) {
		dir, err := f.dir(path)
		if err == nil {
			err = errors.Join(dir.Remove(filepath.Base(path)), f.disk.SyncDir(dir, "."))
		}
		failed = errors.Join(failed, err)
	}
	f.paths = nil
	return failed
}

// close keeps the files.
func (f *written) close() {
	for _, dir := range f.dirs {
		_ = dir.Close() // what was made in it is durable
	}
	f.dirs = nil
}
