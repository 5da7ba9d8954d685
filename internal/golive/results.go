package golive

import (
	"slices"
	"time"

	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/store"
)

// ResultOf is the outcome of a manifest whose record is served, without a download.
func ResultOf(record mirror.Record, result report.Result) report.ManifestResult {
	return report.ManifestResult{
		Name: record.Manifest, Release: string(record.Release), Revision: record.Revision, Result: result,
		FilesTotal: len(record.Files), FilesReused: len(record.Files), BytesReused: record.Bytes,
	}
}

// StayResult is the outcome of a manifest that stays as it is, although its staged revision
// was to go live.
func StayResult(served mirror.Record, name, tried string, why error) report.ManifestResult {
	result := report.ManifestResult{
		Name: name, Release: string(served.Release), Revision: served.Revision, Result: report.Failed,
		Reason: string(refusal.ReasonOf(why)), Error: report.OneLine(why.Error()), Tried: tried,
	}
	if result.Reason != "" {
		result.Result = report.Refused
	}
	return result
}

// EntryOf is the entry of an operation in the history. A release that was not taken stands
// there under its own name, not under that of the served one.
func EntryOf(trigger string, started time.Time, result report.Sync) report.HistoryEntry {
	now := time.Now().UTC()
	result.Manifests = slices.Clone(result.Manifests)
	for i := range result.Manifests {
		if m := &result.Manifests[i]; m.Tried != "" {
			m.Release, m.Revision = m.Tried, ""
		}
	}
	return report.HistoryEntry{Time: now, Trigger: trigger, DurationSeconds: now.Sub(started).Seconds(), Sync: result}
}

// NoteLive adds what is saved of staged manifests that went live. Their digests were
// compared when they were staged.
func NoteLive(t *Tree, records []mirror.Record, changes *store.Changes) {
	states, err := t.Store.Manifests()
	if err != nil && len(records) > 0 {
		t.Log.Warn().Err(err).Msg("reading the state failed; the next sync compares all digests")
		return
	}
	for _, record := range records {
		state := states[record.Manifest]
		state.Served, state.Failure = record.ID(), nil
		changes.Manifests[record.Manifest] = state
	}
}

// WentTo is the outcome of a manifest that went to another revision by command, and the pin
// that it had before if that came along.
func (c *Command) WentTo(record mirror.Record, o Outcome) report.ManifestResult {
	result := ResultOf(record, report.Updated)
	before := o.Before.Records[record.Manifest].Orders.Pin
	if orders, changed := o.Change.Orders[record.Manifest]; changed && orders.Pin == record.Release && before != "" && before != orders.Pin {
		result.PinnedBefore = string(before)
		c.Log.Warn().Str("manifest", record.Manifest).Str("pin", string(record.Release)).Str("pinned_before", result.PinnedBefore).Msg("the pin moved along")
	}
	return result
}
