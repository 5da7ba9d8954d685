package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
)

// Record describes one manifest of a generation, as `<manifest>.json` beside its
// files. The records of `current` are the truth about what is served.
type Record struct {
	Manifest    string           `json:"manifest"`
	Source      string           `json:"source"` // base URL without query and user part
	Release     manifest.Release `json:"release"`
	Revision    string           `json:"revision"`
	Listed      int              `json:"listed"` // files in the provider's list, before filters
	Bytes       int64            `json:"bytes"`
	MirroredAt  time.Time        `json:"mirrored_at"`  // when the revision was complete
	PublishedAt time.Time        `json:"published_at"` // when it last came into service
	Version     string           `json:"version"`      // of syncd
	Held        *Hold            `json:"held,omitempty"`
	Orders      Orders           `json:"orders,omitzero"`
	Adopted     bool             `json:"adopted,omitempty"` // some of it came from a folder, and not from Source

	// For those who ask this host as they would ask the provider.
	Chosen      bool               `json:"chosen,omitempty"`      // single files by configuration, and no manifest of the provider
	Described   bool               `json:"described,omitempty"`   // the provider was asked for all that follows and for Metadata
	Description string             `json:"description,omitempty"` // in ManifestList
	Aliases     []manifest.Release `json:"aliases,omitempty"`     // of the release: the provider had the same list for these

	Files []File `json:"files"` // sorted by path
}

// File is one file of a record.
type File struct {
	Path      string             `json:"path"`      // within the manifest
	Reference manifest.Reference `json:"reference"` // at the provider
	Size      int64              `json:"size"`      // bytes
	Object    manifest.ObjectID  `json:"sha256"`
	Expected  manifest.Digest    `json:"promised"`           // the Hash endpoint's digest
	Slash     bool               `json:"slash,omitempty"`    // the provider's link has a slash before its query
	Position  int32              `json:"position,omitempty"` // in the provider's list, from 1 on

	Metadata *manifest.Metadata `json:"metadata,omitempty"` // nil if the provider was not asked, or told nothing
}

// Hold keeps a manifest at the revision of a rollback, until the provider has a
// newer release than the one that was left, or other digests for it.
type Hold struct {
	Release     manifest.Release `json:"release"` // the one that was left
	Revision    string           `json:"revision"`
	Fingerprint string           `json:"fingerprint"` // of its expected digests
	Setting     manifest.Release `json:"setting"`     // the configured release; another one ends the hold
	Selection   string           `json:"selection"`   // hash type and filters; digests of another selection cannot be compared
}

// ID names the revision's directory.
func (r Record) ID() string { return string(r.Release) + "-" + r.Revision }

// SplitID returns the release and the revision of an ID.
func SplitID(id string) (release manifest.Release, revision string) {
	at := max(strings.LastIndexByte(id, '-'), 0)
	return manifest.Release(id[:at]), strings.TrimPrefix(id[at:], "-")
}

// Key is the path of the revision below `revisions`.
func (r Record) Key() string { return filepath.Join(r.Manifest, r.ID()) }

// Dir is the tree of the revision within the data directory.
func (r Record) Dir() string { return filepath.Join("revisions", r.Manifest, r.ID()) }

// Link is the target of a generation's link to the revision.
func (r Record) Link() string { return filepath.Join("..", "..", "revisions", r.Manifest, r.ID()) }

// EntryName is the name of the manifest in a generation.
func (r Record) EntryName() string { return r.Manifest }

// File returns the file at a path.
func (r Record) File(path string) (File, bool) {
	i, found := slices.BinarySearchFunc(r.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !found {
		return File{}, false
	}
	return r.Files[i], true
}

// Fingerprint is manifest.Fingerprint of the expected digests.
func (r Record) Fingerprint() string {
	files := make([]manifest.File, len(r.Files))
	for i, f := range r.Files {
		files[i] = f.Planned()
	}
	return manifest.Fingerprint(files)
}

// DescribedAs returns r with what other says about the same files.
func (r Record) DescribedAs(other Record) Record {
	r.Files, r.Chosen, r.Described = other.Files, other.Chosen, other.Described
	r.Description, r.Aliases = other.Description, other.Aliases
	return r
}

// Planned is the file as the plan had it.
func (f File) Planned() manifest.File {
	return manifest.File{Reference: f.Reference, Path: f.Path, Expected: f.Expected, Slash: f.Slash, Position: f.Position}
}

// InView describes a file of a manifest to package layout.
func (f File) InView(name string) (file layout.File, err error) {
	if f.Reference == "" {
		err = fmt.Errorf("the record of %s has no reference of %.255q", name, f.Path)
	}
	return layout.File{Manifest: name, File: f.Planned()}, err
}
