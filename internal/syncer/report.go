package syncer

import (
	"slices"
	"time"

	"syncd/internal/refusal"
)

// Result is what became of a manifest in a sync, as JSON and metrics name it.
type Result string

// The results of the contract.
const (
	Updated   Result = "updated"
	Unchanged Result = "unchanged"
	Failed    Result = "failed"
	Refused   Result = "refused"
)

// Results returns every result.
func Results() []Result { return []Result{Updated, Unchanged, Failed, Refused} }

// Report is what a sync or a rollback did, as `sync --json` prints it.
type Report struct {
	Generation int              `json:"generation"` // served now
	Changed    bool             `json:"changed"`    // a generation was published
	Manifests  []ManifestReport `json:"manifests"`
}

// ManifestReport is one manifest's part of a Report. In a dry run, result and
// counts are what a sync would do, as far as it can be foreseen.
type ManifestReport struct {
	Name            string  `json:"name"`
	Release         string  `json:"release"`  // served now
	Revision        string  `json:"revision"` // served now
	Result          Result  `json:"result"`
	FilesTotal      int     `json:"files_total"`
	FilesDownloaded int     `json:"files_downloaded"`
	FilesReused     int     `json:"files_reused"`
	BytesDownloaded int64   `json:"bytes_downloaded"`
	BytesReused     int64   `json:"bytes_reused"`
	DurationSeconds float64 `json:"duration_seconds"`
	Reason          string  `json:"reason"`
	Error           string  `json:"error"`
}

// OK is true when no manifest failed or was refused.
func (r Report) OK() bool {
	return !slices.ContainsFunc(r.Manifests, func(m ManifestReport) bool { return m.Result == Failed || m.Result == Refused })
}

// HistoryEntry is a sync that changed or failed, or a rollback.
type HistoryEntry struct {
	Time            time.Time `json:"time"`
	Trigger         string    `json:"trigger"`
	DurationSeconds float64   `json:"duration_seconds"`
	Report
}

func (r *run) report() Report {
	current := r.Mirror.Current()
	report := Report{Generation: current.Number, Changed: current.Number != r.previous, Manifests: []ManifestReport{}}
	for _, j := range r.jobs {
		report.Manifests = append(report.Manifests, r.reportJob(j))
	}
	return report
}

func (r *run) reportJob(j *job) ManifestReport {
	served := r.Mirror.Current().Records[j.target.Name]
	m := ManifestReport{
		Name: j.target.Name, Release: string(served.Release), Revision: served.Revision,
		Result: j.result, DurationSeconds: j.finished.Sub(r.started).Seconds(),
	}
	if j.err != nil {
		m.Reason, m.Error = string(refusal.ReasonOf(j.err)), oneLine(j.err.Error())
	}
	if j.repeated {
		m.Reason = j.state.Failure.Reason
	}
	switch {
	case r.req.DryRun && j.result == "":
		r.foresee(j, &m)
	case j.result == Updated:
		count(j, &m)
	case j.result == Unchanged:
		m.FilesTotal, m.FilesReused, m.BytesReused = len(served.Files), len(served.Files), served.Bytes
	default:
		m.FilesTotal, m.FilesDownloaded, m.BytesDownloaded = len(j.plan.Files), len(j.fetched), j.downloaded
	}
	return m
}

// count attributes each content that arrived to one file; its further copies were reused.
func count(j *job, m *ManifestReport) {
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
func (r *run) foresee(j *job, m *ManifestReport) {
	m.Result, m.Release = Updated, string(j.release)
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
