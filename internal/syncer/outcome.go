package syncer

import (
	"errors"
	"iter"
	"time"

	"syncd/internal/clients/transport"
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
	result := r.reportOf(outcomes, false)
	result.Space = r.space
	return result
}

func (r *run) reportOf(outcomes []report.ManifestResult, changed bool) report.Sync {
	result := report.Sync{Generation: r.cfg.Mirror.Current().Number, Changed: changed, Manifests: []report.ManifestResult{}}
	result.Manifests = append(result.Manifests, outcomes...)
	result.Views, result.Exports = r.results.ViewsOf(r.views), r.results.ExportsSoFar()
	return result
}

// reportJob is the outcome of one manifest.
func (r *run) reportJob(j *job) report.ManifestResult {
	served, e, p := r.cfg.Mirror.Current().Records[j.target.Name], j.ended(), j.plan()
	m := report.ManifestResult{
		Name: j.target.Name, Release: string(served.Release), Revision: served.Revision,
		Result: e.result, DurationSeconds: e.at.Sub(r.started).Seconds(),
	}
	if e.err != nil {
		m.Tried = string(j.release)
		m.Reason, m.Error = string(refusal.ReasonOf(e.err)), report.OneLine(e.err.Error())
	}
	if e.repeated && m.Reason == "" {
		m.Reason = j.state.Failure.Reason
	}
	m.Staged = status.Staged(r.cfg.Staging.Get(j.target.Name))
	m.NewlyStaged = j.newlyStaged && m.Staged != nil
	switch {
	case r.req.DryRun && e.result == "":
		predict(j, &m)
		m.DurationSeconds = time.Since(r.started).Seconds()
	case e.result == report.Updated && len(p.files) > 0, j.newlyStaged:
		count(j, &m)
	case e.result == report.Unchanged, e.result == report.Updated: // nothing to download
		m.FilesTotal, m.FilesReused, m.BytesReused = len(served.Files), len(served.Files), served.Bytes
	default:
		m.FilesTotal = len(p.files)
		m.FilesDownloaded, m.BytesDownloaded, _ = j.downloads()
	}
	return m
}

// count counts each downloaded content for one file; further files with the same
// content count as reused.
func count(j *job, m *report.ManifestResult) {
	var downloaded int64
	m.FilesTotal = len(j.plan().files)
	m.FilesDownloaded, m.BytesDownloaded, downloaded = j.downloads()
	m.FilesReused, m.BytesReused = m.FilesTotal-m.FilesDownloaded, j.bytes()-downloaded
}

// predict fills in what a sync would do, for a dry run.
func predict(j *job, m *report.ManifestResult) {
	p := j.plan()
	m.Result, m.Release, m.Revision = report.Updated, string(j.release), ""
	m.FilesTotal, m.FilesDownloaded = len(p.files), len(p.missing)
	m.FilesReused, m.BytesReused = m.FilesTotal-m.FilesDownloaded, j.bytes()
	for _, size := range p.sizes.All() {
		m.BytesDownloaded = min(m.BytesDownloaded+size, space.Max)
	}
}

// bytes adds up the sizes of the planned files that are objects.
func (j *job) bytes() (sum int64) {
	objects := j.objects()
	for _, f := range j.plan().files {
		object, _ := objects.Get(f.Expected)
		sum += object.Size
	}
	return sum
}

// saver saves the outcome of jobs with the publication that they were part of. From then on
// they count as done.
type saver struct {
	run  *run
	jobs []*job
}

// Save adds what is saved of the jobs, and an entry of the history if there is news.
func (s *saver) Save(record *golive.Commit, p *golive.Publication) {
	r, now := s.run, time.Now().UTC()
	r.results.NoteViews(p.Outcome.Views)
	r.unlisted = append(r.unlisted, p.MateResults()...)
	changes, isNews := &record.Changes, p.Moved()
	changes.Planned, changes.Proofs = map[string]iter.Seq[store.Planned]{}, map[string]*store.Proofs{}
	r.isNew = r.isNew || p.Moved()
	for _, j := range s.jobs {
		j.markRecorded()
		j.outcome = r.reportJob(j)
		j.endSpan()
		if j.isAside = r.req.SetsAside(j.target.Name, j.ended().err); j.isAside {
			s.recordPlan(j, changes)
			continue
		}
		r.unlisted = append(r.unlisted, j.outcome)
		s.tell(j, &record.News)
		isNews = s.recordJob(j, now, changes) || isNews
		s.measure(j)
	}
	if isNews {
		entry := golive.EntryOf(r.req.Trigger, r.started, r.reportOf(r.unlisted, p.Moved()))
		entry.Removed = changes.Forgotten
		changes.History = entry
		r.unlisted = nil
	}
	r.pruneIfWantsChanged(changes.Planned)
}

// Saved ends the jobs, also if their outcome could not be saved.
func (s *saver) Saved(err error) {
	s.run.recordErr = errors.Join(s.run.recordErr, err)
	for _, j := range s.jobs {
		s.run.progress.SetPhase(j.target.Name, report.PhaseDone)
		if !j.isAside {
			s.run.req.Finish(j.target.Name)
		}
	}
}

