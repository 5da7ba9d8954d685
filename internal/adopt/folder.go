// Package adopt reads the files of a folder that other programs own, to use those whose
// content is wanted. It never trusts a name or a side file: only the hash of what it
// copied counts. It changes nothing in the folder, unless a file is moved.
//
// The folder may be hostile. Links and files of other kinds are passed over, no link is
// followed out of the folder, and a file that changes meanwhile only gets another hash.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"syncd/internal/fsops"
)

// maxDepth limits folders in folders. The updater makes seven at most.
const maxDepth = 64

// Folder is an open folder with files to adopt. Safe for concurrent use.
type Folder struct {
	dir     *fsops.Dir
	dataDir fs.FileInfo // its own content is no source
}

// Candidate is a file that may have a wanted content.
type Candidate struct {
	Path string // below the folder
	Size int64
}

// Problem says why something in the folder was passed over.
type Problem struct {
	Path string
	Err  error
}

// Open opens the folder at name. It refuses one inside the data directory. The caller
// must call Close.
func Open(name string, dataDir *fsops.Dir) (*Folder, error) {
	own, err := dataDir.Self().Stat()
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, openError(name, err)
	}
	for parent := resolved; ; parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && os.SameFile(info, own) {
			return nil, fmt.Errorf("%s lies in data_dir: name the folder of another program", name)
		}
		if parent == filepath.Dir(parent) {
			break
		}
	}
	dir, err := fsops.OpenDir(resolved)
	if err != nil {
		return nil, openError(name, err)
	}
	return &Folder{dir: dir, dataDir: own}, nil
}

// openError says who could not open the folder: a running daemon is another user, and may
// see less of the file system.
func openError(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w for user %d, who runs syncd: check its permissions; if the running daemon's unit hides the folder, stop the daemon first", name, err, os.Geteuid())
}

// Close closes the folder.
func (f *Folder) Close() error { return f.dir.Close() }

// Candidates lists the regular files for which wants is true, and what could not be
// looked at. The error is the context's.
func (f *Folder) Candidates(ctx context.Context, wants func(name string, size int64) bool) ([]Candidate, []Problem, error) {
	w := walk{folder: f, wants: wants}
	err := w.enter(ctx, ".", 0)
	return w.found, w.problems, err
}

type walk struct {
	folder   *Folder
	wants    func(name string, size int64) bool
	found    []Candidate
	problems []Problem
}

func (w *walk) enter(ctx context.Context, dir string, depth int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if depth > maxDepth {
		w.skip(dir, errors.New("too many folders in one another"))
		return nil
	}
	entries, err := w.folder.dir.ReadDir(dir)
	if err != nil {
		w.skip(dir, err)
		return nil
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			w.skip(name, err)
		case info.IsDir() && os.SameFile(info, w.folder.dataDir):
			w.skip(name, errors.New("it is data_dir"))
		case info.IsDir():
			if err := w.enter(ctx, name, depth+1); err != nil {
				return err
			}
		case info.Mode().IsRegular() && w.wants(entry.Name(), info.Size()):
			w.found = append(w.found, Candidate{Path: name, Size: info.Size()})
		}
	}
	return nil
}

func (w *walk) skip(name string, err error) {
	w.problems = append(w.problems, Problem{Path: name, Err: err})
}
