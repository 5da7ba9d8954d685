package syncer

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/golive"
	"syncd/internal/golive/room"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/metrics/tracing"
	"syncd/internal/report"
	"syncd/internal/store"
	"syncd/internal/syncer/download"
)

// wave are jobs whose missing contents are fetched together.
type wave struct {
	*run
	jobs []*job
}

// obtain fetches the missing contents of planned jobs, if there is space for them.
func (r *run) obtain(ctx context.Context, jobs []*job) {
	w := wave{r, jobs}
	w.prepare(ctx)
	w.saveWanted()
	w.download(ctx)
}

// prepare refuses what cannot go on. A dry run ends after it.
func (w wave) prepare(ctx context.Context) {
	w.checkViews()
	w.askSizes(ctx) // asks Metadata of the missing files that were not asked for yet, if it must be known
	w.reserveSpace(ctx)
}

// checkViews refuses, before anything of them is downloaded, those of the jobs whose files
// cannot lie in a view with those of the other manifests.
func (w wave) checkViews() {
	for _, v := range w.views {
		for v.Err == nil && w.checkView(v) {
		}
	}
}

// checkView returns true if it refused a job, so that the served files of its manifest
// count now.
func (w wave) checkView(v golive.ConfiguredView) (refused bool) {
	isMember := func(j *job) bool { return slices.Contains(v.Manifests, j.target.Name) }
	members := slices.DeleteFunc(openJobs(w.jobs), func(j *job) bool { return !isMember(j) })
	if len(members) == 0 {
		return false
	}
	var files []layout.File
	for _, name := range v.Manifests {
		files = append(files, w.expected(name)...)
	}
	_, err := v.View.Arrange(files)
	var problem *layout.PlaceError
	if !errors.As(err, &problem) {
		return false
	}
	for _, j := range members {
		if slices.Contains(problem.Names(), j.target.Name) {
			j.finish(err)
			refused = true
		}
	}
	return refused
}

