package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"syncd/internal/disk/datadir"
	"syncd/internal/disk/fsops"
)

// MakeState creates the data directory and its state directory, which holds the
// lock. Every other change needs the lock.
func (m *Mirror) MakeState() error {
	root, err := datadir.OpenForChanges(m.dir, m.disk)
	if err != nil {
		return err
	}
	if err := m.root.Close(); err != nil {
		return err
	}
	m.root = root
	return root.EnsureDir("state", 0o700)
}

// Recover prepares the data directory for changes: it creates missing directories
// and removes what a crash left unfinished. Its second call finds nothing to do. A
// leftover temp name is never reused, so failing to remove it is only a warning.
func (m *Mirror) Recover() error {
	if err := m.MakeState(); err != nil {
		return err
	}
	if err := m.layOut(); err != nil {
		return err
	}
	if err := m.openFolders(); err != nil {
		return err
	}
	if err := m.sweep(); err != nil {
		m.warn("removing an unfinished file failed: remove it by hand: %v", err)
	}
	current, err := m.recoverCurrent()
	if err != nil {
		return err
	}
	m.setCurrent(current)
	if err := m.removeUnfinished(current.Number); err != nil {
		m.warn("removing an unfinished generation failed: remove it by hand: %v", err)
	}
	return nil
}

func (m *Mirror) warn(format string, args ...any) {
	if m.disk.Warn != nil {
		m.disk.Warn(fmt.Sprintf(format, args...))
	}
}

func (m *Mirror) layOut() error {
	for _, folder := range datadir.Folders() {
		if _, err := m.root.Lstat(folder.Name); isGone(err) && !folder.IsNeeded {
			continue
		}
		perm := folder.Perm
		if slices.Contains(readableFolders(), folder.Name) {
			perm = m.access.Directories
		}
		err := m.root.EnsureDir(folder.Name, perm)
		if err == nil {
			err = m.disk.SyncDir(m.root, ".")
		}
		if err != nil {
			return fmt.Errorf("%w: does another user own the data directory?", err)
		}
	}
	return nil
}

// openFolders opens the directories in which each download changes something.
func (m *Mirror) openFolders() (err error) {
	if err := errors.Join(m.objects.Close(), m.partial.Close()); err != nil {
		return err
	}
	if m.objects, err = m.root.OpenDir("objects"); err != nil {
		return err
	}
	m.partial, err = m.root.OpenDir("partial")
	return err
}

// sweep removes temporary names from every directory where a change makes one.
func (m *Mirror) sweep() error {
	dirs := []string{".", "generations", "revisions", "views", "objects", "state"}
	entries, err := m.root.ReadDir("revisions")
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, filepath.Join("revisions", entry.Name()), recordDir(entry.Name()))
		}
	}
	views, viewsErr := m.root.ReadDir("views")
	for _, entry := range views {
		if entry.IsDir() {
			dirs = append(dirs, filepath.Join("views", entry.Name()))
		}
	}
	if !isGone(viewsErr) {
		err = errors.Join(err, viewsErr)
	}
	for _, dir := range dirs {
		err = errors.Join(err, m.root.SweepTemps(dir))
	}
	return err
}

// recoverCurrent returns the generation that `current` names. When that one is
// missing or damaged, which no crash of syncd causes, it falls back to the newest
// complete one. If there is none, `current` stays as it is, and the next Publish
// uses the number after it.
func (m *Mirror) recoverCurrent() (Generation, error) {
	number, err := m.readCurrent()
	if err != nil {
		return Generation{}, err
	}
	if number > 0 {
		if g, err := m.readGeneration(number); err == nil {
			return g, nil
		}
	}
	all, err := m.Generations()
	if err != nil || len(all) == 0 {
		return Generation{Number: number}, err
	}
	m.warn("current named no complete generation; it now names generation %d, the newest complete one: `syncd sync` updates it", all[0].Number)
	return all[0], m.swap(all[0].Number)
}

// checkFolders requires that the directories which the mirror holds open are still
// those of the data directory: files in another one would be lost.
func (m *Mirror) checkFolders() error {
	for name, held := range map[string]*fsops.Dir{"objects": m.objects, "partial": m.partial} {
		if held == nil {
			continue
		}
		now, err := m.root.Info(name)
		then, heldErr := held.Info(".")
		if err := errors.Join(err, heldErr); err != nil || !now.Same(then) {
			return fmt.Errorf("%s was removed or replaced while syncd was running: restart syncd: %w", m.root.Path(name), cmp.Or(err, errReplaced))
		}
	}
	return nil
}

var errReplaced = errors.New("it is another directory now")

// Refresh compares the generation in memory with the disk, which is the truth. When
// the disk was changed or damaged, it recovers as at a start.
func (m *Mirror) Refresh() error {
	if err := m.checkFolders(); err != nil {
		return err
	}
	if err := m.repeatUnsyncedSwap(); err != nil {
		return err
	}
	number, err := m.readCurrent()
	if err != nil {
		return err
	}
	if number == m.Current().Number {
		if number == 0 {
			return nil
		}
		_, err := m.readGeneration(number)
		if err == nil || !isGone(err) && !errors.Is(err, errDamaged) {
			return err
		}
	}
	if err := m.layOut(); err != nil { // a directory may have been removed
		return err
	}
	m.swapping.Lock()
	defer m.swapping.Unlock()
	current, err := m.recoverCurrent()
	if err != nil {
		return err
	}
	m.setCurrent(current)
	return nil
}

// Intact is nil while `current` and the names of its generation are those of the
// generation in memory. It does not read files. Safe for concurrent use.
func (m *Mirror) Intact() error {
	m.swapping.RLock()
	defer m.swapping.RUnlock()
	number, err := m.readCurrent()
	if err != nil {
		return err
	}
	current := m.Current()
	if number != current.Number {
		return fmt.Errorf("current names generation %d, not %d: run `syncd sync`", number, current.Number)
	}
	for _, e := range current.entries() {
		name := e.EntryName()
		for _, entry := range []string{name, name + recordSuffix, name + sumsSuffix} {
			if _, err := m.root.Stat(filepath.Join(generationDir(number), entry)); err != nil {
				return fmt.Errorf("%s of generation %d is missing: run `syncd sync`", entry, number)
			}
		}
	}
	return nil
}

// removeUnfinished removes the generations above current, which were built and never
// published.
func (m *Mirror) removeUnfinished(current int) error {
	numbers, err := m.numbers()
	for _, n := range slices.Backward(numbers) {
		if n > current {
			err = errors.Join(err, m.root.RemoveTree(generationDir(n)))
		}
	}
	return err
}
