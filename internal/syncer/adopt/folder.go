package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

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
	if owner := servedAround(resolved); move && owner != "" {
		return nil, fmt.Errorf("%s lies in %s, whose readers would lose the files: leave out --move, so that they are copied", name, owner)
	}
	dir, err := fsops.OpenDir(resolved)
	if err != nil {
		return nil, openError(name, err)
	}
	return &Folder{dir: dir, dataDir: own, move: move}, nil
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
	switch at := f.dir.Path(name); {
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
	err := w.enter(ctx, ".", 0)
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

// enter returns an error that ends the walk.
func (w *walk) enter(ctx context.Context, dir string, depth int) error {
	if depth > maxDepth {
		w.problems.Add(dir, errors.New("too many folders in one another"))
		return nil
	}
	var end error
	err := w.folder.dir.EachEntry(dir, func(entry fs.DirEntry) error {
		end = w.visit(ctx, path.Join(dir, entry.Name()), entry, depth)
		return end
	})
	if err != nil && end == nil {
		w.problems.Add(dir, err)
	}
	return end
}

func (w *walk) visit(ctx context.Context, name string, entry fs.DirEntry, depth int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	info, err := entry.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
	case err != nil:
		w.problems.Add(name, err)
	case info.IsDir() && os.SameFile(info, w.folder.dataDir):
		w.problems.Add(name, errors.New("it is data_dir"))
	case info.IsDir() && w.folder.move && w.folder.served(name) != "":
		w.problems.Add(name, fmt.Errorf("it is %s, from which nothing is moved: leave out --move to copy its files", w.folder.served(name)))
	case info.IsDir():
		return w.enter(ctx, name, depth+1)
	case info.Mode().IsRegular() && w.wants(entry.Name(), info.Size()):
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
