package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// A staged revision is complete and durable, and no generation shows it. Its record lies
// in the state directory, apart from those of revisions that were served once. Package
// staging says what may become of it.

// StagedDir is the directory of all that is staged, below the data directory.
const StagedDir = "state/staged"

// stagedRecord is the file of a staged record.
func stagedRecord(name, id string) string { return filepath.Join(StagedDir, name, id+recordSuffix) }

// Stage makes a revision complete and durable, and the trees of views that show it. The
// objects must be adopted. Nothing of it is served.
func (m *Mirror) Stage(ctx context.Context, record Record, views []View) error {
	if err := m.SyncObjects(); err != nil {
		return err
	}
	if err := record.Check(); err != nil {
		return err
	}
	if err := m.buildTree(treeOfRevision(record)); err != nil {
		return fmt.Errorf("build revision %s: %w", record.ID(), err)
	}
	for _, view := range views {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := m.prepareView(view); err != nil {
			return fmt.Errorf("build view %s: %w", view.Name, err)
		}
	}
	for _, dir := range []string{StagedDir, filepath.Join(StagedDir, record.Manifest)} {
		if err := m.ensurePrivate(dir); err != nil {
			return err
		}
	}
	return m.disk.ReplaceFile(m.root, stagedRecord(record.Manifest, record.ID()), 0o600, record.Write)
}

// ensurePrivate makes a directory of the state, and its name durable.
func (m *Mirror) ensurePrivate(dir string) error {
	if err := m.root.EnsureDir(dir, 0o700); err != nil {
		return err
	}
	return m.disk.SyncDir(m.root, filepath.Dir(dir))
}

// Staged reads the record of a staged revision, whose tree must be on disk.
func (m *Mirror) Staged(name, id string) (Record, error) {
	record, err := m.readRecordOf(name, stagedRecord(name, id))
	if err == nil && record.ID() != id {
		err = fmt.Errorf("%s is %w: it is of another revision", m.root.Path(stagedRecord(name, id)), errDamaged)
	}
	if err == nil {
		err = m.findTree(record.Dir())
	}
	return record, err
}

// WriteStaged replaces a file beside the staged records of a manifest.
func (m *Mirror) WriteStaged(name, file string, write func(io.Writer) error) error {
	return m.disk.ReplaceFile(m.root, filepath.Join(StagedDir, name, file), 0o600, write)
}

// DropStaged removes the staged records of a manifest, except that with the ID keep, and
// with keep "" all files beside them, too.
func (m *Mirror) DropStaged(name, keep string) error {
	dir := filepath.Join(StagedDir, name)
	if keep == "" {
		if err := m.root.RemoveTree(dir); err != nil {
			return err
		}
		return m.disk.SyncDir(m.root, StagedDir) // or a power cut could bring it back
	}
	err := m.root.SweepTemps(dir)
	files, listErr := m.root.Names(dir)
	err = errors.Join(err, listErr)
	for _, file := range files {
		id, isRecord := strings.CutSuffix(file, recordSuffix)
		if isRecord && id != keep {
			err = errors.Join(err, m.root.Remove(filepath.Join(dir, file)))
		}
	}
	return err
}

// IsLost is true for an error of Staged that another attempt cannot mend.
func IsLost(err error) bool { return isGone(err) || errors.Is(err, errDamaged) }

// RevisionPath is the absolute path of a revision's tree.
func (m *Mirror) RevisionPath(r Record) string { return m.root.Path(r.Dir()) }

// ViewPath is the absolute path of a view's tree.
func (m *Mirror) ViewPath(v View) string { return m.root.Path(v.Dir()) }
