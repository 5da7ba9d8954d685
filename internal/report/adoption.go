package report

import "slices"

// MaxNamed is how many missing files an Adoption names for each manifest.
const MaxNamed = 20

// Adoption is the outcome of `syncd adopt`, as `adopt --json` prints it. A content
// counts as one file, however many paths or manifests have it.
type Adoption struct {
	Folder          string            `json:"folder"`
	FilesRead       int               `json:"files_read"`
	BytesRead       int64             `json:"bytes_read"`
	FilesAdopted    int               `json:"files_adopted"`
	BytesAdopted    int64             `json:"bytes_adopted"`
	FilesToDownload int               `json:"files_to_download"` // by the next sync
	BytesToDownload int64             `json:"bytes_to_download"` // as far as the provider tells sizes
	Manifests       []AdoptedManifest `json:"manifests"`
	Skipped         []SkippedFile     `json:"skipped,omitempty"` // the first ones
	SkippedCount    int               `json:"skipped_count,omitempty"`
}

// AdoptedManifest is one manifest's part of an Adoption.
type AdoptedManifest struct {
	Name            string   `json:"name"`
	Release         string   `json:"release"` // that the next sync makes
	FilesTotal      int      `json:"files_total"`
	FilesAdopted    int      `json:"files_adopted"`
	BytesAdopted    int64    `json:"bytes_adopted"`
	FilesToDownload int      `json:"files_to_download"`
	BytesToDownload int64    `json:"bytes_to_download"`
	Missing         []string `json:"missing"`          // paths of the first files to download, MaxNamed at most
	Reason          string   `json:"reason,omitempty"` // of a refusal
	Error           string   `json:"error"`            // why nothing was adopted for it
}

// SkippedFile is something in the folder that could not be read or moved.
type SkippedFile struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// OK is true when every manifest could be planned.
func (a Adoption) OK() bool {
	return !slices.ContainsFunc(a.Manifests, func(m AdoptedManifest) bool { return m.Error != "" })
}
