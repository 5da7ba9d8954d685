package syncer

import (
	"context"
	"errors"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

// Repair verifies, and replaces each damaged file in every revision that has it: by
// its object if that is whole, else by a proven copy from the provider. Only the
// replacement waits for the turn.
func (s *Syncer) Repair(ctx context.Context, req request.Verify) (report.Verification, error) {
	defer s.progress.Begin(request.TriggerRepair, time.Now(), nil)()
	if err := s.cfg.Mirror.Generations.Intact(); err != nil {
		return report.Verification{}, err
	}
	verified := s.tree.Room().Read()
	result, checked, err := status.Verify(ctx, s.cfg.Mirror, req)
	verified()
	if err != nil {
		return report.Verification{}, err
	}
	if err := s.tree.NotifyDamage(ctx, checked.Damage); err != nil {
		return report.Verification{}, err
	}
	for i, d := range checked.Damage {
		s.cfg.Metrics.VerifyFailed(d.Manifest)
		err := s.repair(ctx, d)
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		result.Damage[i].Repaired = err == nil
		if err != nil {
			result.Damage[i].Error += "; not repaired: " + report.OneLine(err.Error())
		}
	}
	if len(req.Manifests) > 0 {
		return result, nil
	}
	exported, err := s.tree.RepairExports(ctx, checked, req.Rate)
	result.Add(exported)
	return result, err
}

func (s *Syncer) repair(ctx context.Context, d mirror.Damage) error {
	if d.HashFile {
		return s.tree.Change(ctx, func() error {
			return errors.Join(s.cfg.Mirror.RewriteHashFile(d), s.cfg.Mirror.Reread(ctx, d))
		})
	}
	if !s.cfg.Mirror.Objects.IsWhole(ctx, d.File.Object) {
		if err := s.refetch(ctx, d); err != nil {
			return err
		}
	}
	err := s.tree.Change(ctx, func() error { return s.cfg.Mirror.Relink(d.File.Object) })
	if err != nil {
		return err
	}
	return s.cfg.Mirror.Reread(ctx, d) // a large file takes long to read, so others have the turn
}

func (s *Syncer) refetch(ctx context.Context, d mirror.Damage) error {
	file := manifest.File{Reference: d.File.Reference, Path: d.File.Path, Expected: d.File.Object.Digest()}
	defer s.cfg.Shared.repair(d.File.Object)()
	return s.downloads.Obtain(ctx, d.Manifest, file, d.File.Size, s.tree.Inventory.Add)
}
