package mirror

import (
	"errors"
	"path/filepath"

	"syncd/internal/disk/datadir"
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
	if err := m.Objects.open(); err != nil {
		return err
	}
	if err := m.sweep(); err != nil {
		m.warn("removing an unfinished file failed: remove it by hand: %v", err)
	}
	current, err := m.Generations.recover()
	if err != nil {
		return err
	}
	m.Generations.setCurrent(current)
	if err := m.Generations.removeUnfinished(current.Number); err != nil {
		m.warn("removing an unfinished generation failed: remove it by hand: %v", err)
	}
	return nil
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

// Refresh compares the generation in memory with the disk, which is the truth. When
// the disk was changed or damaged, it recovers as at a start.
func (m *Mirror) Refresh() error {
	if err := m.Objects.InPlace(); err != nil {
		return err
	}
	if err := m.Generations.repeatSwap(); err != nil {
		return err
	}
	number, err := m.Generations.readCurrent()
	if err != nil {
		return err
	}
	if number == m.Generations.Current().Number {
		if number == 0 {
			return nil
		}
		_, err := m.Generations.read(number)
		if err == nil || !isGone(err) && !errors.Is(err, errDamaged) {
			return err
		}
	}
	if err := m.layOut(); err != nil { // a directory may have been removed
		return err
	}
	m.Generations.swapping.Lock()
	defer m.Generations.swapping.Unlock()
	current, err := m.Generations.recover()
	if err != nil {
		return err
	}
	m.Generations.setCurrent(current)
	return nil
}
