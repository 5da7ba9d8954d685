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

	Wanted       string            `json:"wanted"`        // the configured release: latest, an alias, or a pinned month
	Newest       string            `json:"newest"`        // the newest release that the provider listed; "" when not known
	ActiveSince  *time.Time        `json:"active_since"`  // when what is served came into service
	Failing      string            `json:"failing"`       // the release that could not be mirrored; "" for none, or when it was not even known
	Reason       string            `json:"reason"`        // of a refusal
	RetryAt      *time.Time        `json:"retry_at"`      // before that the schedule leaves the failing release alone
	CoolingUntil *time.Time        `json:"cooling_until"` // before that the provider asked not to be called
	Progress     *ManifestProgress `json:"progress"`      // of a sync under way
	Explanation  string            `json:"explanation"`   // what is happening, or why nothing is, in one sentence
}

// Remembered is the part of a store that a status needs.
type Remembered interface {
	Manifests() (map[string]store.Manifest, error)
	CoolDowns() (map[string]time.Time, error)
	History(limit int) ([]json.RawMessage, error)
}

// StatusOf puts together what is served, what is remembered (nil for nothing)
// and what is under way for the configured manifests. The provider's origin is
// the one whose cool-down counts. Explain completes it.
func StatusOf(m *mirror.Mirror, remembered Remembered, origin string, targets []Target, now Snapshot) (Status, error) {
	states, coolDowns := map[string]store.Manifest{}, map[string]time.Time{}
	if remembered != nil {
		var err error
		if states, err = remembered.Manifests(); err != nil {
			return Status{}, err
		}
		if coolDowns, err = remembered.CoolDowns(); err != nil {
			return Status{}, err
		}
	}
	current := m.Current()
	status := Status{DataDir: m.Dir(), Generation: current.Number, Manifests: []ManifestStatus{}}
	for _, t := range targets {
		s := manifestStatus(t, current.Records[t.Name], states[t.Name], now.of(t.Name))
		if until := coolDowns[origin]; time.Now().Before(until) {
			s.CoolingUntil = &until
		}
		status.Manifests = append(status.Manifests, s)
	}
	return status, nil
}

// manifestStatus is how a manifest stands; record is the zero value when it is not served.
func manifestStatus(t Target, record mirror.Record, remembered store.Manifest, progress *ManifestProgress) ManifestStatus {
	m := ManifestStatus{
		Name: t.Name, Wanted: string(t.Release), Release: string(record.Release), Revision: record.Revision,
		Files: len(record.Files), Bytes: record.Bytes, Newest: remembered.Newest,
		CheckedAt: known(remembered.CheckedAt), SyncedAt: known(remembered.SyncedAt), ActiveSince: known(record.PublishedAt),
		Progress: progress,
	}
	if m.SyncedAt == nil {
		m.SyncedAt = known(record.PublishedAt) // the state was lost, the disk was not
	}
	if record.Held != nil {
		m.HeldFrom = string(record.Held.Release)
	}
	failure := remembered.Failure
	if failure != nil {
		m.Error, m.Reason, m.Failing, m.RetryAt = failure.Error, failure.Reason, failure.Release, known(failure.NextTry)
	}
	switch {
	case progress != nil:
		m.State = Syncing
	case failure != nil:
		m.State = State(failure.Result)
	case record.Held != nil:
		m.State = Held
	case record.Manifest != "":
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
