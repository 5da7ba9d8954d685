package mirror

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
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

	// For those who ask this host as they would ask the provider.
	Chosen      bool               `json:"chosen,omitempty"`      // single files by configuration, and no manifest of the provider
	Described   bool               `json:"described,omitempty"`   // the provider was asked for all that follows and for Metadata
	Description string             `json:"description,omitempty"` // in ManifestList
	Aliases     []manifest.Release `json:"aliases,omitempty"`     // of the release: the provider had the same list for these

	Files []File `json:"files"` // sorted by path
}

// File is one file of a record.
type File struct {
	Path      string            `json:"path"`      // within the manifest
	Reference string            `json:"reference"` // at the provider
	Size      int64             `json:"size"`      // bytes
	Object    manifest.ObjectID `json:"sha256"`
	Expected  manifest.Digest   `json:"promised"`           // the Hash endpoint's digest
	Slash     bool              `json:"slash,omitempty"`    // the provider's link has a slash before its query
	Position  int32             `json:"position,omitempty"` // in the provider's list, from 1 on

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
		files[i] = manifest.File{Path: f.Path, Expected: f.Expected}
	}
	return manifest.Fingerprint(files)
}

// Generation is a complete view of all mirrored manifests.
type Generation struct {
	Number      int               // 0 when nothing was published yet
	PublishedAt time.Time         // when it came into service
	Records     map[string]Record // by manifest
	Views       map[string]View   // by name
}

// Names returns the manifests of a generation, sorted.
func (g Generation) Names() []string { return slices.Sorted(maps.Keys(g.Records)) }

const (
	recordSuffix = ".json"
	sumsSuffix   = ".SHA256SUMS"
)

// errDamaged says that the disk holds something else than Publish wrote. Other
// errors say only that it could not be read.
var errDamaged = errors.New("damaged")

// readGeneration reads the records of a generation and requires the revision of
// each to be on disk.
func (m *Mirror) readGeneration(number int) (Generation, error) {
	dir := generationDir(number)
	info, err := m.root.Lstat(dir)
	if err != nil {
		return Generation{}, err
	}
	if !info.IsDir() {
		return Generation{}, fmt.Errorf("%s is %w: it is no directory", m.root.Path(dir), errDamaged)
	}
	g := Generation{Number: number, PublishedAt: info.ModTime(), Records: map[string]Record{}, Views: map[string]View{}}
	entries, err := m.root.ReadDir(dir)
	if err != nil {
		return Generation{}, err
	}
	for _, entry := range entries {
		name, isRecord := strings.CutSuffix(entry.Name(), recordSuffix)
		if !entry.Type().IsRegular() || !isRecord {
			continue
		}
		if err := m.readEntry(&g, dir, name); err != nil {
			return Generation{}, err
		}
	}
	for _, entry := range entries {
		_, isManifest := g.Records[entry.Name()]
		_, isView := g.Views[entry.Name()]
		if !isManifest && !isView && entry.Type() == fs.ModeSymlink {
			return Generation{}, fmt.Errorf("%s is %w: it has no record", m.root.Path(dir, entry.Name()), errDamaged)
		}
	}
	return g, nil
}

// readEntry reads a manifest or a view of a generation. Its link says which.
func (m *Mirror) readEntry(g *Generation, dir, name string) error {
	link, linkErr := m.root.Readlink(filepath.Join(dir, name))
	file, served := filepath.Join(dir, name+recordSuffix), m.served(g.Number, name, filepath.Join(dir, name+recordSuffix))
	if strings.HasPrefix(link, viewLink) {
		view := served.Views[name]
		if view.Name == "" {
			var err error
			if view, err = m.readView(name, file); err != nil {
				return err
			}
		}
		g.Views[name] = view
		return m.checkEntry(dir, view, view.dir(), link, linkErr)
	}
	record := served.Records[name]
	if record.Manifest == "" {
		var err error
		if record, err = m.readRecord(file); err != nil {
			return err
		}
	}
	g.Records[name] = record
	return m.checkEntry(dir, record, revisionDir(record), link, linkErr)
}