// tell adds the events of a job except those of going live. It must run before
// the job's failure or success is noted in its state.
func (s *saver) tell(j *job, news *outbox.News) {
	name, before, e := j.target.Name, j.state.Failure, j.ended()
	switch e.result {
	case report.Failed, report.Refused:
		kind, reason := event.Failed, string(refusal.ReasonOf(e.err))
		if e.result == report.Refused {
			kind = event.Refused
		}
		same := before != nil && before.Release == string(j.release) && before.Result == string(e.result) && before.Reason == reason
		if e.repeated || same { // it was told
			return
		}
		news.Events = append(news.Events, s.run.tree.Problem(kind, name, j.release, e.err))
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
func (s *saver) recordJob(j *job, now time.Time, changes *store.Changes) (news bool) {
	name := j.target.Name
	isPlanned := len(j.plan().files) > 0
	if isPlanned {
		changes.Proofs[name] = s.run.session.Proofs(j.objects())
	}
	switch j.ended().result {
	case report.Failed, report.Refused:
		news = s.recordFailure(j, now)
		if isPlanned {
			changes.Planned[name] = j.plannedContents()
		}
	default:
		news = j.newlyStaged
		s.recordSuccess(j, now)
		if j.checked != nil {
			changes.Planned[name] = nil
		}
	}
	changes.Manifests[name] = j.state
	return news
}

// recordPlan keeps what was downloaded of a job for another source.
func (s *saver) recordPlan(j *job, changes *store.Changes) {
	if len(j.plan().files) > 0 {
		changes.Planned[j.target.Name], changes.Proofs[j.target.Name] = j.plannedContents(), s.run.session.Proofs(j.objects())
	}
}

// measure shows a job's outcome in the metrics.
func (s *saver) measure(j *job) {
	name, e := j.target.Name, j.ended()
	if e.result == report.Updated || e.result == report.Unchanged {
		s.run.cfg.Metrics.DiskNeeded(name, 0)
	}
	if e.result == report.Updated || j.newlyStaged {
		status.ShowForecast(s.run.cfg.Metrics, name, j.state, s.run.cfg.Mirror.Records.RevisionCount(name), s.run.cfg.Retain)
	}
	if !e.repeated {
		s.run.cfg.Metrics.Synced(name, string(e.result), string(refusal.ReasonOf(e.err)))
	}
}

// pruneIfWantsChanged makes pruning due when unfinished syncs no longer want the same
// contents, so that downloads of failing releases do not accumulate.
func (r *run) pruneIfWantsChanged(planned map[string]iter.Seq[store.Planned]) {
	for name, now := range planned {
		if !isList(r.plannedBefore[name], now) {
			r.tree.Room().RequestPrune()
		}
	}
}

// isList is true if list has the same elements as now. A nil now has none.
func isList(list []store.Planned, now iter.Seq[store.Planned]) bool {
	if now == nil {
		return len(list) == 0
	}
	for w := range now {
		if len(list) == 0 || list[0] != w {
			return false
		}
		list = list[1:]
	}
	return len(list) == 0
}

func (s *saver) recordSuccess(j *job, now time.Time) {
	j.state.CheckedAt, j.state.SyncedAt, j.state.Failure = now, now, nil
	if j.isUpdated() {
		j.state.Served = j.active.ID()
	}
	j.learnSize()
	if j.checked != nil {
		j.state.FullAt, j.state.Config, j.state.Links = now, s.run.tree.Fingerprint(j.target), j.checked.links
		j.state.Served = j.active.ID()
	}
}

// firstRetry is the first backoff of a manifest of which nothing is served yet: somebody
// waits for its data.
const firstRetry = time.Minute

// recordFailure saves a failure. The schedule tries the same release again after 1 h,
// 2 h, 4 h and so on, up to the recheck interval. A failure before the release was
// known has no backoff, because it says nothing about a release. While nothing is served,
// every failure is tried again after 1 min, 2 min, 4 min and so on, up to an hour. news is true when
// the failure differs from the saved one.
func (s *saver) recordFailure(j *job, now time.Time) (news bool) {
	if j.release != "" {
		j.state.CheckedAt = now
	}
	e := j.ended()
	if e.repeated {
		return false
	}
	if j.release != "" { // so that the next sync does a full check
		j.state.FullAt, j.state.Config = time.Time{}, s.run.tree.Fingerprint(j.target)
	}
	failure := &store.Failure{
		Release: string(j.release), Result: string(e.result), Error: report.OneLine(e.err.Error()),
		Reason: string(refusal.ReasonOf(e.err)), Local: refusal.IsLocal(e.err), Count: 1,
	}
	before := j.state.Failure
	if transport.IsUnanswered(e.err) {
		failure.Unanswered = s.run.started.UTC()
		if before != nil && !before.Unanswered.IsZero() {
			failure.Unanswered = before.Unanswered
		}
	}
	if before != nil && before.Release == failure.Release {
		failure.Count += before.Count
	}
	switch {
	case !j.served && e.result == report.Failed:
		failure.NextTry = now.Add(min(firstRetry<<min(failure.Count-1, 10), time.Hour, s.run.cfg.Recheck))
	case j.release != "":
		failure.NextTry = now.Add(min(time.Hour<<min(failure.Count-1, 10), s.run.cfg.Recheck))
	}
	j.state.Failure = failure
	return before == nil || before.Release != failure.Release || before.Error != failure.Error
}
