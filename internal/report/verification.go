package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report/request"
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

	Shared bool `json:"-"` // a served file has the same damage
}

// OK is true when no damage is left.
func (v Verification) OK() bool {
	return !slices.ContainsFunc(v.Damage, func(d DamagedFile) bool { return !d.Repaired })
}

// Verify re-reads the served files of the named manifests, of all for none. It
// changes nothing.
func Verify(ctx context.Context, m *mirror.Mirror, req request.Verify) (Verification, mirror.Checked, error) {
	names := req.Manifests
	if len(names) == 0 {
		names = m.Current().Names()
	}
	if len(names) == 0 {
		return Verification{}, mirror.Checked{}, errors.New("nothing is served: run `syncd sync`")
	}
	for _, name := range names {
		if _, served := m.Current().Records[name]; !served {
			return Verification{}, mirror.Checked{}, fmt.Errorf("manifest %q is not served: `syncd status` shows what is", name)
		}
	}
	checked, err := m.Verify(ctx, names, req.Rate)
	if err != nil {
		return Verification{}, mirror.Checked{}, err
	}
	result := Verification{Files: checked.Files, Bytes: checked.Bytes, Damage: []DamagedFile{}}
	for _, d := range checked.Damage {
		result.Damage = append(result.Damage, DamagedFile{Manifest: d.Manifest, View: d.View, Path: d.Path(), Error: OneLine(d.Err.Error())})
	}
	return result, checked, nil
}

// VerifyExports re-reads the exported folders, but not what the folders share with the
// served files that were checked. A folder that syncd did not export counts as damage
// without a path.
func VerifyExports(ctx context.Context, m *mirror.Mirror, served mirror.Checked, targets []export.Target, rate int64) (result Verification, err error) {
	for _, t := range targets {
		if _, isServed := m.Current().Views[t.View]; !isServed {
			continue
		}
		known := func(path string, file fsops.Info) (bool, error) { return m.Known(served, t.View, path, file) }
		checked, err := export.Verify(ctx, t, rate, known)
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		result.Files += checked.Files
		result.Bytes += checked.Bytes
		if err != nil {
			checked.Damage = append(checked.Damage, export.Damage{Err: err})
		}
		for _, d := range checked.Damage {
			result.Damage = append(result.Damage, DamagedFile{View: t.View, Export: t.Path, Path: d.Path, Error: OneLine(d.Err.Error()), Shared: d.Shared})
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
