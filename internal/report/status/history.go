package status

import (
	"encoding/json"
	"slices"

	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// History returns the newest entries, limit at most. Generations on disk that
// the state database does not know are listed too; state is nil when there is none.
func History(m *mirror.Mirror, state StateReader, limit int) (report.History, error) {
	generations, err := m.Generations.All()
	if err != nil {
		return report.History{}, err
	}
	var saved []json.RawMessage
	if state != nil {
		if saved, err = state.History(limit); err != nil {
			return report.History{}, err
		}
	}
	onDisk, listed := map[int]bool{}, map[int]bool{}
	for _, g := range generations {
		onDisk[g.Number] = true
	}
	history := report.History{Entries: []report.HistoryRow{}}
	for _, raw := range saved {
		var entry report.HistoryEntry
		if err := json.Unmarshal(raw, &entry); err != nil {
			return report.History{}, err
		}
		listed[entry.Generation] = listed[entry.Generation] || entry.Changed
		history.Entries = append(history.Entries, report.HistoryRow{HistoryEntry: entry, OnDisk: entry.Changed && onDisk[entry.Generation]})
	}
	for _, g := range generations {
		if !listed[g.Number] && len(history.Entries) < limit {
			history.Entries = append(history.Entries, entryFromDisk(g))
		}
	}
	slices.SortStableFunc(history.Entries, func(a, b report.HistoryRow) int { return b.Time.Compare(a.Time) })
	return history, nil
}

// entryFromDisk makes an entry for a generation that the state database lost.
func entryFromDisk(g mirror.Generation) report.HistoryRow {
	entry := report.HistoryEntry{Time: g.PublishedAt.UTC(), Trigger: request.TriggerUnknown, Sync: report.Sync{Generation: g.Number, Changed: true}}
	for _, name := range g.Names() {
		r := g.Records[name]
		entry.Manifests = append(entry.Manifests, report.ManifestResult{
			Name: name, Release: string(r.Release), Revision: r.Revision, Result: report.Updated, FilesTotal: len(r.Files),
		})
	}
	return report.HistoryRow{HistoryEntry: entry, OnDisk: true}
}
