package syncer

import (
	"time"

	"syncd/internal/refusal"
	"syncd/internal/report"
)

func (r *run) report() report.Sync {
	current := r.Mirror.Current()
	result := report.Sync{Generation: current.Number, Changed: current.Number != r.previous, Manifests: []report.ManifestResult{}}
	for _, j := range r.jobs {
		result.Manifests = append(result.Manifests, r.reportJob(j))
	}
	return result
}

func (r *run) reportJob(j *job) report.ManifestResult {
	served := r.Mirror.Current().Records[j.target.Name]
	m := report.ManifestResult{
		Name: j.target.Name, Release: string(served.Release), Revision: served.Revision,
		Result: j.result, DurationSeconds: j.finished.Sub(r.started).Seconds(),
	}
	if j.err != nil {
		m.Reason, m.Error = string(refusal.ReasonOf(j.err)), report.OneLine(j.err.Error())
	}
	if j.repeated {
		m.Reason = j.state.Failure.Reason
	}
	switch {
	case r.req.DryRun && j.result == "":
		r.foresee(j, &m)
	case j.result == report.Updated:
		count(j, &m)
	case j.result == report.Unchanged:
		m.FilesTotal, m.FilesReused, m.BytesReused = len(served.Files), len(served.Files), served.Bytes
	default:
		m.FilesTotal, m.FilesDownloaded, m.BytesDownloaded = len(j.plan.Files), len(j.fetched), j.downloaded
	}
	return m
}

// count attributes each content that arrived to one file; its further copies were reused.
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

// foresee fills in what a sync would do.
func (r *run) foresee(j *job, m *report.ManifestResult) {
	m.Result, m.Release = report.Updated, string(j.release)
	m.Revision = ""
	m.FilesTotal, m.FilesDownloaded = len(j.plan.Files), len(j.plan.Missing)
	m.FilesReused = m.FilesTotal - m.FilesDownloaded
	for _, f := range j.plan.Files {
		m.BytesReused += j.plan.Known[f.Expected].Size
	}
	for _, size := range j.sizes {
		m.BytesDownloaded = min(m.BytesDownloaded+size, maxSpace)
	}
	m.DurationSeconds = time.Since(r.started).Seconds()
}