// served returns the generation in memory if the record of name is unchanged in it and
// the generation is current, because each poll checks all.
func (m *Mirror) served(number int, name, file string) Generation {
	m.mu.Lock()
	current, stats := m.current, m.stats
	m.mu.Unlock()
	then, known := stats[name]
	if number != current.Number || !known {
		return Generation{}
	}
	now, err := m.root.Lstat(file)
	if err == nil && os.SameFile(then, now) && then.Size() == now.Size() && then.ModTime().Equal(now.ModTime()) {
		return current
	}
	return Generation{}
}

// statRecords describes the files of a generation's records.
func (m *Mirror) statRecords(g Generation) map[string]os.FileInfo {
	stats := map[string]os.FileInfo{}
	for _, e := range g.entries() {
		name := e.entryName()
		if info, err := m.root.Lstat(filepath.Join(generationDir(g.Number), name+recordSuffix)); err == nil {
			stats[name] = info
		}
	}
	return stats
}

// checkEntry requires the link of a manifest or view, its tree, and the sums: readers of
// a generation need them.
func (m *Mirror) checkEntry(dir string, e entry, tree, link string, err error) error {
	name := e.entryName()
	if err == nil && link != e.link() {
		return fmt.Errorf("%s is %w: its link leads to %q", m.root.Path(dir, name), errDamaged, link)
	}
	missing := filepath.Join(dir, name)
	if err == nil {
		missing = tree
		err = m.findTree(tree)
	}
	if err == nil {
		missing = filepath.Join(dir, name+sumsSuffix)
		_, err = m.root.Lstat(missing)
	}
	if isGone(err) {
		return fmt.Errorf("%w: %s is missing", errDamaged, m.root.Path(missing))
	}
	return err
}

func (r Record) entryName() string { return r.Manifest }

// link is the target of a generation's link to the revision.
func (r Record) link() string { return filepath.Join("..", "..", "revisions", r.Manifest, r.ID()) }

// readRecord reads the record that a generation holds of a manifest.
func (m *Mirror) readRecord(file string) (Record, error) {
	return m.readRecordOf(strings.TrimSuffix(filepath.Base(file), recordSuffix), file)
}

func (m *Mirror) readRecordOf(name, file string) (record Record, err error) {
	err = m.readText(file, func(text io.Reader) error {
		record, err = decodeRecord(name, text)
		return err
	})
	return record, err
}

// readText reads a record. What decode does not accept is damaged.
func (m *Mirror) readText(file string, decode func(io.Reader) error) error {
	f, err := m.root.OpenRegular(file)
	if err != nil {
		return err
	}
	defer f.Close()
	err = decode(f)
	var fault *fs.PathError
	if err == nil || errors.As(err, &fault) { // reading failed
		return err
	}
	return fmt.Errorf("%s is %w: %w", m.root.Path(file), errDamaged, err)
}

// check refuses a record with a name or a path that leads out of its own directory:
// the mirror builds paths from them.
func (r Record) check() error {
	for _, name := range []string{r.Manifest, r.ID()} {
		if err := manifest.CheckSegment(name); err != nil {
			return err
		}
	}
	return checkFiles(r.Files, false)
}

// checkFiles requires that files can lie in one tree, with hash files if it has them.
func checkFiles(files []File, hashFiles bool) error {
	paths := make([]string, 0, len(files))
	for _, f := range files {
		paths = append(paths, f.Path)
		if hashFiles {
			paths = append(paths, layout.HashName(f.Path))
		}
		if f.Object.IsZero() {
			return fmt.Errorf("%q has no sha256", f.Path)
		}
	}
	for _, p := range paths {
		for segment := range strings.SplitSeq(p, "/") {
			if err := manifest.CheckSegment(segment); err != nil {
				return fmt.Errorf("path %q: %w", p, err)
			}
		}
	}
	return manifest.CheckTree(paths)
}

// isGone is true when a name does not exist.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
