package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
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

// ViewFingerprint names the tree of a view by its content and its permissions: the first
// 12 hex digits of a SHA-256.
func ViewFingerprint(files []ViewFile, hashFiles bool, access Access) string {
	lines := make([]string, len(files))
	for i, f := range files {
		lines[i] = f.Object.String() + "  " + f.Path + "\n"
	}
	slices.Sort(lines)
	h := sha256.New()
	fmt.Fprintf(h, "%t %s\n", hashFiles, access)
	for _, line := range lines {
		_, _ = io.WriteString(h, line) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

const viewLink = "../../views/"

// dir is the tree of a view within the data directory.
func (v View) dir() string { return filepath.Join("views", v.Name, v.Fingerprint) }

// key is the path of the tree below `views`.
func (v View) key() string { return filepath.Join(v.Name, v.Fingerprint) }

func (v View) link() string { return viewLink + v.Name + "/" + v.Fingerprint }

func (v View) entryName() string { return v.Name }

// Count is how many files the tree has, hash files included.
func (v View) Count() int {
	return tree{files: make([]File, len(v.Files)), hashFiles: v.HashFiles}.count()
}

// tree describes the tree of a view to its builder.
func (v View) tree() tree {
	files := make([]File, len(v.Files))
	for i, f := range v.Files {
		files[i] = File{Path: f.Path, Size: f.Size, Object: f.Object}
	}
	shownBy := func(g Generation) bool { return g.Views[v.Name].Fingerprint == v.Fingerprint }
	return tree{name: v.dir(), files: files, hashFiles: v.HashFiles, shownBy: shownBy}
}

// HasTree is true if the tree of a view is on disk.
func (m *Mirror) HasTree(v View) bool { return m.findTree(v.dir()) == nil }

// prepareView makes the tree of a view complete on disk, shown by no generation yet.
func (m *Mirror) prepareView(v View) error {
	if err := v.check(); err != nil {
		return err
	}
	if err := m.makeDir("views"); err != nil {
		return err
	}
	return m.buildTree(v.tree())
}

// check refuses a view with a name or a path that leads out of its own directory.
func (v View) check() error {
	for _, name := range []string{v.Name, v.Fingerprint} {
		if err := manifest.CheckSegment(name); err != nil {
			return err
		}
	}
	return checkFiles(v.tree().files, v.HashFiles)
}

func (v View) write(w io.Writer) error {
	files := v.Files
	v.Files = []ViewFile{}
	return writeListed(w, v, files, ViewFile.appendJSON)
}

// appendJSON appends the text of json.MarshalIndent, without reflection.
func (f ViewFile) appendJSON(to []byte) []byte {
	to = appendQuoted(append(to, "{\n   \"path\": "...), f.Path)
	to = appendQuoted(append(to, ",\n   \"manifest\": "...), f.Manifest)
	to = appendQuoted(append(to, ",\n   \"from\": "...), f.From)
	to = strconv.AppendInt(append(to, ",\n   \"size\": "...), f.Size, 10)
	to = hex.AppendEncode(append(to, ",\n   \"sha256\": \""...), f.Object[:])
	return append(to, "\"\n  }"...)
}

// writeSums writes `<view>.SHA256SUMS`, hash files included.
func (v View) writeSums(w io.Writer) error {
	sums := sumsWriter{to: w, dir: v.Name}
	for _, f := range v.Files {
		if err := sums.add(f.Object, f.Path); err != nil {
			return err
		}
		if !v.HashFiles {
			continue
		}
		if err := sums.add(sha256.Sum256([]byte(layout.HashText(f.Object))), layout.HashName(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// readView reads the record that a generation holds of a view.
func (m *Mirror) readView(name, file string) (view View, err error) {
	err = m.readText(file, func(text io.Reader) error {
		view, err = decodeView(name, text)
		return err
	})
	return view, err
}

// decodeView reads the record of a view from text that may hold anything.
func decodeView(name string, text io.Reader) (view View, err error) {
	if view.Files, err = parseListed[ViewFile](text, &view); err != nil {
		return View{}, err
	}
	if view.Name != name {
		return View{}, fmt.Errorf("it is a record of view %.80q", view.Name)
	}
	return view, view.check()
}

// File returns the file at a path of the view.
func (v View) File(path string) (ViewFile, bool) {
	i, found := slices.BinarySearchFunc(v.Files, path, func(f ViewFile, path string) int { return strings.Compare(f.Path, path) })
	if !found {
		return ViewFile{}, false
	}
	return v.Files[i], true
}
