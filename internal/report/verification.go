package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"syncd/internal/mirror"
	"syncd/internal/request"
)

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
	View     string `json:"view,omitempty"` // the file is one of this view, or ""
	Path     string `json:"path"`           // within the view, or the manifest
	Error    string `json:"error"`
	Repaired bool   `json:"repaired"`
}

// OK is true when no damage is left.
func (v Verification) OK() bool {
	return !slices.ContainsFunc(v.Damage, func(d DamagedFile) bool { return !d.Repaired })
}

// Verify re-reads the served files of the named manifests, of all for none. It
// changes nothing.
func Verify(ctx context.Context, m *mirror.Mirror, req request.Verify) (Verification, []mirror.Damage, error) {
	names := req.Manifests
	if len(names) == 0 {
		names = m.Current().Names()
	}
	if len(names) == 0 {
		return Verification{}, nil, errors.New("nothing is served: run `syncd sync`")
	}
	for _, name := range names {
		if _, served := m.Current().Records[name]; !served {
			return Verification{}, nil, fmt.Errorf("manifest %q is not served: `syncd status` shows what is", name)
		}
	}
	checked, err := m.Verify(ctx, names, req.Rate)
	if err != nil {
		return Verification{}, nil, err
	}
	result := Verification{Files: checked.Files, Bytes: checked.Bytes, Damage: []DamagedFile{}}
	for _, d := range checked.Damage {
		result.Damage = append(result.Damage, DamagedFile{Manifest: d.Manifest, View: d.View, Path: d.Path(), Error: OneLine(d.Err.Error())})
	}
	return result, checked.Damage, nil
}
