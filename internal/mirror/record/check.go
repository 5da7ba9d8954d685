package record

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
)

// MaxFiles is the longest list that a provider may send.
const MaxFiles = 250_000

// Check refuses a record with a name or a path that leads out of its own directory:
// the mirror builds paths from them.
func (r Record) Check() error {
	if err := checkSegments(r.Manifest, r.ID()); err != nil {
		return err
	}
	return checkTree(r.Files, false)
}

// Check refuses a view with a name or a path that leads out of its own directory.
func (v View) Check() error {
	if err := checkSegments(v.Name, v.Fingerprint); err != nil {
		return err
	}
	return checkTree(v.Files, v.HashFiles)
}

func checkSegments(names ...string) error {
	for _, name := range names {
		if err := manifest.CheckSegment(name); err != nil {
			return err
		}
	}
	return nil
}

// content is what a file of a tree holds, and where.
func (f File) content() (string, manifest.ObjectID)     { return f.Path, f.Object }
func (f ViewFile) content() (string, manifest.ObjectID) { return f.Path, f.Object }

// entry is a file in a list of a record or a view.
type entry interface {
	content() (string, manifest.ObjectID)
}

func checkContent(f entry) error {
	if path, object := f.content(); object.IsZero() {
		return fmt.Errorf("%.255q has no sha256", path)
	}
	return nil
}

// checkTree requires that files can lie in one tree, with hash files if it has them.
func checkTree[F entry](files []F, hashFiles bool) error {
	paths := make([]string, 0, len(files))
	for _, f := range files {
		if err := checkContent(f); err != nil {
			return err
		}
		path, _ := f.content()
		paths = append(paths, path)
		if hashFiles {
			paths = append(paths, layout.HashName(path))
		}
	}
	for _, path := range paths {
		for segment := range strings.SplitSeq(path, "/") {
			if err := manifest.CheckSegment(segment); err != nil {
				return fmt.Errorf("path %.255q: %w", path, err)
			}
		}
	}
	return manifest.CheckTree(paths)
}

// CheckRevision refuses a record that another host cannot have written: its files must make
// up its revision, and be those of a manifest. It returns the sum of their sizes.
func (r Record) CheckRevision() (bytes int64, err error) {
	if len(r.Files) == 0 {
		return 0, errors.New("no files")
	}
	if r.Listed < len(r.Files) || r.Listed > MaxFiles { // the next list is compared with it
		return 0, fmt.Errorf("%d files cannot be of a list of %d", len(r.Files), r.Listed)
	}
	sums := make([]manifest.Sum, len(r.Files))
	sizes := make(map[manifest.ObjectID]int64, len(r.Files))
	last := ""
	for i, f := range r.Files {
		if err := f.checkReference(); err != nil {
			return 0, err
		}
		if f.Path <= last {
			return 0, fmt.Errorf("its files are not sorted by path: %.255q is named twice or is not in order", f.Path)
		}
		if size, seen := sizes[f.Object]; seen && size != f.Size {
			return 0, fmt.Errorf("%.255q has another size than a file with the same content", f.Path)
		}
		if f.Size < 0 || f.Size > math.MaxInt64-bytes {
			return 0, fmt.Errorf("%.255q has size %d, or the sizes add up to more than any disk", f.Path, f.Size)
		}
		last, bytes, sizes[f.Object] = f.Path, bytes+f.Size, f.Size
		sums[i] = manifest.Sum{Object: f.Object, Path: f.Path}
	}
	if err := checkTree(r.Files, false); err != nil {
		return 0, err
	}
	if revision := manifest.RevisionID(sums); revision != r.Revision {
		return 0, fmt.Errorf("its files make up revision %s, not %.40s: the file was changed", revision, r.Revision)
	}
	return bytes, nil
}

// checkReference requires the path that a file with its reference has.
func (f File) checkReference() error {
	if f.Reference.Path() != f.Path {
		return fmt.Errorf("%.255q is not the path of %s", f.Path, f.Reference)
	}
	return nil
}
