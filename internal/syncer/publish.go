package syncer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
	"syncd/internal/store"
)

// publish swaps every job that succeeded into service with one generation.
// Manifests that are configured no longer leave with it. The error is for the
// context's end before the swap, which says nothing about a manifest.
func (r *run) publish(ctx context.Context) error {
	var change mirror.Change
	now := time.Now().UTC()
	for _, j := range openJobs(r.jobs) {
		record := r.recordOf(j, now)
		if j.served && record.ID() == j.active.ID() && j.active.Held == nil {
			j.state.Matches = matches(manifest.Fingerprint(j.plan.Files), j.active)
			j.settle(Unchanged)
			continue
		}
		r.progress.phase(j.target.Name, "publishing")
		j.record = &record
		change.Set = append(change.Set, record)
	}
	change.Remove = r.left()
	if len(change.Set)+len(change.Remove) == 0 {
		return nil
	}
	_, err := r.Mirror.Publish(ctx, change)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if err != nil && len(change.Set) == 0 {
		r.Log.Error().Err(err).Strs("manifests", change.Remove).Msg("manifests that left the configuration stay published")
	}
	for _, j := range openJobs(r.jobs) {
		if err != nil {
			j.fail(noSpace(err))
			continue
		}
		j.settle(Updated)
		r.Metrics.Serving(j.target.Name, string(j.record.Release), j.record.Revision, j.record.Bytes)
	}
	if err == nil {
		r.pruneAt = now
	}
	return nil
}

// left are the manifests that are served and configured no longer.
func (r *run) left() []string {
	return slices.DeleteFunc(r.Mirror.Current().Names(), func(name string) bool {
		return slices.ContainsFunc(r.Targets, func(t Target) bool { return t.Name == name })
	})
}

// recordOf describes a job whose every file is an object now.
func (r *run) recordOf(j *job, now time.Time) mirror.Record {
	record := mirror.Record{
		Manifest: j.target.Name, Source: r.Source, Release: j.release, Listed: j.listed,
		MirroredAt: now, PublishedAt: now, Version: r.Version,
	}
	sums := make([]manifest.Sum, len(j.plan.Files))
	for i, f := range j.plan.Files {
		object := j.plan.Known[f.Expected]
		sums[i] = manifest.Sum{SHA256: object.SHA256, Path: f.Path}
		record.Bytes += object.Size
		record.Files = append(record.Files, mirror.File{
			Path: f.Path, Reference: f.Reference.String(), Size: object.Size,
			SHA256: object.SHA256, Promised: f.Expected.String(),
		})
	}
	record.Revision = manifest.RevisionID(sums)
	return record
}

// wantPending notes what is about to be fetched, so that a crash loses none of it.
func (r *run) wantPending() error {
	pending := map[string][]store.Pending{}
	for _, j := range openJobs(r.jobs) {
		if len(j.plan.Missing) > 0 {
			pending[j.target.Name] = j.pending()
		}
	}
	if len(pending) == 0 {
		return nil
	}
	return r.Store.Commit(store.Changes{Pending: pending})
}

// record commits what is to be remembered of the sync, in one transaction.
func (r *run) record() error {
	now := time.Now().UTC()
	changes := store.Changes{Manifests: map[string]store.Manifest{}, Pending: map[string][]store.Pending{}}
	report, news := r.report(), r.Mirror.Current().Number != r.previous
	for _, j := range r.jobs {
		name := j.target.Name
		switch j.result {
		case Failed, Refused:
			news = r.rememberFailure(j, now) || news
			if len(j.plan.Files) > 0 {
				changes.Pending[name] = j.pending()
			}
		default:
			r.rememberSuccess(j, now)
			if j.full {
				changes.Pending[name] = nil
			}
		}
		changes.Manifests[name] = j.state
		r.Metrics.Checked(name, j.state.CheckedAt, j.state.SyncedAt)
		if !j.repeated {
			r.Metrics.Synced(name, string(j.result), string(refusal.ReasonOf(j.err)))
		}
	}
	r.Metrics.SyncTook(time.Since(r.started))
	if news {
		changes.History = HistoryEntry{Time: now, Trigger: r.req.Trigger, DurationSeconds: time.Since(r.started).Seconds(), Report: report}
	}
	return r.Store.Commit(changes)
}

func (r *run) rememberSuccess(j *job, now time.Time) {
	j.state.CheckedAt, j.state.SyncedAt, j.state.Failure = now, now, nil
	if j.full {
		j.state.FullAt, j.state.Config = now, r.configOf(j.target)
	}
}

// rememberFailure lets the schedule try the same release again after 1 h, 2 h,
// 4 h … up to the recheck interval. A failure before the release was known says
// nothing about a release: the next poll is as good as this one was. It returns
// whether the failure is news, and not the one that is remembered.
func (r *run) rememberFailure(j *job, now time.Time) (news bool) {
	if j.release != "" {
		j.state.CheckedAt = now
	}
	if j.repeated {
		return false
	}
	if j.release != "" { // a full check under this configuration stays owed
		j.state.FullAt, j.state.Config = time.Time{}, r.configOf(j.target)
	}
	failure := &store.Failure{
		Release: string(j.release), Result: string(j.result), Error: j.err.Error(),
		Reason: string(refusal.ReasonOf(j.err)), Count: 1,
	}
	before := j.state.Failure
	if before != nil && before.Release == failure.Release {
		failure.Count += before.Count
	}
	if j.release != "" {
		failure.NextTry = now.Add(min(time.Hour<<min(failure.Count-1, 10), r.Recheck))
	}
	j.state.Failure = failure
	return before == nil || before.Release != failure.Release || before.Error != failure.Error
}

// prune removes what nothing keeps, when there may be something.
func (r *run) prune() {
	if now := time.Now(); r.pruneAt.IsZero() || now.Before(r.pruneAt) {
		return
	}
	if err := r.pruneNow(); err != nil {
		r.Log.Warn().Err(err).Msg("pruning left something behind: tried again at the next publish")
	}
}

func (s *Syncer) pruneNow() error {
	now := time.Now()
	s.pruneAt = time.Time{}
	pending, err := s.Store.Pending()
	if err != nil {
		return err
	}
	objects, partials := map[string]bool{}, map[string]bool{}
	for name, list := range pending {
		if !slices.ContainsFunc(s.Targets, func(t Target) bool { return t.Name == name }) {
			continue
		}
		for _, p := range list {
			objects[p.SHA256] = true
			partials[strings.ReplaceAll(p.Digest, ":", "-")] = true
			if hex, ok := strings.CutPrefix(p.Digest, "sha256:"); ok {
				objects[hex] = true
			}
		}
	}
	later, err := s.Mirror.Prune(mirror.Retention{Revisions: s.Retain, For: s.RetainFor, Objects: objects}, now)
	s.pruneAt = later
	if err != nil {
		return err
	}
	return fetcher.Sweep(s.Mirror.Partial(), partials)
}
