package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/request"
)

// Verify re-reads the served files of the named manifests, of all for none. It
// changes nothing.
func Verify(ctx context.Context, m *mirror.Mirror, req request.Verify) (report.Verification, []mirror.Damage, error) {
	names := req.Manifests
	if len(names) == 0 {
		names = m.Current().Names()
	}
	if len(names) == 0 {
		return report.Verification{}, nil, errors.New("nothing is served: run `syncd sync`")
	}
	for _, name := range names {
		if _, served := m.Current().Records[name]; !served {
			return report.Verification{}, nil, fmt.Errorf("manifest %q is not served: `syncd status` shows what is", name)
		}
	}
	checked, err := m.Verify(ctx, names, req.Rate)
	if err != nil {
		return report.Verification{}, nil, err
	}
	result := report.Verification{Files: checked.Files, Bytes: checked.Bytes, Damage: []report.DamagedFile{}}
	for _, d := range checked.Damage {
		result.Damage = append(result.Damage, report.DamagedFile{Manifest: d.Manifest, Path: d.File.Path, Error: report.OneLine(d.Err.Error())})
	}
	return result, checked.Damage, nil
}

// Repair verifies, and replaces each damaged file in every revision that has it: by
// its object if that is whole, else by a proven copy from the provider.
func (s *Syncer) Repair(ctx context.Context, req request.Verify) (report.Verification, error) {
	s.progress.Begin(request.TriggerRepair, time.Now(), nil)
	defer s.progress.End()
	if err := s.cfg.Mirror.Intact(); err != nil {
		return report.Verification{}, err
	}
	result, damage, err := Verify(ctx, s.cfg.Mirror, req)
	if err != nil {
		return report.Verification{}, err
	}
	for i, d := range damage {
		s.cfg.Metrics.VerifyFailed(d.Manifest)
		err := s.repair(ctx, d)
		if err == nil {
			err = s.cfg.Mirror.Reread(ctx, d)
		}
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		result.Damage[i].Repaired = err == nil
		if err != nil {
			result.Damage[i].Error += "; not repaired: " + report.OneLine(err.Error())
		}
	}
	return result, nil
}

func (s *Syncer) repair(ctx context.Context, d mirror.Damage) error {
	if !s.cfg.Mirror.ObjectIsWhole(ctx, d.File.Object) {
		if err := s.refetch(ctx, d); err != nil {
			return err
		}
	}
	return s.cfg.Mirror.Relink(d.File.Object)
}

func (s *Syncer) refetch(ctx context.Context, d mirror.Damage) error {
	ref, err := manifest.ParseReference(d.File.Reference)
	if err != nil {
		return err
	}
	file := manifest.File{Reference: ref, Path: d.File.Path, Expected: d.File.Object.Digest()}
	proven, err := s.downloads.fetch(ctx, d.Manifest, file, d.File.Size, func(int64) {})
	if err != nil {
		return err
	}
	return s.inventory.Add(proven)
}
