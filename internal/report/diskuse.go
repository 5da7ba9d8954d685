package report

import (
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// DiskUse is the space that the generations on disk take, the newest first.
type DiskUse struct {
	Generations []GenerationUse
	Bytes       int64 // of all generations, each content counted once
	Free        int64 // of the file system, for this user
}

// GenerationUse is one generation's part of a DiskUse.
type GenerationUse struct {
	Number      int
	Current     bool
	PublishedAt time.Time
	Shows       []ManifestRelease
	Bytes       int64 // each content counted once
	Own         int64 // of contents that no other generation has
}

// ManifestRelease is a release of a manifest.
type ManifestRelease struct {
	Name    string
	Release string
}

// ReadDiskUse adds up the sizes in the records on disk; it reads none of the files.
func ReadDiskUse(m *mirror.Mirror) (DiskUse, error) {
	generations, err := m.Generations()
	if err != nil {
		return DiskUse{}, err
	}
	disk := DiskUse{Generations: []GenerationUse{}}
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
		use := GenerationUse{Number: g.Number, Current: g.Number == current, PublishedAt: g.PublishedAt.UTC()}
		for _, name := range g.Names() {
			use.Shows = append(use.Shows, ManifestRelease{name, string(g.Records[name].Release)})
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
