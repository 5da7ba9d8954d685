package status

import (
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// DiskUse adds up the sizes in the records on disk; it reads none of the files.
func DiskUse(m *mirror.Mirror) (report.DiskUse, error) {
	generations, err := m.Generations.All()
	if err != nil {
		return report.DiskUse{}, err
	}
	disk := report.DiskUse{Generations: []report.GenerationUse{}}
	shownBy := map[manifest.ObjectID]int{} // number of generations that have an object
	for _, g := range generations {
		for object, size := range contents(g) {
			if shownBy[object]++; shownBy[object] == 1 {
				disk.Bytes += size
			}
		}
	}
	current := m.Current().Number
	for _, g := range generations {
		use := report.GenerationUse{Number: g.Number, Current: g.Number == current, PublishedAt: g.PublishedAt.UTC()}
		for _, name := range g.Names() {
			shown := g.Records[name]
			use.Shows = append(use.Shows, report.ManifestRelease{Name: name, Release: string(shown.Release), Revision: shown.Revision})
		}
		for object, size := range contents(g) {
			use.Bytes += size
			if shownBy[object] == 1 {
				use.Own += size
			}
		}
		disk.Generations = append(disk.Generations, use)
	}
	if len(generations) > 0 {
		free, err := m.Free()
		disk.Free = free.Bytes
		return disk, err
	}
	return disk, nil
}

// contents returns the sizes of a generation's objects.
func contents(g mirror.Generation) map[manifest.ObjectID]int64 {
	sizes := map[manifest.ObjectID]int64{}
	for _, record := range g.Records {
		for _, f := range record.Files {
			sizes[f.Object] = f.Size
		}
	}
	return sizes
}
