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
	if err := m.Objects.Sync(); err != nil {
		return err
	}
	if err := record.Check(); err != nil {
		return err
	}
	if err := m.Trees.build(treeOfRevision(record)); err != nil {
		return fmt.Errorf("build revision %s: %w", record.ID(), err)
	}
	for _, view := range views {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := m.Trees.prepareView(view); err != nil {
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

// Staged reads the record of a staged revision, whose tree must be on disk.
func (rs *Records) Staged(name, id string) (Record, error) {
	record, err := rs.readRecordOf(name, stagedRecord(name, id))
	if err == nil && record.ID() != id {
		err = fmt.Errorf("%s is %w: it is of another revision", rs.root.Path(stagedRecord(name, id)), errDamaged)
	}
	if err == nil {
		err = rs.findTree(record.Dir())
	}
	return record, err
}

// WriteStaged replaces a file beside the staged records of a manifest.
func (rs *Records) WriteStaged(name, file string, write func(io.Writer) error) error {
	return rs.disk.ReplaceFile(rs.root, filepath.Join(StagedDir, name, file), 0o600, write)
}

// DropStaged removes the staged records of a manifest, except that with the ID keep, and
// with keep "" all files beside them, too.
func (rs *Records) DropStaged(name, keep string) error {
	dir := filepath.Join(StagedDir, name)
	if keep == "" {
		if err := rs.root.RemoveTree(dir); err != nil {
			return err
		}
		return rs.disk.SyncDir(rs.root, StagedDir) // or a power cut could bring it back
	}
	err := rs.root.SweepTemps(dir)
	files, listErr := rs.root.Names(dir)
	err = errors.Join(err, listErr)
	for _, file := range files {
		id, isRecord := strings.CutSuffix(file, recordSuffix)
		if isRecord && id != keep {
			err = errors.Join(err, rs.root.Remove(filepath.Join(dir, file)))
		}
	}
	return err
}

// IsLost is true for an error of Staged that another attempt cannot mend.
func IsLost(err error) bool { return isGone(err) || errors.Is(err, errDamaged) }