// expected lists the files that a manifest will serve after the running syncs.
func (w wave) expected(name string) (files []layout.File) {
	for _, j := range append(slices.Clone(w.run.jobs), w.cfg.Shared.jobs()...) {
		if j.target.Name != name || !j.open() {
			continue
		}
		for _, f := range j.plan().files {
			files = append(files, layout.File{Manifest: name, File: f})
		}
		if len(files) > 0 {
			return files
		}
	}
	for _, f := range w.cfg.Mirror.Current().Records[name].Files {
		if file, err := f.InView(name); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// askSizes asks for the sizes of missing contents that were not asked for with the
// digests, unless they can be assumed. Then it gives each job the sizes of its contents,
// which another job may have asked for.
func (w wave) askSizes(ctx context.Context) {
	w.assumeSizes()
	w.inParallel(ctx, openJobs(w.jobs), func(ctx context.Context, j *job) {
		if p := j.plan(); p.assumed == 0 {
			j.finish(j.entry.Sizes(ctx, p.missing))
		}
	})
	for _, j := range openJobs(w.jobs) {
		p := j.plan()
		sizes, total := w.sizesOf(p)
		w.source.Keep(sizes)
		j.setSizes(sizes, p.assumed)
		w.progress.SetBytes(j.target.Name, total)
		j.finish(asking{w.run, j}.checkSizes())
	}
}

// reserveSpace goes through the manifests in the order of the configuration. It
// refuses each that does not fit in addition to those before it, even after pruning.
func (w wave) reserveSpace(ctx context.Context) {
	_ = w.tree.Change(ctx, func() error { // it may prune; the error is the context's
		reservation := w.tree.Room().NewReservation(w.tree.RoomConfig(), namesOfJobs(w.jobs), w.servedFiles, w.req.DryRun)
		plans := w.reserveAll(ctx, reservation)
		if w.req.DryRun && len(plans) > 0 {
			w.forecast(ctx, reservation, plans)
		}
		return nil
	})
}

// forecast notes what a sync needs of the disk, for a dry run.
func (w wave) forecast(ctx context.Context, reservation *room.Reservation, plans []room.Plan) {
	space, err := reservation.Forecast(ctx, plans)
	if err != nil {
		w.cfg.Log.Warn().Err(err).Msg("finding out what pruning would remove failed")
	}
	w.space = &space
}

func (w wave) reserveAll(ctx context.Context, reservation *room.Reservation) (plans []room.Plan) {
	for _, j := range openJobs(w.jobs) {
		if ctx.Err() != nil {
			break // a sync that ends must not displace an old revision
		}
		p := j.plan()
		plan := room.Plan{Manifest: j.target.Name, Sizes: p.sizes, Assumed: p.assumed, Plan: manifest.Plan{Files: p.files, Missing: p.missing, Known: j.objects()}}
		j.finish(w.reserve(ctx, reservation, j, plan))
		plans = append(plans, plan)
	}
	return plans
}

func (w wave) reserve(ctx context.Context, reservation *room.Reservation, j *job, plan room.Plan) error {
	need := reservation.Need(plan)
	if !w.req.DryRun {
		w.cfg.Metrics.DiskNeeded(j.target.Name, need.Bytes)
	}
	need, err := reservation.Take(ctx, j.target.Name, need)
	if err == nil && !w.req.DryRun {
		j.reserve(need)
	}
	return err
}

// servedFiles is how many files each manifest of an open job serves now.
func (w wave) servedFiles() map[string]int {
	files := map[string]int{}
	for _, j := range openJobs(w.run.jobs) {
		files[j.target.Name] = len(j.active.Files)
	}
	return files
}

// saveWanted writes the planned contents to the state before they are downloaded, so
// that pruning after a crash keeps the downloads.
func (w wave) saveWanted() {
	planned := map[string]iter.Seq[store.Planned]{}
	for _, j := range openJobs(w.jobs) {
		if len(j.plan().missing) > 0 {
			planned[j.target.Name] = j.plannedContents()
		}
	}
	if len(planned) == 0 {
		return
	}
	if err := w.cfg.Store.Commit(store.Changes{Planned: planned}); err != nil {
		w.cfg.Log.Warn().Err(err).Msg("noting the unfinished downloads failed; a crash now would lose the downloads of this sync")
	}
}

// download fetches the missing contents of the jobs. A failure ends the jobs that want the
// content.
func (w wave) download(ctx context.Context) {
	jobs := openJobs(w.jobs)
	orders, spans := make([]*download.Order, len(jobs)), make([]*tracing.Span, len(jobs))
	for i, j := range jobs {
		w.progress.SetPhase(j.target.Name, report.PhaseDownloading)
		var within context.Context
		within, spans[i] = j.startSpan(ctx, "files")
		begun, end := j.begin(within)
		defer end()
		orders[i] = begun.order(j.plan())
		orders[i].Packs = w.source.Packs(orders[i].Missing)
	}
	batch := w.downloads.Batch(w.session, orders)
	var group errgroup.Group
	barriers := w.barriers(jobs)
	for i, j := range jobs {
		group.Go(func() error {
			err := batch.Obtain(spans[i].In(ctx), orders[i])
			spans[i].End(cmp.Or(err, j.ended().err))
			if err == nil {
				w.obtainReplaced(ctx, j)
			}
			barriers[j].Done()
			if err != nil || !j.target.IsJudged() {
				return err
			}
			barriers[j].Wait()
			w.session.Flush() // makes the last small files objects
			w.judge(ctx, j)
			return nil
		})
	}
	_ = group.Wait() // the context's end
	w.session.Flush()
	w.inParallel(ctx, jobs, w.judge) // those whose last files were in the flush of another
}

// obtainReplaced looks again at a manifest with a digest mismatch, without waiting for
// others. If the provider replaced files meanwhile, their digests have changed, and the
// plan starts over once. It also starts over, with all sizes, after a file that was larger
// than assumed.
func (w wave) obtainReplaced(ctx context.Context, j *job) {
	if !j.mayReopen() || ctx.Err() != nil || w.source.AllOrNothing() {
		return
	}
	w.session.Flush() // the new plan can use what has arrived
	before, cause := j.plan(), j.reopen()
	if errors.Is(cause, download.ErrUnforeseen) {
		found := before.listed
		found.mixed = true
		_, err := asking{w.run, j}.plan(ctx, &found)
		j.finish(err)
	} else {
		j.finish(asking{w.run, j}.again(ctx, before, cause))
	}
	w.obtain(ctx, []*job{j})
}

// barriers let the gates of a group wait until all its manifests of a wave are complete,
// so that a view shows the new files of all.
func (w wave) barriers(jobs []*job) map[*job]*sync.WaitGroup {
	byGroup := map[string]*sync.WaitGroup{}
	of := make(map[*job]*sync.WaitGroup, len(jobs))
	for _, j := range jobs {
		first := w.cfg.Groups.Of(j.target.Name)[0]
		if byGroup[first] == nil {
			byGroup[first] = &sync.WaitGroup{}
		}
		byGroup[first].Add(1)
		of[j] = byGroup[first]
	}
	return of
}
