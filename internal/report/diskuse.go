package report

import "time"

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
	Name     string
	Release  string
	Revision string
}
