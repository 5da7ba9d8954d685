package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"syncd/internal/manifest"
)

// version of the form of the file.
const version = 1

// Lock is the content of a lock file.
type Lock struct {
	Version   int        `json:"syncd_lock"`
	Source    string     `json:"source"` // base URL without query and user part
	Manifests []Manifest `json:"manifests"`
}

// Manifest is one manifest of a Lock.
type Manifest struct {
	Name     string           `json:"name"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Listed   int              `json:"listed"` // files in the provider's list, before filters
	Files    []File           `json:"files"`  // sorted by path
}

// File is one file of a Manifest.
type File struct {
	Path      string            `json:"path"`
	Reference string            `json:"reference"`
	Size      int64             `json:"size"`
	Object    manifest.ObjectID `json:"sha256"`
}

// Write writes a Lock of the given manifests.
func Write(w io.Writer, source string, manifests []Manifest) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(Lock{Version: version, Source: source, Manifests: manifests})
}

// Parse reads what Write writes. It refuses paths and references that no manifest can
// have, and files that do not make up the named revision.
func Parse(data []byte) (*Lock, error) {
	var l Lock
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&l); err != nil {
		return nil, fmt.Errorf("not a lock file: %w", err)
	}
	if l.Version != version {
		return nil, fmt.Errorf("not a lock file of version %d: `syncd lock` writes one", version)
	}
	seen := map[string]bool{}
	for _, m := range l.Manifests {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("lock file: manifest %q: %w", m.Name, err)
		}
		if seen[m.Name] {
			return nil, fmt.Errorf("lock file: manifest %q: named twice", m.Name)
		}
		seen[m.Name] = true
	}
	return &l, nil
}

// maxListed is the longest list that a provider may send.
const maxListed = 250_000

func (m Manifest) check() error {
	if err := manifest.CheckSegment(m.Name); err != nil {
		return err
	}
	if len(m.Files) == 0 {
		return errors.New("no files")
	}
	if m.Listed < len(m.Files) || m.Listed > maxListed { // the next list is compared with it
		return fmt.Errorf("%d files cannot be of a list of %d", len(m.Files), m.Listed)
	}
	if _, err := manifest.ParseRelease(string(m.Release)); err != nil {
		return err
	}
	sums, paths := make([]manifest.Sum, len(m.Files)), make([]string, len(m.Files))
	for i, f := range m.Files {
		ref, err := manifest.ParseReference(f.Reference)
		if err != nil {
			return err
		}
		if ref.Path() != f.Path {
			return fmt.Errorf("%q is not the path of %s", f.Path, ref)
		}
		for segment := range strings.SplitSeq(f.Path, "/") {
			if err := manifest.CheckSegment(segment); err != nil {
				return err
			}
		}
		sums[i], paths[i] = manifest.Sum{Object: f.Object, Path: f.Path}, f.Path
	}
	if !slices.IsSorted(paths) {
		return errors.New("its files are not sorted by path")
	}
	if revision := manifest.RevisionID(sums); revision != m.Revision {
		return fmt.Errorf("its files make up revision %s, not %s: the file was changed", revision, m.Revision)
	}
	return manifest.CheckTree(paths)
}

// Manifest returns the manifest with a name.
func (l *Lock) Manifest(name string) (Manifest, bool) {
	i := slices.IndexFunc(l.Manifests, func(m Manifest) bool { return m.Name == name })
	if i < 0 {
		return Manifest{}, false
	}
	return l.Manifests[i], true
}

// PlannedFiles are the files with their expected digests.
func (m Manifest) PlannedFiles() []manifest.File {
	files := make([]manifest.File, len(m.Files))
	for i, f := range m.Files {
		ref, _ := manifest.ParseReference(f.Reference) // Parse has checked it
		files[i] = manifest.File{Reference: ref, Path: f.Path, Expected: f.Object.Digest()}
	}
	return files
}
