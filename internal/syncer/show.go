package syncer

import (
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
	"syncd/internal/store"
)

// MetricValues are what the labels of metrics can say.
func MetricValues() metrics.Values {
	values := metrics.Values{States: restingStates()}
	for _, result := range Results() {
		values.Results = append(values.Results, string(result))
	}
	for _, reason := range refusal.Reasons() {
		values.Reasons = append(values.Reasons, string(reason))
	}
	return values
}

// restingStates are those of a manifest that is not syncing: a metric that changed
// with each sync would hide how the last one ended.
func restingStates() []string {
	return []string{string(InSync), string(StateFailed), string(StateRefused), string(Held), string(Pending)}
}

// Show puts into the metrics how a manifest stands: what is served of it, the
// zero record for nothing, and what is remembered.
func Show(m *metrics.Metrics, name string, record mirror.Record, remembered store.Manifest) {
	served := record.Manifest != ""
	standing := metrics.Standing{
		State:  string(manifestStatus(Target{Name: name}, record, remembered, nil).State),
		States: restingStates(),
		Newest: remembered.Newest, Checked: remembered.CheckedAt, Success: remembered.SyncedAt,
		Behind: record.Release.MonthsTo(manifest.Release(remembered.Newest)),
	}
	if served {
		standing.Release, standing.Revision = string(record.Release), record.Revision
		standing.Bytes, standing.Since = record.Bytes, record.PublishedAt
	}
	if standing.Success.IsZero() {
		standing.Success = record.PublishedAt // the state was lost, the disk was not
	}
	m.Stands(name, standing)
}
