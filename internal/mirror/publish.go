package mirror

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"syncd/internal/disk/fsops"
)

// Change is how a new generation differs from the current one.
type Change struct {
	Set    []Record          // of manifests with another revision or another hold
	Orders map[string]Orders // of served manifests whose orders change; those of the others stay
	Views  []View            // with another tree or another record
	Remove []string          // manifests and views that are no longer served

	// Described are records of served revisions of which more is known now. Those of
	// revisions that are no longer served change nothing.
	Described []Record
}

// Publish makes the change the next generation and swaps `current` to it. The order
// keeps the data directory whole in a crash between any two steps: object names,
// revision trees, generation, `current`. The objects of all records must be
// adopted. After nil, the generation is served and durable. *BuildError is about
// one manifest or view, and nothing is published then.
func (m *Mirror) Publish(ctx context.Context, change Change) (Generation, error) {
	if err := m.SyncObjects(); err != nil {
		return Generation{}, err
	}
	for _, record := range change.Set {
		if ctx.Err() != nil {
			return Generation{}, context.Cause(ctx)
		}
		if err := m.prepare(record); err != nil {
			return Generation{}, &BuildError{Manifest: record.Manifest, Err: fmt.Errorf("build revision %s: %w", record.ID(), err)}
		}
	}
	for _, view := range change.Views {
		if ctx.Err() != nil {
			return Generation{}, context.Cause(ctx)
		}
		if err := m.prepareView(view); err != nil {
			return Generation{}, &BuildError{View: view.Name, Err: fmt.Errorf("build view %s: %w", view.Name, err)}
		}
	}
	if err := m.keepDescribed(change.Described); err != nil {
		return Generation{}, err
	}
	next, err := m.buildGeneration(change)
	if err != nil {
		return Generation{}, fmt.Errorf("build generation %d: %w", next.Number, err)
	}
	if ctx.Err() != nil {
		return Generation{}, context.Cause(ctx)
	}
	if err := m.swapTo(next); err != nil {
		return Generation{}, fmt.Errorf("swap to generation %d: %w", next.Number, err)
	}
	current := m.Current()
	if m.Served != nil {
		m.Served(current)
	}
	return current, nil
}

// BuildError names the manifest or the view whose tree could not be built. The others
// may be published without it.
type BuildError struct {
	Manifest string // "" if View is set
	View     string
	Err      error
}

func (e *BuildError) Error() string { return e.Manifest + e.View + ": " + e.Err.Error() }
func (e *BuildError) Unwrap() error { return e.Err }

// prepare makes a revision and its record complete on disk, shown by no generation yet.
func (m *Mirror) prepare(record Record) error {
	if err := record.Check(); err != nil {
		return err
	}
	if err := m.buildTree(treeOfRevision(record)); err != nil {
		return err
	}
	return m.keepRecord(record)
}

// swapTo swaps `current` on disk and in memory. Even when the fsync fails, readers
// may see the new generation: it is the current one if the link names it.
func (m *Mirror) swapTo(next Generation) error {
	m.swapping.Lock()
	defer m.swapping.Unlock()
	err := m.swap(next.Number)
	number, readErr := m.readCurrent()
	if err == nil || readErr == nil && number == next.Number {
		next.PublishedAt = time.Now() // not the time of building: readers had the old generation until now
		m.left[m.Current().Number] = next.PublishedAt
		m.saveTime(next.Number, next.PublishedAt)
		m.setCurrent(next)
	}
	return err
}

// swap is the commit point: readers see the old generation before it, and the new
// one after it.
func (m *Mirror) swap(number int) error {
	err := m.disk.ReplaceSymlink(m.root, generationDir(number), "current")
	m.unsyncedSwap = err != nil
	return err
}

