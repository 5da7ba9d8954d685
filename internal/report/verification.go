package report

import "slices"

// Verification is the outcome of re-reading what is served, as `verify --json`
// prints it.
type Verification struct {
	Files  int           `json:"files"`
	Bytes  int64         `json:"bytes"`
	Damage []DamagedFile `json:"damage"`
}

// DamagedFile is a served file whose content is not the recorded one.
type DamagedFile struct {
	Manifest string `json:"manifest"`
	View     string `json:"view,omitempty"`   // the file is one of this view, or ""
	Path     string `json:"path"`             // within the view, or the manifest
	Export   string `json:"export,omitempty"` // the exported folder that the file lies in, or ""
	Error    string `json:"error"`
	Repaired bool   `json:"repaired"`

	Shared bool `json:"-"` // a served file has the same damage
}

// OK is true when no damage is left.
func (v Verification) OK() bool {
	return !slices.ContainsFunc(v.Damage, func(d DamagedFile) bool { return !d.Repaired })
}

// Add adds the files of another verification.
func (v *Verification) Add(other Verification) {
	v.Files += other.Files
	v.Bytes += other.Bytes
	v.Damage = append(v.Damage, other.Damage...)
}

// CanMend is true for an exported folder with damage that the served files do not have.
func (v Verification) CanMend(folder string) bool {
	return slices.ContainsFunc(v.Damage, func(d DamagedFile) bool { return d.Export == folder && !d.Shared })
}

// Mended notes that an exported folder was replaced by a new tree, or why not.
func (v *Verification) Mended(e ExportResult) {
	for i, d := range v.Damage {
		if d.Export != e.Path || d.Shared {
			continue
		}
		v.Damage[i].Repaired = e.Error == ""
		if e.Error != "" {
			v.Damage[i].Error += "; not repaired: " + e.Error
		}
	}
}
