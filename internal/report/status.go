package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/store"
)

// State is the state of a manifest, as `status --json` names it.
type State string

// The states of the contract.
const (
	StateInSync  State = "in_sync"
	StateSyncing State = "syncing"
	StateFailed  State = "failed"
	StateRefused State = "refused"
	StateHeld    State = "held"
	StatePending State = "pending" // nothing is served yet, and nothing has failed

	StateStaged      State = "staged"      // a new revision is complete and waits to go live
	StateQuarantined State = "quarantined" // the gate refused a new revision

	StateOrphaned State = "orphaned" // served, although it left the configuration
)

// Status is what `status --json` prints.
type Status struct {
	DataDir    string           `json:"data_dir"`
	Generation int              `json:"generation"` // 0 when nothing is served yet
	Daemon     bool             `json:"daemon"`
	Manifests  []ManifestStatus `json:"manifests"`
	Views      []ViewStatus     `json:"views,omitempty"`
	Exports    []ExportStatus   `json:"exports,omitempty"`
	Scrub      *ScrubStatus     `json:"scrub,omitempty"` // nil if none is configured and none has run
	Hooks      []HookStatus     `json:"hooks,omitempty"`
	Publish    *PublishStatus   `json:"publish,omitempty"` // nil if no place is configured
}

// ManifestStatus is one manifest's part of a Status. Unknown times are null.
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

	Staged      *StagedRevision      `json:"staged"`      // waits to go live; null for nothing
	Quarantined *QuarantinedRevision `json:"quarantined"` // refused by the gate; null for nothing
	OpensAt     *time.Time           `json:"opens_at"`    // when what is staged goes live by itself; null for `syncd activate` only

	Pin       string     `json:"pin"`        // the release of `syncd pin`; "" for none
	HoldUntil *time.Time `json:"hold_until"` // by `syncd hold`; null for none
	Skips     []string   `json:"skips"`      // releases that `syncd skip` passes over

	Wanted       string            `json:"wanted"`        // the configured release: latest, an alias, or a pinned month
	Expected     *time.Time        `json:"expected"`      // when the release after newest is due, by past ones
	Late         bool              `json:"late"`          // it is late, and the configuration wants the newest one
	Newest       string            `json:"newest"`        // the newest release that the provider listed; "" when unknown
	ActiveSince  *time.Time        `json:"active_since"`  // when the served revision was published
	Failing      string            `json:"failing"`       // the release that failed; "" for none, or when the release is unknown
	Reason       string            `json:"reason"`        // of a refusal
	RetryAt      *time.Time        `json:"retry_at"`      // the schedule skips the failing release until then
	CoolingUntil *time.Time        `json:"cooling_until"` // the provider asked for no requests until then
	Progress     *ManifestProgress `json:"progress"`      // of the running sync
	Explanation  string            `json:"explanation"`   // one sentence that explains the state
}

// Configured is a manifest of the configuration.
type Configured struct {
	Name    string
	Release manifest.Release // latest, an alias, or a pinned month
	Policy  staging.Policy   // of what is staged
}

// StateReader is the part of the state database that reports are made from.
type StateReader interface {
	Manifests() (map[string]store.Manifest, error)
	CoolDowns() (map[string]time.Time, error)
	History(limit int) ([]json.RawMessage, error)
	Scrub() (store.Scrub, error)
	Publication() (store.Publication, error)
	Fleet(each func(key string, value json.RawMessage) error) error
	DeliveryReader
}

