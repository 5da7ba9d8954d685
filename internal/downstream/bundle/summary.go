package bundle

import (
	"time"

	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
)

// Summary is what a bundle has, as `syncd bundle show --json` prints it.
type Summary struct {
	ID          manifest.ObjectID `json:"id"`
	Generation  int               `json:"generation"`
	Publisher   string            `json:"publisher"`
	PublishedAt time.Time         `json:"published_at"`
	Signed      *Signed           `json:"signed,omitempty"` // nil for an unsigned one; nothing was checked
	Since       manifest.ObjectID `json:"since,omitzero"`   // digest of the receipt whose contents are left out
	Contents    int               `json:"contents"`
	Patches     int               `json:"patches"` // contents that come as patches, from others or compressed
	Bytes       int64             `json:"bytes"`   // of the contents and patches
	Manifests   []ManifestSummary `json:"manifests"`
	Volumes     []VolumeSummary   `json:"volumes"`
}

// Signed is what the statement of a bundle says.
type Signed struct {
	Origin  string    `json:"origin"`
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires"`
}

// ManifestSummary is a manifest of a bundle.
type ManifestSummary struct {
	Name     string           `json:"name"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Files    int              `json:"files"`
	Bytes    int64            `json:"bytes"`
}

// VolumeSummary is a file of a bundle.
type VolumeSummary struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// Summary tells what the bundle has.
func (b *Bundle) Summary() Summary {
	s := Summary{
		ID: b.ID, Generation: b.Generation.Number, Publisher: b.Generation.Publisher, PublishedAt: b.Generation.PublishedAt, Since: b.Since,
		Contents: len(b.contents) + b.patches, Patches: b.patches, Bytes: b.bytes, Manifests: []ManifestSummary{},
	}
	if st, err := trust.ParseStatement([]byte(b.Current.Statement)); err == nil {
		s.Signed = &Signed{st.Origin, st.Issued, st.Expires}
	}
	for _, m := range b.Generation.Manifests {
		if b.HasRecord(m) {
			s.Manifests = append(s.Manifests, ManifestSummary{m.Name, m.Release, m.Revision, m.Files, m.Bytes})
		}
	}
	for _, f := range b.Volumes {
		s.Volumes = append(s.Volumes, VolumeSummary{f.Name, f.Size})
	}
	return s
}
