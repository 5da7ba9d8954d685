package report

import (
	"time"

	"syncd/internal/changes"
	"syncd/internal/mirror/destroy"
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
	StateQuarantined State = "quarantined" // the gate or the probe refused a new revision

	StateExpired State = "expired" // what was served has expired and was withdrawn; nothing took its place

	StateOrphaned State = "orphaned" // served, although it left the configuration
)

// Status is what `status --json` prints.
type Status struct {
	DataDir    string           `json:"data_dir"`
	Generation int              `json:"generation"` // 0 when nothing is served yet
	Daemon     bool             `json:"daemon"`
	Damage     string           `json:"damage,omitempty"`    // `current` or its generation is missing, with the next step
	ReadOnly   bool             `json:"read_only,omitempty"` // the file system of data_dir can only be read
	Manifests  []ManifestStatus `json:"manifests"`
	Views      []ViewStatus     `json:"views,omitempty"`
	Exports    []ExportStatus   `json:"exports,omitempty"`
	Scrub      *ScrubStatus     `json:"scrub,omitempty"` // nil if none is configured and none has run
	Hooks      []HookStatus     `json:"hooks,omitempty"`
	Upload     *UploadStatus    `json:"publish,omitempty"` // nil if no place is configured
	Patches    *PatchesStatus   `json:"patches,omitempty"` // nil if none are configured

	Sources []SourceStatus `json:"sources,omitempty"` // in order of preference; none if there is one only

	Upstream *UpstreamStatus `json:"upstream,omitempty"` // nil without a trust file, or before its first use
}

// PatchesStatus is what is kept for other hosts to take in the place of whole contents.
type PatchesStatus struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// DestroyedRelease is a release that no sync fetches again by itself.
type DestroyedRelease struct {
	Release  string        `json:"release"`
	Revision string        `json:"revision"` // "" if it was never complete
	At       time.Time     `json:"at"`
	Cause    destroy.Cause `json:"cause"`
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

	Expires     string             `json:"expires"`                  // the last day on which the served or withdrawn data may be used, YYYY-MM-DD; "" for none
	Expiring    bool               `json:"expiring,omitempty"`       // soon
	Expired     bool               `json:"expired,omitempty"`        // the day is past
	Withdrawn   *WithdrawnRevision `json:"withdrawn,omitempty"`      // expired, and nothing took its place
	KeptByForce bool               `json:"expired_forced,omitempty"` // the operator let expired data go live
	ExpiryDoubt string             `json:"expiry_doubt,omitempty"`   // why the day may be past, and nothing is withdrawn; "" for no doubt

	Changes *changes.Summary `json:"changes,omitempty"` // what differs from the revision that was served before; absent if that is not known

	Staged      *StagedRevision      `json:"staged"`      // waits to go live; null for nothing
	Quarantined *QuarantinedRevision `json:"quarantined"` // refused by the gate or the probe; null for nothing
	Probe       *ProbeStatus         `json:"probe"`       // of the served revision; null if it has none
	Grouped     bool                 `json:"-"`           // the configuration has it in a group with others
	Blocked     string               `json:"-"`           // why not even `syncd activate` gets what is staged live; "" if it does
	OpensAt     *time.Time           `json:"opens_at"`    // when what is staged goes live by itself; null for `syncd activate` only

	Pin       string     `json:"pin"`                 // the release of `syncd pin`; "" for none
	HoldUntil *time.Time `json:"hold_until"`          // by `syncd hold`; null for none
	Skips     []string   `json:"skips"`               // releases that `syncd skip` passes over
	Discarded string     `json:"discarded,omitempty"` // the release that `syncd activate --discard` dropped; "" for none

	Destroyed    *DestroyedRelease `json:"destroyed,omitempty"`     // the wanted release, if it was destroyed here; absent otherwise
	Waiting      []WaitingRing     `json:"waiting,omitempty"`       // rings of followers that wait for it
	DestroyWaits string            `json:"destroy_waits,omitempty"` // why what is due is not destroyed; absent while nothing is overdue

	Wanted       string            `json:"wanted"`             // the configured release: latest, an alias, or a pinned month
	Delisted     bool              `json:"delisted,omitempty"` // the provider has the wanted release no more
	Expected     *time.Time        `json:"expected"`           // when the release after newest is due, by past ones
	Late         bool              `json:"late"`               // it is late, and the configuration wants the newest one
	Newest       string            `json:"newest"`             // the newest release that the provider listed; "" when unknown
	ActiveSince  *time.Time        `json:"active_since"`       // when the served revision was published
	Failing      string            `json:"failing"`            // the release that failed; "" for none, or when the release is unknown
	Reason       string            `json:"reason"`             // of a refusal
	RetryAt      *time.Time        `json:"retry_at"`           // the schedule skips the failing release until then
	CoolingUntil *time.Time        `json:"cooling_until"`      // the provider asked for no requests until then
	Progress     *ManifestProgress `json:"progress"`           // of the running sync
	Explanation  string            `json:"explanation"`        // one sentence that explains the state

	UnreachableSince *time.Time `json:"unreachable_since,omitempty"` // when the provider ceased to answer; absent while it answers
}
