package report

import (
	"encoding/json"
	"slices"
	"time"

	"syncd/internal/mirror"
	"syncd/internal/report/request"
)

// HistoryLimit is how many entries a history shows at most.
const HistoryLimit = 1000

// HistoryEntry is a sync that changed or failed, or a rollback, as the state
// database keeps it.
type HistoryEntry struct {
	Time            time.Time `json:"time"`
	Trigger         string    `json:"trigger"`
	DurationSeconds float64   `json:"duration_seconds"`
	Sync
}

// History is what `history --json` prints: the newest entries first.
type History struct {
	Entries []HistoryView `json:"history"`
}

// HistoryView is an entry as it is shown. OnDisk is true when a rollback to its
// generation is still possible.
type HistoryView struct {
	HistoryEntry
	OnDisk bool `json:"on_disk"`
}

// ReadHistory returns the newest entries, limit at most. Generations on disk that
// the state database does not know are listed too; state is nil when there is none.
func ReadHistory(m *mirror.Mirror, state StateReader, limit int) (History, error) {
	generations, err := m.Generations()
	if err != nil {
		return History{}, err
	}
	var saved []json.RawMessage
	if state != nil {
		if saved, err = state.History(limit); err != nil {
			return History{}, err
		}
	}
	onDisk, listed := map[int]bool{}, map[int]bool{}
	for _, g := range generations {
		onDisk[g.Number] = true
	}
	history := History{Entries: []HistoryView{}}
	for _, raw := range saved {
		var entry HistoryEntry
		if err := json.Unmarshal(raw, &entry); err != nil {
			return History{}, err
		}
		listed[entry.Generation] = listed[entry.Generation] || entry.Changed
		history.Entries = append(history.Entries, HistoryView{HistoryEntry: entry, OnDisk: entry.Changed && onDisk[entry.Generation]})
	}
	for _, g := range generations {
		if !listed[g.Number] && len(history.Entries) < limit {
			history.Entries = append(history.Entries, entryFromDisk(g))
		}
	}
	slices.SortStableFunc(history.Entries, func(a, b HistoryView) int { return b.Time.Compare(a.Time) })
	return history, nil
}

// entryFromDisk makes an entry for a generation that the state database lost.
func entryFromDisk(g mirror.Generation) HistoryView {
	entry := HistoryEntry{Time: g.PublishedAt.UTC(), Trigger: request.TriggerUnknown, Sync: Sync{Generation: g.Number, Changed: true}}
	for _, name := range g.Names() {
		r := g.Records[name]
		entry.Manifests = append(entry.Manifests, ManifestResult{
			Name: name, Release: string(r.Release), Revision: r.Revision, Result: Updated, FilesTotal: len(r.Files),
		})
	}
	return HistoryView{HistoryEntry: entry, OnDisk: true}
}
