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
	Path     string `json:"path"`
	Error    string `json:"error"`
	Repaired bool   `json:"repaired"`
}

// OK is true when no damage is left.
func (v Verification) OK() bool {
	return !slices.ContainsFunc(v.Damage, func(d DamagedFile) bool { return !d.Repaired })
}
