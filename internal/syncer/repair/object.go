package repair

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
)

// RepairObject replaces a damaged object and every file that holds it by a proven copy
// from the provider, in exported folders, too. It returns those of the data directory. An object that no revision holds is removed
// instead, and the sync that wants it downloads it again. As in Repair, only the
// replacement waits for the turn. Hooks are told of damage that is new.
func (r *Repairer) RepairObject(ctx context.Context, id manifest.ObjectID, cause error, isNew bool) ([]report.DamagedFile, error) {
	damage, err := r.tree.Mirror.Records.Holding(id)
	if err == nil && len(damage) == 0 {
		err = r.removeUnused(ctx, id)
	}
	if err != nil || len(damage) == 0 {
		return nil, err
	}
	cause = r.withNames(cause, id, r.tree.Mirror.Objects.Path(id))
	files := make([]report.DamagedFile, len(damage))
	for i := range damage {
		damage[i].Err = cause
		r.tree.Metrics.VerifyFailed(damage[i].Manifest)
		files[i] = report.DamagedFile{Manifest: damage[i].Manifest, Path: damage[i].Path(), Error: report.OneLine(cause.Error())}
	}
	if isNew {
		if err := r.tree.NotifyDamage(ctx, eachPathOnce(damage)); err != nil {
			return files, err
		}
	}
	err = r.repairByAny(ctx, damage)
	if err == nil {
		err = r.followRepair(ctx)
	}
	for i := range files {
		if files[i].Repaired = err == nil; err != nil {
			files[i].Error += "; not repaired: " + report.OneLine(err.Error())
		}
	}
	return files, err
}

// withNames adds to the damage of a file what else shows its object: exported folders, and
// programs that have the file open.
func (r *Repairer) withNames(damage error, id manifest.ObjectID, path string) error {
	var names []string
	views := r.tree.Mirror.Current().Views
	for _, target := range r.tree.Exports {
		for _, f := range views[target.View].Files {
			if f.Object == id {
				names = append(names, filepath.Join(target.Path, f.Path))
			}
		}
	}
	if len(names) > 0 {
		damage = fmt.Errorf("%w; exported as %s", damage, listed(names))
	}
	if programs := holders(path); len(programs) > 0 {
		damage = fmt.Errorf("%w; %s had it open, and read the damaged content until they open the file again", damage, listed(programs))
	}
	return damage
}

// listed joins some of the names.
func listed(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// followRepair makes the exported folders follow the files of the data directory that were
// replaced: their hard links still show the damaged ones.
func (r *Repairer) followRepair(ctx context.Context) (err error) {
	for _, done := range r.tree.Exporter().Follow(ctx, export.Options{}, nil) {
		if done.Error != "" {
			err = errors.Join(err, errors.New(done.Error))
		}
	}
	return err
}

// eachPathOnce leaves out files that several revisions have at the same path.
func eachPathOnce(damage []mirror.Damage) []mirror.Damage {
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(slices.Clone(damage), func(d mirror.Damage) bool {
		key := [2]string{d.Manifest, d.Path()}
		again := seen[key]
		seen[key] = true
		return again
	})
}

// repairByAny repairs files of the same content, by the first of their references that the
// provider still has.
func (r *Repairer) repairByAny(ctx context.Context, damage []mirror.Damage) (err error) {
	tried := map[manifest.Reference]bool{}
	for _, d := range damage {
		if tried[d.File.Reference] {
			continue
		}
		tried[d.File.Reference] = true
		if err = r.repair(ctx, d); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// removeUnused removes a damaged object that no revision holds. The object is read before
// the turn, because reading can take long.
func (r *Repairer) removeUnused(ctx context.Context, id manifest.ObjectID) error {
	read, there := r.tree.Mirror.Objects.Info(id)
	if !there || r.tree.Mirror.Objects.IsWhole(ctx, id) {
		return context.Cause(ctx)
	}
	return r.tree.Change(ctx, func() error {
		now, there := r.tree.Mirror.Objects.Info(id)
		if !there || !now.Same(read) {
			return nil
		}
		holding, err := r.tree.Mirror.Records.Holding(id)
		if err == nil && len(holding) > 0 {
			err = errors.New("a sync published it meanwhile")
		}
		if err != nil {
			return err
		}
		return r.tree.Mirror.Objects.RemoveUnused(id)
	})
}
