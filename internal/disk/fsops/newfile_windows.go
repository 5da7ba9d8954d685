package fsops

import (
	"io/fs"
	"os"
)

// NewFile is a new file.
type NewFile struct{ file *os.File }

// Create creates a file that does not exist, as a step.
func Create(d *Dir, name string, perm fs.FileMode) (*NewFile, error) {
	file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	return &NewFile{file}, nil
}

// WriteAt writes all of b at an offset.
func (f *NewFile) WriteAt(b []byte, at int64) (int, error) { return f.file.WriteAt(b, at) }

// HasPerm is true if the file has these permissions.
func (f *NewFile) HasPerm(perm fs.FileMode) bool { return hasPerm(f.file, perm) }

// OS returns the file, which Close closes.
func (f *NewFile) OS() *os.File { return f.file }

// Close closes the file.
func (f *NewFile) Close() { f.file.Close() }
