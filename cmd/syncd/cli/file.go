package cli

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// ReplaceFile writes a file as a whole or not at all. It replaces no device, such as
// /dev/null, and no symlink.
func ReplaceFile(name string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := OpenFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Replace("", perm, write)
}

// File is the name of a file in a folder that was opened once, for a command that reads the
// file and then changes it, or others beside it. A user who can write above the folder could give
// its name to another one meanwhile. The others are named by what their name has at the end,
// "" for the file itself.
type File struct {
	dir  *fsops.Dir
	name string // as given
}

// OpenFile opens the folder of a file, which may be missing.
func OpenFile(name string) (*File, error) {
	dir, err := fsops.OpenDir(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	return &File{dir, name}, nil
}

// Close closes the folder.
func (f *File) Close() { _ = f.dir.Close() } // changes in it are durable

// Read returns the content and the permissions of a regular file, which is no link.
func (f *File) Read(suffix string, limit int64) ([]byte, fs.FileMode, error) {
	if err := f.check(suffix); err != nil {
		return nil, 0, err
	}
	data, info, err := f.dir.ReadRegular(filepath.Base(f.name)+suffix, limit)
	if err != nil {
		return nil, 0, err
	}
	return data, info.Mode().Perm(), nil
}

// Replace writes a file as a whole or not at all.
func (f *File) Replace(suffix string, perm fs.FileMode, write func(io.Writer) error) error {
	if err := f.check(suffix); err != nil {
		return err
	}
	return new(durable.Disk).ReplaceFile(f.dir, filepath.Base(f.name)+suffix, perm, write)
}

// Create is Replace for a file that must not exist.
func (f *File) Create(perm fs.FileMode, write func(io.Writer) error) error {
	err := new(durable.Disk).NewFile(f.dir, filepath.Base(f.name), perm, write)
	if errors.Is(err, fs.ErrExist) {
		return Usagef("%s exists already: name a new file, or remove it first", f.name)
	}
	return err
}

// Remove removes a file. A missing one is no error.
func (f *File) Remove(suffix string) error {
	if err := f.dir.Remove(filepath.Base(f.name) + suffix); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// check refuses what is there and is no regular file.
func (f *File) check(suffix string) error {
	if info, err := f.dir.Lstat(filepath.Base(f.name) + suffix); err == nil && !info.Mode().IsRegular() {
		return Usagef("%s is not a regular file: name another one", f.name+suffix)
	}
	return nil
}
