package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The state directory has a copy of the newest record of each revision, because
// `retain` keeps revisions that no generation shows any more. Losing the copy does no
// harm while a generation has the record.

const recordsDir = "state/records"

func recordDir(name string) string { return filepath.Join(recordsDir, name) }

// keepRecord writes the record of a revision that is about to be published.
func (m *Mirror) keepRecord(r Record) error {
	dir := recordDir(r.Manifest)
	for _, dir := range []string{recordsDir, dir} {
		if err := m.root.EnsureDir(dir, 0o700); err != nil {
			return err
		}
	}
	return m.disk.ReplaceFile(m.root, filepath.Join(dir, r.ID()+recordSuffix), 0o600, r.Write)
}

// RevisionCount is how many revisions of a manifest are on disk.
func (m *Mirror) RevisionCount(name string) int { return len(m.RevisionIDs(name)) }

// RevisionIDs names the revisions of a manifest on disk, staged ones included.
func (m *Mirror) RevisionIDs(name string) []string {
	names, _ := m.root.Names(filepath.Join("revisions", name)) // none if it cannot be read
	return slices.DeleteFunc(names, func(id string) bool { return strings.HasPrefix(id, ".") })
}

// Revision reads the record of a revision that was served.
func (m *Mirror) Revision(name, id string) (Record, error) {
	record, err := m.readRecordOf(name, filepath.Join(recordDir(name), id+recordSuffix))
	if err == nil && record.ID() == id {
		return record, m.findTree(record.Dir())
	}
	generations, listErr := m.Generations() // a data directory of an early version keeps its records only there
	for _, g := range generations {
		if r := g.Records[name]; r.ID() == id {
			return r, nil
		}
	}
	return Record{}, cmp.Or(listErr, err, fmt.Errorf("%s of %s %w: its record is of another revision", id, name, errDamaged))
}

// Revisions returns the record of every revision of a manifest on disk, the most
// recently served first.
func (m *Mirror) Revisions(name string) ([]Record, error) {
	generations, err := m.Generations()
	if err != nil {
		return nil, err
	}
	return m.revisionsOf(name, generations)
}

func (m *Mirror) revisionsOf(name string, generations []Generation) ([]Record, error) {
	seen := map[string]bool{}
	var records []Record
	for _, g := range generations {
		if r, shown := g.Records[name]; shown && !seen[r.ID()] {
			seen[r.ID()] = true
			records = append(records, r)
		}
	}
	kept, err := m.keptRecords(name, seen)
	if err != nil {
		return nil, err
	}
	for _, r := range kept {
		// Generations are ordered by number, so a changed clock has no effect on them.
		// A record that is in no generation has only its time.
		older := slices.IndexFunc(records, func(other Record) bool { return r.PublishedAt.After(other.PublishedAt) })
		if older < 0 {
			older = len(records)
		}
		records = slices.Insert(records, older, r)
	}
	return records, nil
}

// keptRecords reads the records in the state directory whose revision is on disk,
// except those whose IDs are in known. It leaves out records that cannot be read.
func (m *Mirror) keptRecords(name string, known map[string]bool) ([]Record, error) {
	names, err := m.root.Names(recordDir(name))
	if err != nil && !isGone(err) {
		return nil, err
	}
	var records []Record
	for _, file := range names {
		if known[strings.TrimSuffix(file, recordSuffix)] {
			continue
		}
		record, err := m.readRecordOf(name, filepath.Join(recordDir(name), file))
		if err != nil || record.ID()+recordSuffix != file {
			continue
		}
		if m.findTree(record.Dir()) == nil {
			records = append(records, record)
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.ID(), b.ID()) })
	return records, nil
}

// pruneRecords removes the kept records of revisions that are not in keep.
func (m *Mirror) pruneRecords(keep map[string]bool) error {
	manifests, err := m.root.Names(recordsDir)
	if isGone(err) {
		return nil
	}
	for _, name := range manifests {
		files, readErr := m.root.Names(recordDir(name))
		err = errors.Join(err, readErr)
		for _, file := range files {
			if id := strings.TrimSuffix(file, recordSuffix); !keep[filepath.Join(name, id)] {
				err = errors.Join(err, m.root.Remove(filepath.Join(recordDir(name), file)))
			}
		}
		_ = m.root.Remove(recordDir(name)) // fails while it has records
	}
	return err
}
