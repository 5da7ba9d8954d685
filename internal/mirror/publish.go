package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"syncd/internal/fsops"
	"syncd/internal/verify"
)

// Change is how a new generation differs from the current one.
type Change struct {
	Set    []Record // of manifests with another revision or another hold
	Remove []string // manifests that are no longer mirrored
}

// Publish makes the change the next generation and swaps `current` to it. The order
// keeps the data directory whole in a crash between any two steps: object names,
// revision trees, generation, `current`. The objects of all records must be
// adopted. After nil, the generation is served and durable. *BuildError is about
// one manifest, and nothing is published then.
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
	return m.Current(), nil
}

// BuildError names the manifest whose revision could not be built. The others may
// be published without it.
type BuildError struct {
	Manifest string
	Err      error
}

func (e *BuildError) Error() string { return e.Manifest + ": " + e.Err.Error() }
func (e *BuildError) Unwrap() error { return e.Err }

// prepare makes a revision and its record complete on disk, shown by no generation yet.
func (m *Mirror) prepare(record Record) error {
	if err := record.check(); err != nil {
		return err
	}
	if err := m.buildRevision(record); err != nil {
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

// buildRevision makes the tree of hard links, unless it exists. It replaces a tree
// with other content when no generation shows it.
func (m *Mirror) buildRevision(r Record) error {
	final := revisionDir(r)
	if err := m.makeDir(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	_, err := m.root.Lstat(final)
	replaced := err == nil
	if replaced {
		wrong := m.checkRevision(r)
		if wrong == nil {
			return m.disk.SyncDir(m.root, filepath.Dir(final)) // a crash may have come before this fsync
		}
		if shown, err := m.shows(r); err != nil || shown {
			return errors.Join(wrong, err)
		}
	}
	temp := fsops.TempName(final)
	defer m.root.Discard(temp)
	dirs, err := m.linkTree(r, temp)
	if err != nil {
		return err
	}
	if err := m.disk.SyncDirs(m.root, dirs); err != nil {
		return err
	}
	if replaced {
		if err := m.root.RemoveTree(final); err != nil {
			return err
		}
	}
	return m.disk.Rename(m.root, temp, final)
}

// shows is true when a generation on disk has the revision. A damaged generation
// does not count. One that cannot be read is an error, because it may be whole.
func (m *Mirror) shows(r Record) (bool, error) {
	numbers, err := m.numbers()
	if err != nil {
		return false, err
	}
	for _, n := range numbers {
		g, err := m.readGeneration(n)
		if err != nil && !errors.Is(err, errDamaged) && !isGone(err) {
			return false, err
		}
		if g.Records[r.Manifest].ID() == r.ID() {
			return true, nil
		}
	}
	return false, nil
}

// checkRevision requires that an existing tree holds the files of r and nothing
// else: it may be damaged, or the 48 bits of its name may collide.
func (m *Mirror) checkRevision(r Record) error {
	if err := m.findRevision(r); err != nil {
		return err
	}
	name, found, link := revisionDir(r), 0, ""
	dir := m.root.Path(name)
	err := m.root.Walk(name, func(name string, entry fs.DirEntry) {
		if !entry.IsDir() {
			found++
		}
		if entry.Type() == fs.ModeSymlink {
			link = name
		}
	})
	if err != nil {
		return err
	}
	if link != "" {
		return fmt.Errorf("%s is a symlink, which syncd does not make: remove it, then run `syncd verify --repair`", m.root.Path(link))
	}
	if found != len(r.Files) {
		return fmt.Errorf("%s holds %d files instead of %d: move it away", dir, found, len(r.Files))
	}
	for _, f := range r.Files {
		if err := m.checkFile(filepath.Join(name, f.Path), f); err != nil {
			return fmt.Errorf("%s exists with other content: run `syncd verify --repair` if it is damaged, else move it away: %w", dir, err)
		}
	}
	return nil
}

// checkFile requires the content of an object. It reads a copy, but not a link to
// the object.
func (m *Mirror) checkFile(name string, f File) error {
	info, err := m.root.Lstat(name)
	if err != nil {
		return err
	}
	object, err := m.root.Lstat(objectName(f.Object))
	if err == nil && os.SameFile(info, object) {
		return nil
	}
	_, err = verify.File(context.Background(), m.root, name, f.Object.Digest())
	return err
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
	if err := m.makeDir(temp, 0o755); err != nil {
		return next, err
	}
	var files []string
	for _, name := range next.Names() {
		if err := m.writeEntry(temp, next.Records[name]); err != nil {
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
	next := Generation{Number: g.Number + 1, PublishedAt: time.Now(), Records: maps.Clone(g.Records)}
	if next.Records == nil {
		next.Records = map[string]Record{}
	}
	for _, name := range change.Remove {
		delete(next.Records, name)
	}
	for _, record := range change.Set {
		next.Records[record.Manifest] = record
	}
	return next
}

// writeEntry writes the link, the record and the sums of a manifest. The
// bytes of its two files are not durable yet.
func (m *Mirror) writeEntry(dir string, r Record) error {
	if err := m.root.Symlink(r.link(), filepath.Join(dir, r.Manifest)); err != nil {
		return err
	}
	if err := m.root.CreateFile(filepath.Join(dir, r.Manifest+recordSuffix), 0o444, r.write); err != nil {
		return err
	}
	return m.root.CreateFile(filepath.Join(dir, r.Manifest+sumsSuffix), 0o444, r.writeSums)
}
