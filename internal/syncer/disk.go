package syncer

import (
	"time"

	"syncd/internal/mirror"
)

// Disk is what the generations on disk take, the newest first.
type Disk struct {
	Generations []GenerationUse
	Bytes       int64 // of all generations, each content counted once
	Free        int64 // of the file system, for this user
}

// GenerationUse is one generation's part of a Disk.
type GenerationUse struct {
	Number      int
	Current     bool
	PublishedAt time.Time
	Shows       []ShownUnder
	Bytes       int64 // each content counted once
	Own         int64 // of contents that no other generation has
}

// ShownUnder is the release of a manifest that a generation shows.
type ShownUnder struct {
	Name    string
	Release string
}

// DiskOf adds up what the records on disk say; it reads none of the files.
func DiskOf(m *mirror.Mirror) (Disk, error) {
	generations, err := m.Generations()
	if err != nil {
		return Disk{}, err
	}
	disk := Disk{Generations: []GenerationUse{}}
	shown := map[string]int{} // in how many generations
	for _, g := range generations {
		for object, size := range contents(g) {
			if shown[object]++; shown[object] == 1 {
				disk.Bytes += size
			}
		}
	}
	current := m.Current().Number
	for _, g := range generations {
		use := GenerationUse{Number: g.Number, Current: g.Number == current, PublishedAt: g.PublishedAt.UTC()}
		for _, name := range g.Names() {
			use.Shows = append(use.Shows, ShownUnder{name, string(g.Records[name].Release)})
		}
		for object, size := range contents(g) {
			use.Bytes += size
			if shown[object] == 1 {
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

// contents are the sizes of a generation's objects, by their SHA-256.
func contents(g mirror.Generation) map[string]int64 {
	sizes := map[string]int64{}
	for _, record := range g.Records {
		for _, f := range record.Files {
			sizes[f.SHA256] = f.Size
		}
	}
	return sizes
}
