package report

import "time"

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
	Entries []HistoryRow `json:"history"`
}

// HistoryRow is an entry as it is shown. OnDisk is true when a rollback to its
// generation is still possible.
type HistoryRow struct {
	HistoryEntry
	OnDisk bool `json:"on_disk"`
}

// Newest returns the entries from since on, at most limit; 0 is no limit.
func (h History) Newest(limit int, since time.Time) History {
	newest := History{Entries: []HistoryRow{}}
	for _, entry := range h.Entries {
		if limit > 0 && len(newest.Entries) == limit {
			break
		}
		if !entry.Time.Before(since) {
			newest.Entries = append(newest.Entries, entry)
		}
	}
	return newest
}
