package status

import (
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
)

// LabelValues returns the values that labels of metrics can have.
func LabelValues() metrics.LabelValues {
	values := metrics.LabelValues{States: restingStates()}
	for _, result := range report.Results() {
		values.Results = append(values.Results, string(result))
	}
	for _, reason := range refusal.Reasons() {
		values.Reasons = append(values.Reasons, string(reason))
	}
	return values
}

// restingStates are the states of a manifest that is not syncing. The metric leaves
// syncing out, so that it shows how the last sync ended.
func restingStates() []string {
	return []string{
		string(report.StateInSync), string(report.StateFailed), string(report.StateRefused), string(report.StateHeld), string(report.StatePending),
		string(report.StateStaged), string(report.StateQuarantined), string(report.StateExpired),
	}
}

// ShowManifest puts a manifest's status into the metrics. record is the zero value
// when the manifest is not served.
func ShowManifest(m *metrics.Metrics, name string, record mirror.Record, saved store.Manifest, e staging.Revision, age Age) {
	saved.Failure = openFailure(record, saved)
	status := metrics.ManifestStatus{
		State: string(stateOf(record, saved, e, age)), Expires: age.Day.End(), Withdrawn: age.Withdrawn != nil, States: restingStates(),
		Newest: saved.Newest, Expected: due(saved), Checked: saved.CheckedAt, Success: syncedAt(record, saved),
		Behind: record.Release.MonthsTo(manifest.Release(saved.Newest)),
	}
	if Staged(e) != nil {
		status.Staged = e.Since
	}
	if q := quarantinedOf(e); q != nil {
		status.Quarantined = q.RefusedAt
	}
	status.HeldUntil = record.Orders.HoldUntil
	if record.Manifest != "" {
		status.Release, status.Revision = string(record.Release), record.Revision
		status.Bytes, status.Since = record.Bytes, record.PublishedAt
	}
	m.SetManifest(name, status)
}

// ShowView puts a view's state into the metrics.
func ShowView(m *metrics.Metrics, name string, state report.State) {
	m.ViewState(name, string(state), []string{string(report.StateInSync), string(report.StateRefused), string(report.StateFailed), string(report.StatePending)})
}

// ShowExport puts the state of an exported folder into the metrics.
func ShowExport(m *metrics.Metrics, e report.ExportStatus) {
	var behind time.Time
	if e.Since != nil {
		behind = *e.Since
	}
	m.ExportState(e.View, string(e.State), exportStates(), behind)
}

func exportStates() []string {
	return []string{string(report.ExportInSync), string(report.ExportBehind), string(report.ExportRefused), string(report.ExportFailed), string(report.ExportPending)}
}