// ReadStatus returns the status of the configured manifests, followed by those that are
// served although they left the configuration. They are without explanations:
// see Explain. state is nil when there is no state database; origin selects the
// cool-down that counts; progress is that of the running sync.
func ReadStatus(m *mirror.Mirror, state StateReader, origin string, configured []Configured, entries map[string]staging.Entry, progress Snapshot) (Status, error) {
	states, coolDowns := map[string]store.Manifest{}, map[string]time.Time{}
	if state != nil {
		var err error
		if states, err = state.Manifests(); err != nil {
			return Status{}, err
		}
		if coolDowns, err = state.CoolDowns(); err != nil {
			return Status{}, err
		}
	}
	current := m.Current()
	status := Status{DataDir: m.Dir(), Generation: current.Number, Manifests: []ManifestStatus{}}
	for _, c := range configured {
		s := manifestStatus(c, current.Records[c.Name], states[c.Name], entries[c.Name], progress.manifest(c.Name))
		if until := coolDowns[origin]; time.Now().Before(until) {
			s.CoolingUntil = &until
		}
		status.Manifests = append(status.Manifests, s)
	}
	for _, name := range current.Names() {
		if !slices.ContainsFunc(configured, func(c Configured) bool { return c.Name == name }) {
			status.Manifests = append(status.Manifests, orphan(current.Records[name], states[name]))
		}
	}
	return status, nil
}

// orphan is the status of a manifest that left the configuration. Its last failure is of
// no interest any more.
func orphan(record mirror.Record, saved store.Manifest) ManifestStatus {
	saved.Failure, record.Held, record.Orders = nil, nil, mirror.Orders{}
	m := manifestStatus(Configured{Name: record.Manifest}, record, saved, staging.Entry{}, nil)
	m.State = StateOrphaned
	return m
}

// manifestStatus is one manifest's status; record is the zero value when the
// manifest is not served.
func manifestStatus(c Configured, record mirror.Record, saved store.Manifest, e staging.Entry, progress *ManifestProgress) ManifestStatus {
	m := ManifestStatus{
		Name: c.Name, Wanted: string(cmp.Or(record.Orders.Pin, c.Release)), Release: string(record.Release), Revision: record.Revision,
		Files: len(record.Files), Bytes: record.Bytes, Newest: saved.Newest, Expected: timeOrNull(due(saved)),
		CheckedAt: timeOrNull(saved.CheckedAt), SyncedAt: timeOrNull(syncedAt(record, saved)), ActiveSince: timeOrNull(record.PublishedAt),
		State: stateOf(record, saved, e), Progress: progress, Staged: StagedOf(e), Quarantined: quarantinedOf(e),
	}
	m.Pin, m.Skips = string(record.Orders.Pin), []string{}
	for _, release := range record.Orders.Skip {
		m.Skips = append(m.Skips, string(release))
	}
	if record.Orders.Holds(time.Now()) {
		m.HoldUntil = timeOrNull(record.Orders.HoldUntil)
	}
	if m.Staged != nil {
		m.OpensAt = timeOrNull(c.Policy.Opens(time.Now()))
	}
	m.Late = m.Wanted == string(manifest.Latest) && past(saved).IsLate(manifest.Release(saved.Newest), time.Now())
	if progress != nil {
		m.State = StateSyncing
	}
	if record.Held != nil {
		m.HeldFrom = string(record.Held.Release)
	}
	if failure := saved.Failure; failure != nil {
		m.Error, m.Reason, m.Failing, m.RetryAt = failure.Error, failure.Reason, failure.Release, timeOrNull(failure.NextTry)
	}
	if m.State == StateQuarantined {
		m.Error, m.Reason, m.Failing, m.RetryAt = m.Quarantined.Error, string(refusal.Gate), string(e.Release), nil
	}
	return m
}

// stateOf is the state of a manifest that is not syncing.
func stateOf(record mirror.Record, saved store.Manifest, e staging.Entry) State {
	switch {
	case saved.Failure != nil && saved.Failure.Reason != string(refusal.Gate):
		return State(saved.Failure.Result)
	case quarantinedOf(e) != nil:
		return StateQuarantined
	case saved.Failure != nil:
		return State(saved.Failure.Result)
	case StagedOf(e) != nil:
		return StateStaged
	case record.Held != nil, record.Orders.Holds(time.Now()):
		return StateHeld
	case record.Manifest != "":
		return StateInSync
	}
	return StatePending
}

// syncedAt is when a manifest was last up to date. Without a state database the
// time of publication on disk is the best answer.
func syncedAt(record mirror.Record, saved store.Manifest) time.Time {
	if saved.SyncedAt.IsZero() {
		return record.PublishedAt
	}
	return saved.SyncedAt
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
