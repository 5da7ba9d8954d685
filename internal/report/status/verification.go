package status

import (
	"context"
	"errors"
	"fmt"

	"syncd/internal/disk/fsops"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Verify re-reads the served files of the named manifests, of all for none. It
// changes nothing.
func Verify(ctx context.Context, m *mirror.Mirror, req request.Verify) (report.Verification, mirror.Checked, error) {
	names := req.Manifests
	if len(names) == 0 {
		names = m.Current().Names()
	}
	if len(names) == 0 {
		return report.Verification{}, mirror.Checked{}, errors.New("nothing is served: run `syncd sync`")
	}
	for _, name := range names {
		if _, served := m.Current().Records[name]; !served {
			return report.Verification{}, mirror.Checked{}, fmt.Errorf("manifest %q is not served: `syncd status` shows what is", name)
		}
	}
	checked, err := m.Verify(ctx, names, req.Rate)
	if err != nil {
		return report.Verification{}, mirror.Checked{}, err
	}
	result := report.Verification{Files: checked.Files, Bytes: checked.Bytes, Damage: []report.DamagedFile{}}
	for _, d := range checked.Damage {
		result.Damage = append(result.Damage, report.DamagedFile{Manifest: d.Manifest, View: d.View, Path: d.Path(), Error: report.OneLine(d.Err.Error())})
	}
	return result, checked, nil
}

// VerifyExports re-reads the exported folders, but not what the folders share with the
// served files that were checked. A folder that syncd did not export counts as damage
// without a path.
func VerifyExports(ctx context.Context, m *mirror.Mirror, served mirror.Checked, targets []export.Target, rate int64) (result report.Verification, err error) {
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
			result.Damage = append(result.Damage, report.DamagedFile{View: t.View, Export: t.Path, Path: d.Path, Error: report.OneLine(d.Err.Error()), Shared: d.Shared})
		}
	}
	return result, nil
}