// repeatUnsyncedSwap repeats a swap that may have failed after its rename, so that
// it is durable before a sync relies on it. Another fsync alone is not enough: it
// can succeed although the failed one has dropped the change.
func (m *Mirror) repeatUnsyncedSwap() error {
	if !m.unsyncedSwap {
		return nil
	}
	number, err := m.readCurrent()
	if err != nil || number == 0 {
		return err
	}
	if err := m.swap(number); err != nil {
		return fmt.Errorf("make the swap to generation %d durable: %w", number, err)
	}
	return nil
}

// buildGeneration makes the directory of the next generation, complete and durable,
// but not served yet.
func (m *Mirror) buildGeneration(change Change) (Generation, error) {
	current := m.Current()
	next := current.after(change)
	if number, err := m.readCurrent(); err != nil {
		return next, err
	} else if number != current.Number {
		return next, fmt.Errorf("current names generation %d, not %d: is another program changing %s? Restart syncd", number, current.Number, m.dir)
	}
	final := generationDir(next.Number)
	if err := m.root.RemoveTree(final); err != nil { // left by a Publish that failed after the rename
		return next, err
	}
	temp := fsops.TempName(final)
	defer m.root.Discard(temp)
	if err := m.makeDir(temp); err != nil {
		return next, err
	}
	var files []string
	for _, e := range next.entries() {
		name := e.EntryName()
		if err := m.writeEntry(temp, e); err != nil {
			return next, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, filepath.Join(temp, name+recordSuffix), filepath.Join(temp, name+sumsSuffix))
	}
	if err := m.disk.SyncFiles(m.root, files); err != nil {
		return next, err
	}
	if err := m.disk.SyncDir(m.root, temp); err != nil {
		return next, err
	}
	return next, m.disk.Rename(m.root, temp, final)
}

// after returns the generation that follows g with a change. Nothing is on disk yet.
func (g Generation) after(change Change) Generation {
	next := Generation{Number: g.Number + 1, PublishedAt: time.Now(), Records: map[string]Record{}, Views: map[string]View{}}
	maps.Copy(next.Records, g.Records)
	maps.Copy(next.Views, g.Views)
	for _, name := range change.Remove {
		delete(next.Records, name)
		delete(next.Views, name)
	}
	for _, record := range change.Set {
		record.Orders = g.Records[record.Manifest].Orders
		next.Records[record.Manifest] = record
	}
	for _, d := range change.Described {
		if record := next.Records[d.Manifest]; record.ID() == d.ID() {
			next.Records[d.Manifest] = record.DescribedAs(d)
		}
	}
	for name, orders := range change.Orders {
		if record, served := next.Records[name]; served {
			record.Orders = orders
			next.Records[name] = record
		}
	}
	for _, view := range change.Views {
		next.Views[view.Name] = view
	}
	return next
}

// After returns the records that follow those of g with a change. Nothing is published.
func (g Generation) After(change Change) map[string]Record { return g.after(change).Records }

// entry is a manifest or a view of a generation: a link, a record and a file of sums.
type entry interface {
	EntryName() string
	Link() string // relative to the generation
	Write(io.Writer) error
	WriteSums(io.Writer) error
}

// entries returns the manifests and the views of a generation, sorted.
func (g Generation) entries() []entry {
	var all []entry
	for _, name := range g.Names() {
		all = append(all, g.Records[name])
	}
	for _, name := range slices.Sorted(maps.Keys(g.Views)) {
		all = append(all, g.Views[name])
	}
	return all
}

// writeEntry writes the link, the record and the sums of a manifest or view. The bytes of
// its two files are not durable yet.
func (m *Mirror) writeEntry(dir string, e entry) error {
	name := e.EntryName()
	if err := m.root.Symlink(e.Link(), filepath.Join(dir, name)); err != nil {
		return err
	}
	if err := m.createReadable(filepath.Join(dir, name+recordSuffix), e.Write); err != nil {
		return err
	}
	return m.createReadable(filepath.Join(dir, name+sumsSuffix), e.WriteSums)
}
