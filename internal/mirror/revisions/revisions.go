package revisions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/changes"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
)

// The names of revisions that are no release and no revision.
const (
	Served = "served"
	Staged = "staged"
)

// ErrOnlyOne is returned where two revisions are to be compared, and one is on disk, or none.
var ErrOnlyOne = errors.New("there are no two revisions on disk")

// List returns the records of the revisions of a manifest that are on disk: the served
// one, then the others, the most recently served first. A user who may not read the state
// directory sees those that generations show.
func List(m *mirror.Mirror, name string) ([]mirror.Record, error) {
	all, err := m.Records.Revisions(name)
	if errors.Is(err, fs.ErrPermission) {
		all, err = ofGenerations(m, name)
	}
	return all, err
}

func ofGenerations(m *mirror.Mirror, name string) ([]mirror.Record, error) {
	generations, err := m.Generations.All()
	if err != nil {
		return nil, err
	}
	var all []mirror.Record
	seen := map[string]bool{}
	for _, g := range generations {
		if r, shown := g.Records[name]; shown && !seen[r.ID()] {
			seen[r.ID()] = true
			all = append(all, r)
		}
	}
	return all, nil
}

// ServedOf returns the served revision.
func ServedOf(m *mirror.Mirror, name string) (mirror.Record, error) {
	served, found := m.Current().Records[name]
	if !found {
		return served, fmt.Errorf("nothing of %s is served: run `syncd sync`", name)
	}
	return served, nil
}

// Earlier returns the revision that was served before the served one.
func Earlier(m *mirror.Mirror, name string) (mirror.Record, error) {
	served, err := ServedOf(m, name)
	if err != nil {
		return served, err
	}
	all, err := List(m, name)
	if err != nil {
		return served, err
	}
	for _, r := range all {
		if r.ID() != served.ID() {
			return r, nil
		}
	}
	return served, fmt.Errorf("no earlier revision of %s is on disk: `retain` says how many are kept", name)
}

// Newest returns the two newest revisions on disk, the newest last: by release, and of one
// release the staged one before the most recently served one.
func Newest(m *mirror.Mirror, name string) (pair [2]mirror.Record, err error) {
	all, err := List(m, name)
	if err != nil {
		return pair, err
	}
	if staged, err := StagedOf(m, name); err == nil {
		all = append([]mirror.Record{staged}, all...)
	}
	slices.SortStableFunc(all, func(a, b mirror.Record) int {
		switch {
		case a.Release.Newer(b.Release):
			return -1
		case b.Release.Newer(a.Release):
			return 1
		}
		return 0
	})
	all = slices.CompactFunc(all, func(a, b mirror.Record) bool { return a.ID() == b.ID() })
	if len(all) < 2 {
		return pair, fmt.Errorf("%w of %s: `retain` says how many are kept", ErrOnlyOne, name)
	}
	return [2]mirror.Record{all[1], all[0]}, nil
}

// StagedOf returns the staged revision.
func StagedOf(m *mirror.Mirror, name string) (mirror.Record, error) {
	entries, err := staging.Read(m.Root())
	if err != nil {
		return mirror.Record{}, err
	}
	e, found := entries[name]
	if !found || e.Dropped {
		return mirror.Record{}, fmt.Errorf("nothing of %s is staged", name)
	}
	return m.Records.Staged(name, e.ID())
}

// Find returns the revision of a manifest that a text names: served, staged, a release, a
// revision, or both with a hyphen between them.
func Find(m *mirror.Mirror, name, text string) (mirror.Record, error) {
	switch text {
	case Served:
		return ServedOf(m, name)
	case Staged:
		return StagedOf(m, name)
	}
	all, err := List(m, name)
	if err != nil {
		return mirror.Record{}, err
	}
	if staged, err := StagedOf(m, name); err == nil {
		all = append(all, staged)
	}
	release, err := manifest.ParseRelease(text)
	for _, r := range all {
		if r.ID() == text || r.Revision == text || err == nil && r.Release == release {
			return r, nil
		}
	}
	var known []string
	for _, r := range all {
		known = append(known, r.ID())
	}
	if len(known) == 0 {
		return mirror.Record{}, fmt.Errorf("no revision of %s is on disk", name)
	}
	return mirror.Record{}, fmt.Errorf("no revision %s of %s is on disk: there are %s", text, name, strings.Join(known, ", "))
}

// Files lists the files of a record for a comparison.
func Files(r mirror.Record) []changes.File {
	files := make([]changes.File, len(r.Files))
	for i, f := range r.Files {
		files[i] = changes.File{Path: f.Path, Size: f.Size, Object: f.Object}
	}
	return files
}

// Folder is a revision as one side of a comparison.
func Folder(m *mirror.Mirror, r mirror.Record) changes.Folder {
	return changes.Folder{Files: Files(r), Open: func(path string) (*os.File, error) {
		return m.Root().OpenRegular(filepath.Join(r.Dir(), filepath.FromSlash(path)))
	}}
}
