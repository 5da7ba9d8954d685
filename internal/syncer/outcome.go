package syncer

import (
	"errors"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/golive"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// report is the result of the recorded manifests; the zero value when there are none.
func (r *run) report() report.Sync {
	var outcomes []report.ManifestResult
	for _, j := range r.jobs {
		if j.isRecorded() {
			outcomes = append(outcomes, j.outcome)
		}
	}
	if len(outcomes) == 0 && len(r.jobs) > 0 {
		return report.Sync{}
	}
	return r.reportOf(outcomes, r.isNew)
}

// reportDry is the result of a dry run.
func (r *run) reportDry() report.Sync {
	var outcomes []report.ManifestResult
	for _, j := range r.jobs {
		outcomes = append(outcomes, r.reportJob(j))
	}
	return r.reportOf(outcomes, false)
}

func (r *run) reportOf(outcomes []report.ManifestResult, changed bool) report.Sync {
	result := report.Sync{Generation: r.cfg.Mirror.Current().Number, Changed: changed, Manifests: []report.ManifestResult{}}
	result.Manifests = append(result.Manifests, outcomes...)
	result.Views, result.Exports = r.reportViews(), r.exportResults()
	return result
}

func (r *run) reportJob(j *job) report.ManifestResult {
	served := r.cfg.Mirror.Current().Records[j.target.Name]
	m := report.ManifestResult{
		Name: j.target.Name, Release: string(served.Release), Revision: served.Revision,
		Result: j.result, DurationSeconds: j.finished.Sub(r.started).Seconds(),
	}
	if j.err != nil {
		m.Reason, m.Error = string(refusal.ReasonOf(j.err)), report.OneLine(j.err.Error())
	}
	if j.repeated && m.Reason == "" {
		m.Reason = j.state.Failure.Reason
	}
	m.Staged = status.Staged(r.cfg.Staging.Get(j.target.Name))
	m.NewlyStaged = j.newlyStaged && m.Staged != nil
	switch {
	case r.req.DryRun && j.result == "":
		r.predict(j, &m)
	case j.result == report.Updated && len(j.plan.Files) > 0, j.newlyStaged:
		count(j, &m)
	case j.result == report.Unchanged, j.result == report.Updated: // nothing to download
		m.FilesTotal, m.FilesReused, m.BytesReused = len(served.Files), len(served.Files), served.Bytes
	default:
		m.FilesTotal, m.FilesDownloaded, m.BytesDownloaded = len(j.plan.Files), len(j.fetched), j.downloaded
	}
	return m
}

// count counts each downloaded content for one file; further files with the same
// content count as reused.
func count(j *job, m *report.ManifestResult) {
	m.FilesTotal, m.FilesDownloaded, m.BytesDownloaded = len(j.plan.Files), len(j.fetched), j.downloaded
	m.FilesReused = m.FilesTotal - m.FilesDownloaded
	for _, f := range j.plan.Files {
		m.BytesReused += j.plan.Known[f.Expected].Size
	}
	for digest := range j.fetched {
		m.BytesReused -= j.plan.Known[digest].Size
	}
}

// predict fills in what a sync would do, for a dry run.
func (r *run) predict(j *job, m *report.ManifestResult) {
	m.Result, m.Release = report.Updated, string(j.release)
	m.Revision = ""
	m.FilesTotal, m.FilesDownloaded = len(j.plan.Files), len(j.plan.Missing)
	m.FilesReused = m.FilesTotal - m.FilesDownloaded
	for _, f := range j.plan.Files {
		m.BytesReused += j.plan.Known[f.Expected].Size
	}
	for _, size := range j.sizes {
		m.BytesDownloaded = min(m.BytesDownloaded+size, space.Max)
	}
	m.DurationSeconds = time.Since(r.started).Seconds()
}

// saver saves the outcome of jobs with the publication that they were part of. From then on
// they count as done.
type saver struct {
	run  *run
	jobs []*job
}

// Save adds what is saved of the jobs, and an entry of the history if there is news.
func (s *saver) Save(record *golive.Record, p *golive.Publication) {
	r, now := s.run, time.Now().UTC()
	r.noteViews(p.Outcome.Views)
	r.unlisted = append(r.unlisted, p.MateResults()...)
	changes, isNews := &record.Changes, p.Moved()
	changes.Wanted, changes.Proofs = map[string][]store.Wanted{}, map[string]*store.Proofs{}
	r.isNew = r.isNew || p.Moved()
	for _, j := range s.jobs {
		j.markRecorded()
		j.outcome = r.reportJob(j)
		r.unlisted = append(r.unlisted, j.outcome)
		r.tell(j, &record.News)
		isNews = r.recordJob(j, now, changes) || isNews
		r.measure(j)
	}
	if isNews {
		entry := golive.EntryOf(r.req.Trigger, r.started, r.reportOf(r.unlisted, p.Moved()))
		entry.Removed = changes.Forgotten
		changes.History = entry
		r.unlisted = nil
	}
	r.pruneIfWantsChanged(changes.Wanted)
}

// Saved ends the jobs, also if their outcome could not be saved.
func (s *saver) Saved(err error) {
	s.run.recordErr = errors.Join(s.run.recordErr, err)
	for _, j := range s.jobs {
		s.run.progress.SetPhase(j.target.Name, report.PhaseDone)
		s.run.req.Finish(j.target.Name)
	}
}

// tell adds the events of a job except those of going live. It must run before
// the job's failure or success is noted in its state.
func (r *run) tell(j *job, news *outbox.News) {
	name, before := j.target.Name, j.state.Failure
	switch j.result {
	case report.Failed, report.Refused:
		kind, reason := event.Failed, string(refusal.ReasonOf(j.err))
		if j.result == report.Refused {
			kind = event.Refused
		}
		same := before != nil && before.Release == string(j.release) && before.Result == string(j.result) && before.Reason == reason
		if j.repeated || same { // it was told
			return
		}
		news.Events = append(news.Events, r.tree.Problem(kind, name, j.release, j.err))
	default:
		news.Confirmed = append(news.Confirmed, name)
		if before != nil {
			news.Failing = append(news.Failing, name)
		}
		if j.republished {
			news.Republished = append(news.Republished, name)
		}
	}
}

// recordJob adds what is saved of a job. It is true when the job has news for the
// history.
func (r *run) recordJob(j *job, now time.Time, changes *store.Changes) (news bool) {
	name := j.target.Name
	if len(j.plan.Files) > 0 {
		changes.Proofs[name] = r.session.Proofs(j.plan.Known)
	}
	switch j.result {
	case report.Failed, report.Refused:
		news = r.recordFailure(j, now)
		if len(j.plan.Files) > 0 {
			changes.Wanted[name] = j.wanted()
		}
	default:
		news = j.newlyStaged
		r.recordSuccess(j, now)
		if j.full {
			changes.Wanted[name] = nil
		}
	}
	changes.Manifests[name] = j.state
	return news
}

// measure shows a job's outcome in the metrics.
func (r *run) measure(j *job) {
	name := j.target.Name
	if j.result == report.Updated || j.result == report.Unchanged {
		r.cfg.Metrics.DiskNeeded(name, 0)
	}
	if j.result == report.Updated || j.newlyStaged {
		status.ShowForecast(r.cfg.Metrics, name, j.state, r.cfg.Mirror.RevisionCount(name), r.cfg.Retain)
	}
	if !j.repeated {
		r.cfg.Metrics.Synced(name, string(j.result), string(refusal.ReasonOf(j.err)))
	}
}

// pruneIfWantsChanged makes pruning due when unfinished syncs no longer want the same
// contents, so that downloads of failing releases do not accumulate.
func (r *run) pruneIfWantsChanged(wanted map[string][]store.Wanted) {
	for name, now := range wanted {
		if !slices.Equal(r.wanted[name], now) {
			r.tree.Room().RequestPrune()
		}
	}
}

func (r *run) recordSuccess(j *job, now time.Time) {
	j.state.CheckedAt, j.state.SyncedAt, j.state.Failure = now, now, nil
	if j.result == report.Updated {
		j.state.Served = j.active.ID()
	}
	j.learnSize()
	if j.full {
		j.state.FullAt, j.state.Config, j.state.Links = now, r.tree.Fingerprint(j.target), j.links
		j.state.Served = j.active.ID()
	}
}

// recordFailure saves a failure. The schedule tries the same release again after 1 h,
// 2 h, 4 h and so on, up to the recheck interval. A failure before the release was
// known has no backoff, because it says nothing about a release. news is true when
// the failure differs from the saved one.
func (r *run) recordFailure(j *job, now time.Time) (news bool) {
	if j.release != "" {
		j.state.CheckedAt = now
	}
	if j.repeated {
		return false
	}
	if j.release != "" { // so that the next sync does a full check
		j.state.FullAt, j.state.Config = time.Time{}, r.tree.Fingerprint(j.target)
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
		failure.NextTry = now.Add(min(time.Hour<<min(failure.Count-1, 10), r.cfg.Recheck))
	}
	j.state.Failure = failure
	return before == nil || before.Release != failure.Release || before.Error != failure.Error
}
