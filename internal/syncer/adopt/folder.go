package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"syncd/internal/disk/datadir"
	"syncd/internal/disk/fsops"
	"syncd/internal/mirror/export"
)

// Limits of a walk. Another user may fill the folder with anything, and what is found is
// held in memory.
const (
	maxDepth    = 64        // folders in one another; the updater makes seven at most
	maxFound    = 128 << 20 // bytes of all candidates
	maxProblems = 1000      // that are kept, and not only counted
)

// Folder is an open folder with files to adopt. Safe for concurrent use.
type Folder struct {
	dir     *fsops.Dir
	path    string      // of dir, without symlinks
	dataDir fs.FileInfo // its own content is no source
	move    bool
}

// Candidate is a file that may have a wanted content.
type Candidate struct {
	Path string // below the folder
	Size int64
}

// cost is about how much memory a candidate takes.
func (c Candidate) cost() int { return len(c.Path) + 64 }

// Problem says why something in the folder was passed over.
type Problem struct {
	Path string
	Err  error
}

// Problems holds the first problems, and how many there were.
type Problems struct {
	First []Problem
	Count int
}

// Add adds a problem.
func (p *Problems) Add(path string, err error) {
	if p.Count++; len(p.First) < maxProblems {
		p.First = append(p.First, Problem{path, err})
	}
}

// Open opens the folder at name. It refuses one inside the data directory and, if files are
// to be moved, one of another syncd: its readers would lose them. The caller must call
// Close.
func Open(name string, dataDir *fsops.Dir, move bool) (*Folder, error) {
	own, err := dataDir.Self().Stat()
	if err != nil {
		return nil, err
	}
	dir, err := fsops.OpenDir(name)
	if err != nil {
		return nil, openError(name, err)
	}
	f := &Folder{dir: dir, dataDir: own, move: move}
	// It is open already: another user can put a link in its place between a look and the opening.
	if f.path, err = fsops.RealPath(dir); err == nil {
		err = f.check(name)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return f, nil
}

func (f *Folder) check(name string) error {
	for parent := f.path; ; parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && os.SameFile(info, f.dataDir) {
			return fmt.Errorf("%s lies in data_dir: name the folder of another program", name)
		}
		if parent == filepath.Dir(parent) {
			break
		}
	}
	if owner := servedAround(f.path); f.move && owner != "" {
		return fmt.Errorf("%s lies in %s, whose readers would lose the files: leave out --move, so that they are copied", name, owner)
	}
	return nil
}

// servedAround names the mirror or the export that a folder is or lies in, "" for none.
func servedAround(path string) string {
	if outer := datadir.Around(path); outer != "" {
		return "the data_dir " + outer + " of another syncd"
	}
	if outer := export.Around(path); outer != "" {
		return "the export " + outer + " of a syncd"
	}
	return ""
}

// served names what a folder below this one is to the readers of a syncd, "" if nothing.
func (f *Folder) served(name string) string {
	switch at := filepath.Join(f.path, name); {
	case datadir.IsAt(at):
		return "the data_dir of another syncd"
	case export.IsAt(at):
		return "an export of a syncd"
	}
	return ""
}

// openError says who could not open the folder: a running daemon is another user, and may
// see less of the file system.
func openError(name string, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w for user %d, who runs syncd: check its permissions; if the running daemon's unit hides the folder, stop the daemon first", name, err, os.Geteuid())
}

// Close closes the folder.
func (f *Folder) Close() error { return f.dir.Close() }

// Candidates lists the regular files for which wants is true, and what could not be
// looked at. The error is the context's.
func (f *Folder) Candidates(ctx context.Context, wants func(name string, size int64) bool) ([]Candidate, Problems, error) {
	w := walk{folder: f, wants: wants}
	err := w.enter(ctx, f.dir, ".", 0)
	if errors.Is(err, errTooMany) {
		w.problems.Add(".", err)
		err = nil
	}
	return w.found, w.problems, err
}

var errTooMany = errors.New("too many files have the size of a needed one, so not all were read: adopt the folders in it one by one")

type walk struct {
	folder   *Folder
	wants    func(name string, size int64) bool
	found    []Candidate
	cost     int // of found
	problems Problems
}

// enter looks at a folder that is open. It returns an error that ends the walk.
func (w *walk) enter(ctx context.Context, dir *fsops.Dir, name string, depth int) error {
	if depth > maxDepth {
		w.problems.Add(name, errors.New("too many folders in one another"))
		return nil
	}
	var end error
	err := dir.EachEntry(".", func(entry fs.DirEntry) error {
		end = w.visit(ctx, dir, entry.Name(), path.Join(name, entry.Name()), depth)
		return end
	})
	if err != nil && end == nil {
		w.problems.Add(name, err)
	}
	return end
}

// visit looks at an entry of a folder, whose path below the first one is name.
func (w *walk) visit(ctx context.Context, dir *fsops.Dir, entry, name string, depth int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	info, err := dir.Lstat(entry)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
	case err != nil:
		w.problems.Add(name, err)
	case info.IsDir() && os.SameFile(info, w.folder.dataDir):
		w.problems.Add(name, errors.New("it is data_dir"))
	case info.IsDir() && w.folder.move && w.folder.served(name) != "":
		w.problems.Add(name, fmt.Errorf("it is %s, from which nothing is moved: leave out --move to copy its files", w.folder.served(name)))
	case info.IsDir():
		sub, err := dir.OpenDir(entry)
		if err != nil {
			w.problems.Add(name, err)
			return nil
		}
		defer sub.Close()
		return w.enter(ctx, sub, name, depth+1)
	case info.Mode().IsRegular() && w.wants(entry, info.Size()):
		return w.add(Candidate{Path: name, Size: info.Size()})
	}
	return nil
}

func (w *walk) add(c Candidate) error {
	if w.cost += c.cost(); w.cost > maxFound {
		return errTooMany
	}
	w.found = append(w.found, c)
	return nil
}

// open opens a candidate, and the folder that it lies in. It goes from folder to folder and
// follows no symlink: another user who can write in one of them could otherwise make a path
// lead to a file of others, which would be moved or removed in the place of the candidate.
func (f *Folder) open(c Candidate) (dir *fsops.Dir, file *os.File, err error) {
	if dir, err = f.openParent(c); err != nil {
		return nil, nil, err
	}
	if file, err = dir.OpenRegular(path.Base(c.Path)); err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return dir, file, nil
}

func (f *Folder) openParent(c Candidate) (*fsops.Dir, error) {
	dir, err := f.dir.OpenDir(".")
	for name := range strings.SplitSeq(path.Dir(c.Path), "/") {
		if err != nil {
			return nil, err
		}
		above := dir
		dir, err = above.OpenDir(name)
		err = errors.Join(err, above.Close())
	}
	return dir, err
}
