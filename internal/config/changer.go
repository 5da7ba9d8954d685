package config

import (
	"errors"
	"fmt"
	"io/fs"

	"syncd/internal/config/document"
	"syncd/internal/disk/fsops"
)

// Changer is a user, neither root nor the one of this process, who can change the
// configuration file. Files with secrets that it names are read with that user's permissions:
// otherwise root would send its own secrets to where that user wants. The zero value is
// nobody.
type Changer struct {
	Name string
	UID  int
	Do   func(work func() error) error // with the permissions of the user

	// WasRoot is true in a process of root that has become the user: it still has open what root
	// had.
	WasRoot bool

	// MayRead decides about an opened file in a process that may not become the user, such as
	// root without capabilities. nil in others.
	MayRead func(path string, opened fs.FileInfo) bool
}

// IsAnother is true unless only root and the user of this process can change the file.
func (c Changer) IsAnother() bool { return c.Do != nil }

// Run runs work with the permissions of the user, or of this process for nobody.
func (c Changer) Run(work func() error) error {
	if c.Do == nil {
		return work()
	}
	return c.Do(work)
}

// Read reads a file that the configuration names.
func (c Changer) Read(path string, limit int64) (data []byte, err error) {
	if !c.IsAnother() && !c.WasRoot {
		data, _, err = fsops.ReadRegular(path, limit)
		return data, err
	}
	read := func() (err error) {
		data, err = c.read(path, limit)
		return err
	}
	if c.MayRead != nil {
		err = read()
	} else {
		err = c.Run(read)
	}
	return data, err
}

// read reads a file that the user can reach where it lies. A path in /proc leads to what root
// has open, such as root's working directory, past folders that the user may not enter, and
// where a path leads can change once it was opened.
func (c Changer) read(path string, limit int64) ([]byte, error) {
	f, info, err := fsops.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	place, err := fsops.Reach(f)
	if err != nil {
		return nil, err
	}
	if c.MayRead != nil && !c.MayRead(place, info) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return fsops.ReadUpTo(f, limit)
}

// unreadable returns the problem of a file that Read could not read.
func (c Changer) unreadable(at document.Place, file string, err error) *document.Error {
	problem := at.Unreadable(file, "the file", err)
	if c.IsAnother() && errors.Is(err, fs.ErrPermission) {
		problem.Problem = fmt.Sprintf("user %s can change this configuration and cannot read the file, so root does not read it either", c.Name)
		problem.Suggestion = "run syncd as that user, or run `chown root` on the configuration and its folder"
	}
	return problem
}
