package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Layout is the arrangement of the files of a view.
type Layout string

// The four layouts.
const (
	Native   Layout = "native"   // as in revisions
	Flat     Layout = "flat"     // all files in one folder
	Provider Layout = "provider" // as the provider's updater places files
	ByMap    Layout = "map"      // as map files say, else as Provider
)

// View is one arrangement of mirrored files.
type View struct {
	Name      string
	Manifests []string
	Layout    Layout
	Maps      map[string]*Map // by manifest; for ByMap
	HashFiles bool            // <file>.hash lies beside each file
}

// Fingerprint identifies everything that decides where files of given revisions lie.
func (v View) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %t\n", v.Layout, v.HashFiles)
	for _, name := range slices.Sorted(slices.Values(v.Manifests)) {
		text := ""
		if m := v.Maps[name]; m != nil && v.Layout == ByMap {
			text = m.Fingerprint()
		}
		fmt.Fprintf(h, "%s %s\n", name, text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// File is a file of a manifest.
type File struct {
	Manifest string
	manifest.File
}

// Tree is a view of some files.
type Tree struct {
	Paths    []string // of each file; "" for one that is the same as an earlier file
	Unmapped []int    // indexes of the files that their manifest's map lacks, or that have no map
}

// Arrange gives each file its path. Its error is a refusal that wraps a *PlaceError.
func (v View) Arrange(files []File) (Tree, error) {
	tree := Tree{Paths: make([]string, len(files))}
	same := map[string]int{} // paths of files, and the first file there
	var paths []string
	var owners []int
	for i, f := range files {
		place, mapped := v.place(f)
		if !mapped {
			tree.Unmapped = append(tree.Unmapped, i)
		}
		if first, taken := same[place]; taken && isSame(files[first], f) {
			continue
		}
		same[place], tree.Paths[i] = i, place
		paths, owners = append(paths, place), append(owners, i)
		if v.HashFiles {
			paths, owners = append(paths, HashName(place)), append(owners, i)
		}
	}
	for i, p := range paths { // the ending of a hash file can make its name too long
		if err := manifest.CheckSegment(path.Base(p)); err != nil {
			return Tree{}, v.refuse(refusal.BadName, err.Error(), files[owners[i]])
		}
	}
	if c := manifest.FindClash(paths); c != nil {
		return Tree{}, v.refuse(refusal.PathClash, c.Problem, files[owners[c.First]], files[owners[c.Second]])
	}
	return tree, nil
}

func (v View) refuse(reason refusal.Reason, problem string, files ...File) error {
	return &refusal.Error{Reason: reason, Err: &PlaceError{View: v.Name, Files: files, Problem: problem}}
}

// isSame is true for one file that two manifests list.
func isSame(a, b File) bool { return a.Reference == b.Reference && a.Expected == b.Expected }

// place returns the path of a file. mapped is false if a map should place the file and
// does not.
func (v View) place(f File) (at string, mapped bool) {
	switch v.Layout {
	case Native:
		return f.Path, true
	case Flat:
		return f.Reference.Name(), true
	case ByMap:
		if m := v.Maps[f.Manifest]; m != nil {
			if at, found := m.Path(f.Reference); found {
				return at, true
			}
		}
		return Place(f.Manifest, f.Reference), false
	}
	return Place(f.Manifest, f.Reference), true
}

// PlaceError names files that cannot lie in a view: two that clash, or one.
type PlaceError struct {
	View    string
	Files   []File
	Problem string
}

func (e *PlaceError) Error() string {
	names := make([]string, len(e.Files))
	for i, f := range e.Files {
		names[i] = f.Reference.String() + " of " + f.Manifest
	}
	slices.Sort(names)
	return fmt.Sprintf("view %s: %s: %s: use another layout, or filters that leave one out", e.View, strings.Join(names, " and "), e.Problem)
}

// Names are the manifests of the files.
func (e *PlaceError) Names() []string {
	names := make([]string, len(e.Files))
	for i, f := range e.Files {
		names[i] = f.Manifest
	}
	return names
}
