package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/mirror/permissions"
	"syncd/internal/mirror/record"
)

// The types of the rooms below, under the names by which callers of a Mirror know them.
type (
	// Record is a revision's list of files, with what is known of it.
	Record = record.Record
	// File is one file of a Record.
	File = record.File
	// Hold keeps a manifest back after a rollback.
	Hold = record.Hold
	// Orders are what an operator said by pin, hold and skip.
	Orders = record.Orders
	// View is the record of a view's tree.
	View = record.View
	// ViewFile is one file of a View.
	ViewFile = record.ViewFile
	// Access is the permissions of all that readers see.
	Access = permissions.Access
)

// Records describe the revisions on disk: those that generations show, those that were
// served before, and staged ones.
//
// The state directory has a copy of the newest record of each revision, because
// `retain` keeps revisions that no generation shows any more. Losing the copy does no
// harm while a generation has the record.
type Records struct {
	*folder
	generations *Generations
}

const recordsDir = "state/records"

func recordDir(name string) string { return filepath.Join(recordsDir, name) }

// keep writes the record of a revision that is about to be published.
func (rs *Records) keep(r Record) error {
	dir := recordDir(r.Manifest)
	for _, dir := range []string{recordsDir, dir} {
		if err := rs.ensurePrivate(dir); err != nil {
			return err
		}
	}
	return rs.disk.ReplaceFile(rs.root, filepath.Join(dir, r.ID()+recordSuffix), 0o600, r.Write)
}

// All returns every record on disk: those of each generation, and those of
// revisions that no generation shows any more. A revision may have several.
func (rs *Records) All() ([]Record, error) {
	generations, err := rs.generations.All()
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, g := range generations {
		records = slices.AppendSeq(records, maps.Values(g.Records))
	}
	names, err := rs.root.Names(recordsDir)
	if err != nil && !isGone(err) {
		return nil, err
	}
	for _, name := range names {
		kept, err := rs.kept(name, nil)
		if err != nil {
			return nil, err
		}
		records = append(records, kept...)
	}
	return records, nil
}

// The provider may describe the files of a revision after it went live, for other hosts. The
// records of `current` and the kept ones then change, and the trees stay.

// keepDescribed writes the kept records of revisions of which more is known.
func (rs *Records) keepDescribed(described []Record) error {
	for _, d := range described {
		if record := rs.generations.Current().Records[d.Manifest]; record.ID() == d.ID() {
			if err := rs.keep(record.DescribedAs(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Describe keeps a record of an earlier revision of which more is known now, unless the
// revision is gone.
func (rs *Records) Describe(record Record) error {
	if gone := rs.findTree(record.Dir()); gone != nil {
		return nil //nolint:nilerr // nothing is to be kept
	}
	return rs.keep(record)
}

// Described returns a record of an earlier generation with what is known of its revision
// by now.
func (rs *Records) Described(record Record) Record {
	if kept, err := rs.Revision(record.Manifest, record.ID()); err == nil && kept.Described {
		return record.DescribedAs(kept)
	}
	return record
}

// RevisionCount is how many revisions of a manifest are on disk.
func (rs *Records) RevisionCount(name string) int { return len(rs.RevisionIDs(name)) }

// RevisionIDs names the revisions of a manifest on disk, staged ones included.
func (rs *Records) RevisionIDs(name string) []string {
	names, _ := rs.root.Names(filepath.Join("revisions", name)) // none if it cannot be read
	return slices.DeleteFunc(names, func(id string) bool { return strings.HasPrefix(id, ".") })
}

// Revision reads the record of a revision that was served.
func (rs *Records) Revision(name, id string) (Record, error) {
	record, err := rs.readRecordOf(name, filepath.Join(recordDir(name), id+recordSuffix))
	if err == nil && record.ID() == id {
		return record, rs.findTree(record.Dir())
	}
	generations, listErr := rs.generations.All() // a data directory of an early version keeps its records only there
	for _, g := range generations {
		if r := g.Records[name]; r.ID() == id {
			return r, nil
		}
	}
	return Record{}, cmp.Or(listErr, err, fmt.Errorf("%s of %s %w: its record is of another revision", id, name, errDamaged))
}

// Revisions returns the record of every revision of a manifest on disk, the most
// recently served first.
func (rs *Records) Revisions(name string) ([]Record, error) {
	generations, err := rs.generations.All()
	if err != nil {
		return nil, err
	}
	return rs.revisionsOf(name, generations)
}

func (rs *Records) revisionsOf(name string, generations []Generation) ([]Record, error) {
	seen := map[string]bool{}
	var records []Record
	for _, g := range generations {
		if r, shown := g.Records[name]; shown && !seen[r.ID()] {
			seen[r.ID()] = true
			records = append(records, r)
		}
	}
	kept, err := rs.kept(name, seen)
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

// kept reads the records in the state directory whose revision is on disk,
// except those whose IDs are in known. It leaves out records that cannot be read.
func (rs *Records) kept(name string, known map[string]bool) ([]Record, error) {
	names, err := rs.root.Names(recordDir(name))
	if err != nil && !isGone(err) {
		return nil, err
	}
	var records []Record
	for _, file := range names {
		if known[strings.TrimSuffix(file, recordSuffix)] {
			continue
		}
		record, err := rs.readRecordOf(name, filepath.Join(recordDir(name), file))
		if err != nil || record.ID()+recordSuffix != file {
			continue
		}
		if rs.findTree(record.Dir()) == nil {
			records = append(records, record)
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.ID(), b.ID()) })
	return records, nil
}

// retained chooses, for each served manifest, the served revision and the ones most
// recently served before it, also those that no generation shows any more. asked are
// further ones that other hosts use.
func (rs *Records) retained(all []Generation, keep Retention) (retained map[string]Record, asked []Record, err error) {
	retained = map[string]Record{}
	current := rs.generations.Current().Records
	for _, name := range slices.AppendSeq(slices.Clone(keep.Withdrawn), maps.Keys(current)) {
		served, isServed := current[name]
		if isServed {
			retained[served.Key()] = served
		}
		records, err := rs.revisionsOf(name, all)
		if err != nil {
			return nil, nil, err
		}
		records = slices.DeleteFunc(records, func(r Record) bool { return r.ID() == served.ID() })
		earlier := min(keep.earlier(name), len(records))
		if !isServed {
			earlier = min(keep.earlier(name)+1, len(records))
		}
		for _, record := range records[:earlier] {
			retained[record.Key()] = record
		}
		for _, record := range records[earlier:] {
			if _, isAsked := keep.Asked[record.Key()]; isAsked {
				asked = append(asked, record)
			}
		}
	}
	return retained, asked, nil
}

// prune removes the kept records of revisions that are not in keep.
func (rs *Records) prune(keep map[string]bool) error {
	manifests, err := rs.root.Names(recordsDir)
	if isGone(err) {
		return nil
	}
	for _, name := range manifests {
		files, readErr := rs.root.Names(recordDir(name))
		err = errors.Join(err, readErr)
		for _, file := range files {
			if id := strings.TrimSuffix(file, recordSuffix); !keep[filepath.Join(name, id)] {
				err = errors.Join(err, rs.root.Remove(filepath.Join(recordDir(name), file)))
			}
		}
		_ = rs.root.Remove(recordDir(name)) // fails while it has records
	}
	return err
}
