package repair

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/store"
	"syncd/internal/syncer/download"
)

// Repairer repairs one data directory. Safe for concurrent use.
type Repairer struct {
	tree      *golive.Tree
	downloads []*download.Downloader // of each source, in order of preference
	running   *Running
	progress  *progress.Tracker
}

// New returns a Repairer that reports its progress to tracker.
func New(tree *golive.Tree, downloads *download.Downloader, running *Running, tracker *progress.Tracker) *Repairer {
	return &Repairer{tree, []*download.Downloader{downloads}, running, tracker}
}

// Next says that what the sources so far do not give comes from that of another Repairer of the
// same mirror. Call it before the first repair.
func (r *Repairer) Next(other *Repairer) { r.downloads = append(r.downloads, other.downloads...) }

// Running are the objects that repairs of a data directory download, which pruning must
// keep. The zero value is ready to use. Safe for concurrent use.
type Running struct {
	mu      sync.Mutex
	objects map[manifest.ObjectID]bool
}

// begin notes that a repair downloads an object, until done is called.
func (r *Running) begin(id manifest.ObjectID) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects == nil {
		r.objects = map[manifest.ObjectID]bool{}
	}
	r.objects[id] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.objects, id)
	}
}

// Planned lists the objects.
func (r *Running) Planned() (planned []store.Planned) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.objects {
		planned = append(planned, store.Planned{Expected: id.Digest(), Object: id})
	}
	return planned
}

// maxNamed is of how many damaged files a verification says who has them open.
const maxNamed = 10

// Repair verifies, and replaces each damaged file in every revision that has it: by
// its object if that is whole, else by a proven copy from the provider. Only the
// replacement waits for the turn.
func (r *Repairer) Repair(ctx context.Context, req request.Verify) (report.Verification, error) {
	defer r.progress.Begin(ctx, request.TriggerRepair, time.Now(), nil)()
	ctx, end := transport.WithPoll(ctx)
	defer end()
	if err := r.tree.Mirror.Generations.Intact(); err != nil {
		return report.Verification{}, err
	}
	verified := r.tree.Room().Read()
	result, checked, err := status.Verify(ctx, r.tree.Mirror, req)
	verified()
	if err != nil {
		return report.Verification{}, err
	}
	for i, d := range checked.Damage[:min(len(checked.Damage), maxNamed)] {
		path := filepath.Join(r.tree.Mirror.Dir(), "current", cmp.Or(d.View, d.Manifest), d.Path())
		checked.Damage[i].Err = r.withNames(d.Err, d.File.Object, path)
		result.Damage[i].Error = report.OneLine(checked.Damage[i].Err.Error())
	}
	if err := r.tree.NotifyDamage(ctx, checked.Damage); err != nil {
		return report.Verification{}, err
	}
	for i, d := range checked.Damage {
		r.tree.Metrics.VerifyFailed(d.Manifest)
		err := r.repair(ctx, d)
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		result.Damage[i].Repaired = err == nil
		if err != nil {
			result.Damage[i].Error += "; not repaired: " + report.OneLine(err.Error())
		}
	}
	if len(req.Manifests) > 0 {
		if len(checked.Damage) == 0 {
			return result, nil
		}
		return result, r.followRepair(ctx)
	}
	exported, err := r.tree.Exporter().Repair(ctx, checked, req.Rate)
	result.Add(exported)
	return result, err
}

func (r *Repairer) repair(ctx context.Context, d mirror.Damage) error {
	if d.HashFile {
		return r.tree.Change(ctx, func() error {
			return errors.Join(r.tree.Mirror.RewriteHashFile(d), r.tree.Mirror.Reread(ctx, d))
		})
	}
	if !r.tree.Mirror.Objects.IsWhole(ctx, d.File.Object) {
		if err := r.refetch(ctx, d); err != nil {
			return err
		}
	}
	err := r.tree.Change(ctx, func() error {
		if err := r.checkHeld(d); err != nil {
			return errors.Join(err, r.tree.Mirror.Objects.RemoveUnused(d.File.Object))
		}
		return r.tree.Mirror.Relink(d.File.Object)
	})
	if err != nil {
		return err
	}
	return r.tree.Mirror.Reread(ctx, d) // a large file takes long to read, so others have the turn
}

// checkHeld fails if no revision has the damaged file any more: what was destroyed meanwhile
// must not come back.
func (r *Repairer) checkHeld(d mirror.Damage) error {
	holding, err := r.tree.Mirror.Records.Holding(d.File.Object)
	if err == nil && len(holding) == 0 {
		err = errors.New("its revision was removed meanwhile")
	}
	return err
}

func (r *Repairer) refetch(ctx context.Context, d mirror.Damage) error {
	if err := r.checkHeld(d); err != nil {
		return err
	}
	defer r.running.begin(d.File.Object)()
	if restored, err := r.tree.Mirror.Restore(ctx, d.File.Object); restored || err != nil {
		return err
	}
	file := manifest.File{Reference: d.File.Reference, Path: d.File.Path, Expected: d.File.Object.Digest()}
	var errs []error
	for _, downloads := range r.downloads {
		err := downloads.Obtain(ctx, d.Manifest, file, d.File.Size, r.tree.Inventory.Add)
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
