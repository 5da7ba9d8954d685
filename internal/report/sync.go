package report

import (
	"cmp"
	"slices"
	"time"
)

// Result is the outcome of a sync for one manifest, as JSON and metrics name it.
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

// Sync is the outcome of a sync, a rollback or a forget, as `sync --json` prints it.
type Sync struct {
	Generation int              `json:"generation"` // served now
	Changed    bool             `json:"changed"`    // a generation was published
	Manifests  []ManifestResult `json:"manifests"`
	Views      []ViewResult     `json:"views,omitempty"`
	Removed    []string         `json:"removed,omitempty"` // what is no longer served
	Exports    []ExportResult   `json:"exports,omitempty"`

	Space *Space `json:"space,omitempty"` // after a dry run that would change something

	Upload *Upload `json:"publication,omitempty"` // to object storage; nil if none is configured

	TraceID string `json:"trace_id,omitempty"` // of the trace that a collector got; "" while tracing is off
}

// Space is what a sync needs of the disk, and what it makes go.
type Space struct {
	BytesNeeded  int64             `json:"bytes_needed"`
	BytesFree    int64             `json:"bytes_free"`
	InodesNeeded int64             `json:"inodes_needed"`
	InodesFree   int64             `json:"inodes_free"` // -1 when the file system has no fixed number
	BytesFreed   int64             `json:"bytes_freed"` // by pruning, when `retain_for` is over
	Removed      []RemovedRevision `json:"removed"`     // by that pruning
}

// RemovedRevision is an earlier revision that `retain` does not keep.
type RemovedRevision struct {
	Name     string `json:"name"`
	Release  string `json:"release"`
	Revision string `json:"revision"`
}

// Compare orders revisions by name and release.
func (r RemovedRevision) Compare(other RemovedRevision) int {
	return cmp.Or(cmp.Compare(r.Name, other.Name), cmp.Compare(r.Release, other.Release), cmp.Compare(r.Revision, other.Revision))
}

// ViewResult is one view's part of a Sync.
type ViewResult struct {
	Name        string `json:"name"`
	Layout      string `json:"layout"`
	Fingerprint string `json:"fingerprint"` // of the tree that is served now; "" for none
	Files       int    `json:"files"`       // without hash files
	Result      Result `json:"result"`
	Reason      string `json:"reason"` // of a refusal
	Error       string `json:"error"`
}

// State is the state of the view after this outcome.
func (v ViewResult) State() State {
	switch {
	case v.Result == Refused:
		return StateRefused
	case v.Result == Failed:
		return StateFailed
	case v.Fingerprint == "":
		return StatePending
	}
	return StateInSync
}

// ManifestResult is one manifest's part of a Sync. After a dry run, result and
// counts are the expected ones.
type ManifestResult struct {
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
	Reason          string  `json:"reason"` // of a refusal
	Error           string  `json:"error"`

	Tried string `json:"tried,omitempty"` // the release that failed or was refused, if it is known

	Staged      *StagedRevision `json:"staged,omitempty"`       // waits to go live
	NewlyStaged bool            `json:"newly_staged,omitempty"` // since this sync

	PinnedBefore string     `json:"pinned_before,omitempty"` // the pin that moved along to the release that is served now
	HoldUntil    *time.Time `json:"hold_until,omitempty"`    // a hold that keeps an order from the next sync
	HeldFrom     string     `json:"held_from,omitempty"`     // the release that a rollback keeps away, after an order
}

// OK is true when no manifest, view or export failed or was refused, and the outcome was
// published.
func (s Sync) OK() bool {
	return (s.Upload == nil || s.Upload.Error == "") &&
		!slices.ContainsFunc(s.Manifests, func(m ManifestResult) bool { return m.Result == Failed || m.Result == Refused }) &&
		!slices.ContainsFunc(s.Views, func(v ViewResult) bool { return v.Error != "" }) &&
		!slices.ContainsFunc(s.Exports, func(e ExportResult) bool { return e.Error != "" })
}
