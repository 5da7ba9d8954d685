package syncer

import (
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
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

// record saves the outcome of jobs in one transaction, and shows it in the metrics.
// From then on they count as done.
func (r *run) record(jobs []*job) error {
	now := time.Now().UTC()
	changes := store.Changes{Forgotten: r.removed, Manifests: map[string]store.Manifest{}, Wanted: map[string][]store.Wanted{}, Proofs: map[string]*store.Proofs{}}
	news, told := r.published, outbox.News{Republished: r.republished}
	r.recordMates(&changes)
	for _, j := range jobs {
		j.markRecorded()
		j.outcome = r.reportJob(j)
		r.unlisted = append(r.unlisted, j.outcome)
		r.tell(j, &told)
		news = r.recordJob(j, now, &changes) || news
		r.measure(j)
	}
	if news {
		entry := report.HistoryEntry{
			Time: now, Trigger: r.req.Trigger, DurationSeconds: time.Since(r.started).Seconds(), Sync: r.reportOf(r.unlisted, r.published),
		}
		entry.Removed = r.removed
		changes.History = entry
		r.unlisted = nil
	}
	r.removed, r.published = nil, false
	r.pruneIfWantsChanged(changes.Wanted)
	err := r.cfg.commit(changes, told)
	for _, j := range jobs {
		r.progress.SetPhase(j.target.Name, report.PhaseDone)
		r.req.Finish(j.target.Name)
	}
	return err
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
	status.ShowManifest(r.cfg.Metrics, name, r.cfg.Mirror.Current().Records[name], j.state, r.cfg.Staging.Get(name))
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
			r.cfg.Shared.room.RequestPrune()
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
		j.state.FullAt, j.state.Config, j.state.Links = now, r.cfg.fingerprint(j.target), j.links
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
		j.state.FullAt, j.state.Config = time.Time{}, r.cfg.fingerprint(j.target)
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

// recordMates records manifests that went live with those of this sync.
func (r *run) recordMates(changes *store.Changes) {
	for _, record := range r.mateRecords {
		r.unlisted = append(r.unlisted, liveResult(record))
	}
	r.cfg.recordLive(r.mateRecords, changes)
	r.mateRecords, r.republished = nil, nil
}

// recordLive adds what is saved of staged manifests that went live. Their digests were
// compared when they were staged.
func (c *Config) recordLive(records []mirror.Record, changes *store.Changes) {
	states, err := c.Store.Manifests()
	if err != nil && len(records) > 0 {
		c.Log.Warn().Err(err).Msg("reading the state failed; the next sync compares all digests")
		return
	}
	for _, record := range records {
		state := states[record.Manifest]
		state.Served, state.Failure = record.ID(), nil
		changes.Manifests[record.Manifest] = state
		status.ShowManifest(c.Metrics, record.Manifest, record, state, staging.Entry{})
	}
}

// liveResult is the outcome of a manifest whose staged revision went live.
func liveResult(record mirror.Record) report.ManifestResult {
	return report.ManifestResult{
		Name: record.Manifest, Release: string(record.Release), Revision: record.Revision, Result: report.Updated,
		FilesTotal: len(record.Files), FilesReused: len(record.Files), BytesReused: record.Bytes,
	}
}
