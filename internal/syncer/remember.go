package syncer

import (
	"slices"
	"time"

	"syncd/internal/refusal"
	"syncd/internal/report"
	"syncd/internal/store"
)

// record commits what is to be remembered of the sync, in one transaction.
func (r *run) record() error {
	now := time.Now().UTC()
	changes := store.Changes{Manifests: map[string]store.Manifest{}, Wanted: map[string][]store.Wanted{}, Proofs: map[string]*store.Proofs{}}
	for _, name := range r.removed {
		changes.Proofs[name] = &store.Proofs{}
	}
	result, news := r.report(), r.Mirror.Current().Number != r.previous
	for _, j := range r.jobs {
		name := j.target.Name
		if len(j.plan.Files) > 0 {
			changes.Proofs[name] = r.proofs(j)
		}
		switch j.result {
		case report.Failed, report.Refused:
			news = r.rememberFailure(j, now) || news
			if len(j.plan.Files) > 0 {
				changes.Wanted[name] = j.wanted()
			}
		default:
			r.rememberSuccess(j, now)
			if j.full {
				changes.Wanted[name] = nil
			}
		}
		changes.Manifests[name] = j.state
		report.ShowManifest(r.Metrics, name, r.Mirror.Current().Records[name], j.state)
		if j.result == report.Updated || j.result == report.Unchanged {
			r.Metrics.DiskNeeded(name, 0)
		}
		if !j.repeated {
			r.Metrics.Synced(name, string(j.result), string(refusal.ReasonOf(j.err)))
		}
	}
	r.Metrics.SyncTook(time.Since(r.started))
	if news {
		changes.History = report.HistoryEntry{Time: now, Trigger: r.req.Trigger, DurationSeconds: time.Since(r.started).Seconds(), Sync: result}
	}
	r.supersede(changes.Wanted)
	return r.Store.Commit(changes)
}

// supersede has pruning look at what unfinished syncs no longer want: releases
// that fail one after the other must not pile up what was fetched for them.
func (r *run) supersede(wanted map[string][]store.Wanted) {
	for name, now := range wanted {
		if !slices.Equal(r.wanted[name], now) {
			r.pruneAt = time.Now()
		}
	}
}

func (r *run) rememberSuccess(j *job, now time.Time) {
	j.state.CheckedAt, j.state.SyncedAt, j.state.Failure = now, now, nil
	if j.full {
		j.state.FullAt, j.state.Config, j.state.Links = now, r.configOf(j.target), j.links
		j.state.Served = r.Mirror.Current().Records[j.target.Name].ID()
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
		Release: string(j.release), Result: string(j.result), Error: report.OneLine(j.err.Error()),
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
