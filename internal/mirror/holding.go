package mirror

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/manifest"
)

// Holding lists the files with a content, in every revision on disk, those that are
// served first. Err is nil in all of them.
func (rs *Records) Holding(id manifest.ObjectID) ([]Damage, error) {
	records, err := rs.withStaged()
	if err != nil {
		return nil, err
	}
	current := rs.generations.Current()
	isServed := func(r Record) bool { return current.Records[r.Manifest].ID() == r.ID() }
	slices.SortStableFunc(records, func(a, b Record) int {
		if served := isServed(a); served != isServed(b) {
			return map[bool]int{true: -1, false: 1}[served]
		}
		return cmp.Or(cmp.Compare(a.Manifest, b.Manifest), cmp.Compare(b.ID(), a.ID()))
	})
	var all []Damage
	seen := map[[2]string]bool{}
	for _, r := range records {
		if key := [2]string{r.Manifest, r.ID()}; !seen[key] {
			seen[key] = true
			all = append(all, holding(r, id)...)
		}
	}
	return all, nil
}

// withStaged returns the record of every revision on disk, staged ones included. A
// revision may have several.
func (rs *Records) withStaged() ([]Record, error) {
	records, err := rs.All()
	if err != nil {
		return nil, err
	}
	staged, err := rs.namesBelow(StagedDir)
	for _, name := range staged {
		id, isRecord := strings.CutSuffix(filepath.Base(name), recordSuffix)
		if !isRecord {
			continue
		}
		if record, err := rs.Staged(filepath.Base(filepath.Dir(name)), id); err == nil {
			records = append(records, record)
		}
	}
	return records, err
}

func holding(r Record, id manifest.ObjectID) (files []Damage) {
	for _, f := range r.Files {
		if f.Object == id {
			files = append(files, Damage{Manifest: r.Manifest, File: f})
		}
	}
	return files
}
