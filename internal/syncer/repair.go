package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// RepairReport is what Repair found and mended.
type RepairReport struct {
	Files  int          `json:"files"`
	Bytes  int64        `json:"bytes"`
	Damage []DamageLine `json:"damage"`
}

// DamageLine is one damaged file.
type DamageLine struct {
	Manifest string `json:"manifest"`
	Path     string `json:"path"`
	Error    string `json:"error"`
	Repaired bool   `json:"repaired"`
}

// OK is true when nothing is damaged now.
func (r RepairReport) OK() bool {
	return !slices.ContainsFunc(r.Damage, func(d DamageLine) bool { return !d.Repaired })
}

// VerifyRequest says what to re-read and how fast.
type VerifyRequest struct {
	Manifests []string `json:"manifests,omitempty"` // empty: all
	Rate      int64    `json:"rate,omitempty"`      // bytes a second at most; 0 for no limit
}

// Verify re-reads what is served of the named manifests. It changes nothing.
func Verify(ctx context.Context, m *mirror.Mirror, req VerifyRequest) (RepairReport, []mirror.Damage, error) {
	names := req.Manifests
	if len(names) == 0 {
		names = m.Current().Names()
	}
	if len(names) == 0 {
		return RepairReport{}, nil, errors.New("nothing is served: run `syncd sync`")
	}
	for _, name := range names {
		if _, served := m.Current().Records[name]; !served {
			return RepairReport{}, nil, fmt.Errorf("manifest %q is not served: `syncd status` shows what is", name)
		}
	}
	checked, err := m.Verify(ctx, names, req.Rate)
	if err != nil {
		return RepairReport{}, nil, err
	}
	report := RepairReport{Files: checked.Files, Bytes: checked.Bytes, Damage: []DamageLine{}}
	for _, d := range checked.Damage {
		report.Damage = append(report.Damage, DamageLine{Manifest: d.Manifest, Path: d.File.Path, Error: oneLine(d.Err.Error())})
	}
	return report, checked.Damage, nil
}

// Repair verifies and mends each damaged file in place, for every revision that
// has it: from its object if that is whole, else with a proven copy of the
// provider's.
func (s *Syncer) Repair(ctx context.Context, req VerifyRequest) (RepairReport, error) {
	s.progress.begin("repair", time.Now(), nil)
	defer s.progress.end()
	if err := s.Mirror.Intact(); err != nil {
		return RepairReport{}, err
	}
	report, damage, err := Verify(ctx, s.Mirror, req)
	if err != nil {
		return RepairReport{}, err
	}
	for i, d := range damage {
		s.Metrics.VerifyFailed(d.Manifest)
		err := s.repair(ctx, d)
		if err == nil {
			err = s.Mirror.Reread(ctx, d)
		}
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		report.Damage[i].Repaired = err == nil
		if err != nil {
			report.Damage[i].Error += "; not repaired: " + oneLine(err.Error())
		}
	}
	return report, nil
}

func (s *Syncer) repair(ctx context.Context, d mirror.Damage) error {
	if !s.Mirror.ObjectProven(ctx, d.File.SHA256) {
		if err := s.refetch(ctx, d); err != nil {
			return err
		}
	}
	return s.Mirror.Relink(d.File.SHA256)
}

func (s *Syncer) refetch(ctx context.Context, d mirror.Damage) error {
	ref, err := manifest.ParseReference(d.File.Reference)
	if err != nil {
		return err
	}
	file := manifest.File{Reference: ref, Path: d.File.Path, Expected: manifest.Digest{Algorithm: manifest.SHA256, Hex: d.File.SHA256}}
	proven, err := s.bring(ctx, d.Manifest, file, d.File.Size, func(int64) {})
	if err != nil {
		return err
	}
	return s.Mirror.Adopt(proven)
}
