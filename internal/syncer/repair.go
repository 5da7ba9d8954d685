package syncer

import (
	"context"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/request"
)

// Repair verifies, and replaces each damaged file in every revision that has it: by
// its object if that is whole, else by a proven copy from the provider.
func (s *Syncer) Repair(ctx context.Context, req request.Verify) (report.Verification, error) {
	s.progress.Begin(request.TriggerRepair, time.Now(), nil)
	defer s.progress.End()
	if err := s.cfg.Mirror.Intact(); err != nil {
		return report.Verification{}, err
	}
	result, damage, err := report.Verify(ctx, s.cfg.Mirror, req)
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
