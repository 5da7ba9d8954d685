package syncer

import (
	"encoding/json"
	"slices"
	"time"

	"syncd/internal/mirror"
	"syncd/internal/store"
)

// State is how a manifest stands, as `status --json` names it.
type State string

// The states of the contract.
const (
	InSync       State = "in_sync"
	Syncing      State = "syncing"
	StateFailed  State = "failed"
	StateRefused State = "refused"
	Held         State = "held"
	Pending      State = "pending" // nothing is served yet, and nothing has failed
)

// Status is `status --json`.
type Status struct {
	DataDir    string           `json:"data_dir"`
	Generation int              `json:"generation"` // 0 when nothing is served yet
	Daemon     bool             `json:"daemon"`
	Manifests  []ManifestStatus `json:"manifests"`
}

// ManifestStatus is one manifest's part of a Status. Times that are not known are null.
type ManifestStatus struct {
	Name      string     `json:"name"`
	Release   string     `json:"release"` // served; "" for none
	Revision  string     `json:"revision"`
	Files     int        `json:"files"`
	Bytes     int64      `json:"bytes"`
	State     State      `json:"state"`
	CheckedAt *time.Time `json:"checked_at"`
	SyncedAt  *time.Time `json:"synced_at"`
	NextSync  *time.Time `json:"next_sync"`
	HeldFrom  string     `json:"held_from"` // the release that a rollback left
	Error     string     `json:"error"`
}

// Remembered is the part of a store that a status needs.
type Remembered interface {
	Manifests() (map[string]store.Manifest, error)
	History(limit int) ([]json.RawMessage, error)
}

// StatusOf puts together what is served, what is remembered (nil for nothing)
// and what is under way for the configured manifests.
func StatusOf(m *mirror.Mirror, remembered Remembered, targets []string, now Snapshot) (Status, error) {
	states := map[string]store.Manifest{}
	if remembered != nil {
		var err error
		if states, err = remembered.Manifests(); err != nil {
			return Status{}, err
		}
	}
	current := m.Current()
	status := Status{DataDir: m.Dir(), Generation: current.Number, Manifests: []ManifestStatus{}}
	for _, name := range targets {
		record, served := current.Records[name]
		syncing := slices.ContainsFunc(now.Manifests, func(p ManifestProgress) bool { return p.Name == name })
		status.Manifests = append(status.Manifests, manifestStatus(name, record, served, states[name], syncing))
	}
	return status, nil
}

func manifestStatus(name string, record mirror.Record, served bool, remembered store.Manifest, syncing bool) ManifestStatus {
	m := ManifestStatus{
		Name: name, Release: string(record.Release), Revision: record.Revision,
		Files: len(record.Files), Bytes: record.Bytes,
		CheckedAt: known(remembered.CheckedAt), SyncedAt: known(remembered.SyncedAt),
	}
	if m.SyncedAt == nil {
		m.SyncedAt = known(record.PublishedAt) // the state was lost, the disk was not
	}
	if record.Held != nil {
		m.HeldFrom = string(record.Held.Release)
	}
	if remembered.Failure != nil {
		m.Error = remembered.Failure.Error
	}
	switch {
	case syncing:
		m.State = Syncing
	case remembered.Failure != nil:
		m.State = State(remembered.Failure.Result)
	case record.Held != nil:
		m.State = Held
	case served:
		m.State = InSync
	default:
		m.State = Pending
	}
	return m
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// HistoryLimit is how many entries a history shows at most.
const HistoryLimit = 1000

// History is what `history --json` prints: the newest entries first.
type History struct {
	Entries []HistoryView `json:"history"`
}

// HistoryView is one entry; OnDisk tells whether its generation can still be
// gone back to.
type HistoryView struct {
	HistoryEntry
	OnDisk bool `json:"on_disk"`
}

// HistoryOf reads the history; where the state was lost, it begins anew with the
// generations that are on disk.
func HistoryOf(m *mirror.Mirror, remembered Remembered, limit int) (History, error) {
	generations, err := m.Generations()
	if err != nil {
		return History{}, err
	}
	onDisk, told := map[int]bool{}, map[int]bool{}
	for _, g := range generations {
		onDisk[g.Number] = true
	}
	history := History{Entries: []HistoryView{}}
	var entries []json.RawMessage
	if remembered != nil {
		if entries, err = remembered.History(limit); err != nil {
			return History{}, err
		}
	}
	for _, raw := range entries {
		var entry HistoryEntry
		if err := json.Unmarshal(raw, &entry); err != nil {
			return History{}, err
		}
		told[entry.Generation] = told[entry.Generation] || entry.Changed
		history.Entries = append(history.Entries, HistoryView{HistoryEntry: entry, OnDisk: entry.Changed && onDisk[entry.Generation]})
	}
	for _, g := range generations {
		if !told[g.Number] && len(history.Entries) < limit {
			history.Entries = append(history.Entries, fromDisk(g))
		}
	}
	slices.SortStableFunc(history.Entries, func(a, b HistoryView) int { return b.Time.Compare(a.Time) })
	return history, nil
}

func fromDisk(g mirror.Generation) HistoryView {
	entry := HistoryEntry{Time: g.PublishedAt.UTC(), Trigger: "unknown", Report: Report{Generation: g.Number, Changed: true}}
	for _, name := range g.Names() {
		r := g.Records[name]
		entry.Manifests = append(entry.Manifests, ManifestReport{
			Name: name, Release: string(r.Release), Revision: r.Revision, Result: Updated, FilesTotal: len(r.Files),
		})
	}
	return HistoryView{HistoryEntry: entry, OnDisk: true}
}
