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

	"syncd/internal/mirror/record"
)

// The mirror's words for what package record holds.
type (
	Record   = record.Record
	File     = record.File
	Hold     = record.Hold
	Orders   = record.Orders
	View     = record.View
	ViewFile = record.ViewFile
)

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
	if record.IsViewLink(link) {
		view := served.Views[name]
		if view.Name == "" {
			var err error
			if view, err = m.readView(name, file); err != nil {
				return err
			}
		}
		g.Views[name] = view
		return m.checkEntry(dir, view, view.Dir(), link, linkErr)
	}
	revision := served.Records[name]
	if revision.Manifest == "" {
		var err error
		if revision, err = m.readRecord(file); err != nil {
			return err
		}
	}
	g.Records[name] = revision
	return m.checkEntry(dir, revision, revision.Dir(), link, linkErr)
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
		name := e.EntryName()
		if info, err := m.root.Lstat(filepath.Join(generationDir(g.Number), name+recordSuffix)); err == nil {
			stats[name] = info
		}
	}
	return stats
}

// checkEntry requires the link of a manifest or view, its tree, and the sums: readers of
// a generation need them.
func (m *Mirror) checkEntry(dir string, e entry, tree, link string, err error) error {
	name := e.EntryName()
	if err == nil && link != e.Link() {
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

// readRecord reads the record that a generation holds of a manifest.
func (m *Mirror) readRecord(file string) (Record, error) {
	return m.readRecordOf(strings.TrimSuffix(filepath.Base(file), recordSuffix), file)
}

func (m *Mirror) readRecordOf(name, file string) (read Record, err error) {
	err = m.readText(file, func(text io.Reader) error {
		read, err = record.Parse(name, text)
		return err
	})
	return read, err
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

// readView reads the record that a generation holds of a view.
func (m *Mirror) readView(name, file string) (view View, err error) {
	err = m.readText(file, func(text io.Reader) error {
		view, err = record.ParseView(name, text)
		return err
	})
	return view, err
}

// isGone is true when a name does not exist.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
