package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"syncd/internal/export"
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
	View     string `json:"view,omitempty"`   // the file is one of this view, or ""
	Path     string `json:"path"`             // within the view, or the manifest
	Export   string `json:"export,omitempty"` // the exported folder that the file lies in, or ""
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

// VerifyExports re-reads the exported folders. A folder that syncd did not export counts
// as damage without a path.
func VerifyExports(ctx context.Context, m *mirror.Mirror, targets []export.Target, rate int64) (result Verification, err error) {
	for _, t := range targets {
		if _, served := m.Current().Views[t.View]; !served {
			continue
		}
		checked, err := export.Verify(ctx, t, rate)
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		result.Files += checked.Files
		result.Bytes += checked.Bytes
		if err != nil {
			checked.Damage = append(checked.Damage, export.Damage{Err: err})
		}
		for _, d := range checked.Damage {
			result.Damage = append(result.Damage, DamagedFile{View: t.View, Export: t.Path, Path: d.Path, Error: OneLine(d.Err.Error())})
		}
	}
	return result, nil
}

// Add adds the files of another verification.
func (v *Verification) Add(other Verification) {
	v.Files += other.Files
	v.Bytes += other.Bytes
	v.Damage = append(v.Damage, other.Damage...)
}

// Mended notes that an exported folder was replaced by a new tree, or why not.
func (v *Verification) Mended(e ExportResult) {
	for i, d := range v.Damage {
		if d.Export != e.Path {
			continue
		}
		v.Damage[i].Repaired = e.Error == ""
		if e.Error != "" {
			v.Damage[i].Error += "; not repaired: " + e.Error
		}
	}
}
