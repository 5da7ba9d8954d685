package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
)

// View describes one arrangement of the files of some manifests in a generation, as
// `<view>.json` beside its tree.
type View struct {
	Name        string            `json:"view"`
	Layout      string            `json:"layout"`
	Definition  string            `json:"definition"`  // fingerprint of the configuration that it was made by
	Fingerprint string            `json:"fingerprint"` // of its tree
	HashFiles   bool              `json:"hash_files"`  // <file>.hash lies beside each file
	Unmapped    int               `json:"unmapped"`    // files that no map file places
	Bytes       int64             `json:"bytes"`       // without hash files
	PublishedAt time.Time         `json:"published_at"`
	Version     string            `json:"version"`   // of syncd
	Revisions   map[string]string `json:"revisions"` // by manifest: release and revision
	Files       []ViewFile        `json:"files"`     // sorted by path, without hash files
}

// ViewFile is one file of a view.
type ViewFile struct {
	Path     string            `json:"path"`     // within the view
	Manifest string            `json:"manifest"` // that the file belongs to
	From     string            `json:"from"`     // path within the manifest
	Size     int64             `json:"size"`     // bytes
	Object   manifest.ObjectID `json:"sha256"`
}

// TreeFile is one file of the tree of a view, which can be a hash file.
type TreeFile struct {
	Path   string
	Size   int64
	Object manifest.ObjectID
}

// ViewFingerprint names the tree of a view by its content and its permissions: the first
// 12 hex digits of a SHA-256.
func ViewFingerprint(files []ViewFile, hashFiles bool, permissions string) string {
	lines := make([]string, len(files))
	for i, f := range files {
		lines[i] = f.Object.String() + "  " + f.Path + "\n"
	}
	slices.Sort(lines)
	h := sha256.New()
	fmt.Fprintf(h, "%t %s\n", hashFiles, permissions)
	for _, line := range lines {
		_, _ = io.WriteString(h, line) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

const viewLink = "../../views/"

// IsViewLink is true for the link of a generation to a view.
func IsViewLink(link string) bool { return strings.HasPrefix(link, viewLink) }

// Link is the target of a generation's link to the view.
func (v View) Link() string { return viewLink + v.Name + "/" + v.Fingerprint }

// Dir is the tree of a view within the data directory.
func (v View) Dir() string { return filepath.Join("views", v.Name, v.Fingerprint) }

// Key is the path of a view's tree below `views`.
func (v View) Key() string { return filepath.Join(v.Name, v.Fingerprint) }

// EntryName is the name of the view in a generation.
func (v View) EntryName() string { return v.Name }

// Count is how many files the tree has, hash files included.
func (v View) Count() int {
	if v.HashFiles {
		return 2 * len(v.Files)
	}
	return len(v.Files)
}

// File returns the file at a path of the view.
func (v View) File(path string) (ViewFile, bool) {
	i, found := slices.BinarySearchFunc(v.Files, path, func(f ViewFile, path string) int { return strings.Compare(f.Path, path) })
	if !found {
		return ViewFile{}, false
	}
	return v.Files[i], true
}

// TreeFiles lists the paths, sizes and contents of the files of the view's tree, hash files
// included, sorted by path.
func (v View) TreeFiles() []TreeFile {
	files := make([]TreeFile, 0, v.Count())
	for _, f := range v.Files {
		files = append(files, TreeFile{Path: f.Path, Size: f.Size, Object: f.Object})
		if v.HashFiles {
			text := layout.HashText(f.Object)
			files = append(files, TreeFile{Path: layout.HashName(f.Path), Size: int64(len(text)), Object: sha256.Sum256([]byte(text))})
		}
	}
	slices.SortFunc(files, func(a, b TreeFile) int { return strings.Compare(a.Path, b.Path) })
	return files
}
