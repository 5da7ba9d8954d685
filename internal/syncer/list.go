package syncer

import (
	"context"
	"fmt"
	"slices"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/inventory"
	"syncd/internal/report"
)

// listFiles asks for the manifest's files, applies the guards to all of them, and
// keeps those that pass the filter, without digests yet.
func (r *run) listFiles(ctx context.Context, j *job) error {
	j.files = nil
	found, err := j.entry.List(ctx)
	if err != nil {
		return err
	}
	j.told, j.listed, j.links = found.Told, found.Count, found.Links
	if err := j.entry.CheckCount(r.cfg.guards(), j.listed, j.active); err != nil {
		return err
	}
	list := j.target.Filter.Choose(found.Files)
	if list.Len() == 0 {
		return fmt.Errorf("the filters of %s leave none of the %d files of release %s: check os, compiler, language, architecture, include and exclude", j.target.Name, j.listed, j.release)
	}
	if err := r.checkMemory(j, list.Len()); err != nil {
		return err
	}
	if err := list.CheckPaths(); err != nil {
		return err
	}
	j.files = list.Files()
	return nil
}

// findDigests lets the entry find the expected digest of each file.
func (r *run) findDigests(ctx context.Context, j *job) error {
	return j.entry.Digests(ctx, j.files, r.surelyNew(ctx, j))
}

// surelyNew returns a function that is true for a content that the plan will miss for
// certain. It is false in doubt, because a check without news must not ask for sizes;
// askSizes asks for those sizes later.
func (r *run) surelyNew(ctx context.Context, j *job) func(manifest.File) bool {
	served := j.active.Files
	if len(served) > 0 && (j.active.Held != nil || served[0].Expected.Algorithm != r.cfg.Algorithm) {
		return func(manifest.File) bool { return false }
	}
	return func(f manifest.File) bool {
		if then, found := j.active.File(f.Path); found && then.Expected == f.Expected {
			return false
		}
		return !r.session.Has(ctx, f.Expected)
	}
}

// settleIfCurrent settles the job when the served or the staged revision has the expected
// digests, or a hold keeps it.
func (r *run) settleIfCurrent(_ context.Context, j *job) error {
	j.full = true
	switch {
	case r.isCurrent(j, j.files):
		j.withdrawn = true
		j.settle(report.Unchanged)
	case !r.req.Force && r.holdKeeps(j, j.files):
		j.settle(report.Unchanged)
	default:
		r.settleIfStaged(j)
	}
	return nil
}

// isCurrent is true when the served revision has exactly the expected digests.
func (r *run) isCurrent(j *job, files []manifest.File) bool {
	if !j.served || j.active.Held != nil || j.release != j.active.Release {
		return false
	}
	same := func(f manifest.File, served mirror.File) bool {
		return f.Path == served.Path && f.Expected == served.Expected
	}
	if slices.EqualFunc(files, j.active.Files, same) {
		return true
	}
	fingerprint := manifest.Fingerprint(files)
	return fingerprint == j.active.Fingerprint() || matchOf(fingerprint, j.active) == j.state.Matches
}

// matchOf is the text that the state keeps when a set of expected digests turned out
// to be a revision whose record has other digests, such as those of another algorithm.
func matchOf(fingerprint string, record mirror.Record) string { return fingerprint + " " + record.ID() }

// holdKeeps is true when a rollback keeps the manifest from the chosen release.
func (r *run) holdKeeps(j *job, files []manifest.File) bool {
	hold := j.active.Held
	if !j.served || hold == nil || hold.Setting != j.target.Release {
		return false
	}
	if j.release != hold.Release {
		return !r.endsHold(j)
	}
	if hold.Selection != r.tree.Selection(j.target) { // digests of other files cannot be compared
		r.cfg.Log.Warn().Str("manifest", j.target.Name).Msg("filters changed while held after a rollback: `syncd sync --force` ends the hold")
		return true
	}
	return manifest.Fingerprint(files) == hold.Fingerprint
}

// takeLocked takes everything from the lock file.
func (r *run) takeLocked(ctx context.Context, j *job) error {
	answer, err := j.entry.Release(ctx)
	if err != nil {
		return err
	}
	if err := r.checkAhead(answer.Release); err != nil {
		return err
	}
	found, err := j.entry.List(ctx)
	if err != nil {
		return err
	}
	same := func(locked manifest.File, served mirror.File) bool {
		return locked.Path == served.Path && locked.Expected == served.Object.Digest()
	}
	if j.served && j.active.Held == nil && answer.Release == j.active.Release && slices.EqualFunc(found.Planned, j.active.Files, same) {
		j.settle(report.Unchanged)
		return nil
	}
	j.release, j.told, j.listed, j.files = answer.Release, found.Told, found.Count, found.Planned
	return nil
}

// describe asks what other hosts will want to know about the planned release.
func (r *run) describe(ctx context.Context, j *job) error {
	return j.entry.Describe(ctx, j.plan.Files, j.links)
}

// plan finds the contents that are on disk and proven. The second plan of a sync
// reuses those of the first. No pruning may run between the look at the disk and the
// moment from which the job keeps the contents, so that moment comes first.
func (r *run) plan(ctx context.Context, j *job) error {
	if err := r.tree.Change(ctx, func() error { j.startPlan(j.files); return nil }); err != nil {
		return err
	}
	plan, err := r.session.Plan(ctx, inventory.Query{Manifest: j.target.Name, Files: j.files, Served: j.active, Proven: j.plan.Known})
	if err != nil {
		return err
	}
	fetched := map[manifest.Digest]bool{}
	for digest := range plan.Known {
		if j.fetched[digest] {
			fetched[digest] = true
		}
	}
	j.setPlan(plan, fetched)
	j.endList()
	r.progress.SetFiles(j.target.Name, len(plan.Missing))
	return nil
}

// askSizes asks for the sizes of missing contents that findDigests did not ask for.
// Then it gives each job the sizes of its contents, which another job may have asked
// for.
func (r *run) askSizes(ctx context.Context, jobs []*job) {
	r.each(ctx, jobs, func(ctx context.Context, j *job) error {
		return j.entry.Sizes(ctx, j.plan.Missing)
	})
	for _, j := range openJobs(jobs) {
		j.sizes = make(map[manifest.Digest]int64, len(j.plan.Missing))
		var total int64
		for _, f := range j.plan.Missing {
			if size, known := r.source.KnownSize(f.Expected); known {
				j.sizes[f.Expected] = size
				total = min(total+size, space.Max)
			}
		}
		r.progress.SetBytes(j.target.Name, total)
		j.failIf(r.checkBytes(j))
	}
}

// checkBytes refuses a release that has far fewer bytes than the served one. While sizes
// are not known, it accepts the release; recheck has the true ones.
func (r *run) checkBytes(j *job) error {
	return j.entry.CheckBytes(r.cfg.guards(), j.plan.Files, j.sizeOf, j.active)
}

// sizeOf is the size of a planned content: that of its object, else by Metadata.
func (j *job) sizeOf(content manifest.Digest) (size int64, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if object, proven := j.plan.Known[content]; proven {
		return object.Size, true
	}
	size, known = j.sizes[content]
	return size, known
}
