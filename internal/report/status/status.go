package status

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"syncd/internal/changes"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/store"
)

// Configured is a manifest of the configuration.
type Configured struct {
	Name    string
	Release manifest.Release // latest, an alias, or a pinned month
	Policy  staging.Policy   // of what is staged
	Grouped bool             // it goes live together with others
	Age     Age
	Blocked string // why what is staged cannot go live by `syncd activate`; "" if it can
}

// StateReader is the part of the state database that reports are made from.
type StateReader interface {
	Manifests() (map[string]store.Manifest, error)
	CoolDowns() (map[string]time.Time, error)
	Dated() (store.Dated, error)
	History(limit int) ([]json.RawMessage, error)
	Scrub() (store.Scrub, error)
	Uploads() store.Uploads
	Belief() (store.Belief, error)
	Sources() (store.Sources, error)
	Fleet(each func(key string, value json.RawMessage) error) error
	DeliveryReader
}

// Read returns the status of the configured manifests, followed by those that are
// served although they left the configuration. They are without explanations:
// see report.Status.Explain. state is nil when there is no state database; origin selects the
// cool-down that counts; running is the progress of the running syncs.
func Read(m *mirror.Mirror, state StateReader, origin string, configured []Configured, entries map[string]staging.Revision, running report.Progress) (report.Status, error) {
	states, coolDowns := map[string]store.Manifest{}, map[string]time.Time{}
	if state != nil {
		var err error
		if states, err = state.Manifests(); err != nil {
			return report.Status{}, err
		}
		if coolDowns, err = state.CoolDowns(); err != nil {
			return report.Status{}, err
		}
	}
	current := m.Current()
	status := report.Status{DataDir: m.Dir(), Generation: current.Number, Manifests: []report.ManifestStatus{}}
	for _, c := range configured {
		s := manifestStatus(c, current.Records[c.Name], states[c.Name], entries[c.Name], running.Manifest(c.Name))
		s.Destroyed = destroyed(m, s)
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

// destroyed is the wanted release of a manifest if it was destroyed here and is not served. A
// user who cannot read the state learns nothing of that.
func destroyed(m *mirror.Mirror, s report.ManifestStatus) *report.DestroyedRelease {
	release := s.Wanted
	if release == string(manifest.Latest) {
		release = s.Newest
	}
	if release == "" || release == s.Release {
		return nil
	}
	note, found, err := destroy.NewLedger(m.Root(), nil).Last(s.Name, manifest.Release(release))
	if err != nil || !found {
		return nil
	}
	return &report.DestroyedRelease{Release: release, Revision: note.Revision, At: note.BegunAt, Cause: note.Cause}
}

// orphan is the status of a manifest that left the configuration. Its last failure is of
// no interest any more.
func orphan(record mirror.Record, saved store.Manifest) report.ManifestStatus {
	saved.Failure, record.Held, record.Orders = nil, nil, mirror.Orders{}
	m := manifestStatus(Configured{Name: record.Manifest}, record, saved, staging.Revision{}, nil)
	m.State = report.StateOrphaned
	return m
}

// manifestStatus is one manifest's status; record is the zero value when the
// manifest is not served.
func manifestStatus(c Configured, record mirror.Record, saved store.Manifest, e staging.Revision, progress *report.ManifestProgress) report.ManifestStatus {
	if gone := c.Age.Withdrawn; gone != nil {
		record.Orders = gone.Orders
	}
	saved.Failure = openFailure(record, saved)
	m := report.ManifestStatus{
		Name: c.Name, Wanted: string(cmp.Or(record.Orders.Pin, c.Release)), Release: string(record.Release), Revision: record.Revision,
		Files: len(record.Files), Bytes: record.Bytes, Newest: saved.Newest, Expected: timeOrNull(due(saved)),
		CheckedAt: timeOrNull(saved.CheckedAt), SyncedAt: timeOrNull(syncedAt(record, saved)), ActiveSince: timeOrNull(record.PublishedAt),
		State: stateOf(record, saved, e, c.Age), Progress: progress, Staged: Staged(e), Quarantined: quarantinedOf(e),
	}
	c.Age.show(&m)
	m.Pin, m.Skips = string(record.Orders.Pin), []string{}
	for _, release := range record.Orders.Skip {
		m.Skips = append(m.Skips, string(release))
	}
	m.Delisted = saved.Delisted != "" && saved.Delisted == m.Wanted
	if e.Dropped {
		m.Discarded = string(e.Release)
	}
	if record.Orders.Holds(time.Now()) {
		m.HoldUntil = timeOrNull(record.Orders.HoldUntil)
	}
	if m.Staged != nil {
		m.Staged.Changes = changes.Latest(saved.Compared, e.ID())
		m.OpensAt, m.Grouped, m.Blocked = timeOrNull(c.Policy.Opens(time.Now())), c.Grouped, c.Blocked
	}
	m.Changes = changes.Latest(saved.Compared, record.ID())
	m.Late = m.Wanted == string(manifest.Latest) && past(saved).IsLate(manifest.Release(saved.Newest), time.Now())
	if progress != nil {
		m.State = report.StateSyncing
	}
	if record.Held != nil {
		m.HeldFrom = string(record.Held.Release)
	}
	if failure := saved.Failure; failure != nil {
		m.Error, m.Reason, m.Failing, m.RetryAt = failure.Error, failure.Reason, failure.Release, timeOrNull(failure.NextTry)
	}
	m.UnreachableSince = unreachableSince(saved.Failure, progress)
	if m.State == report.StateQuarantined {
		m.Error, m.Reason, m.Failing, m.RetryAt = m.Quarantined.Error, m.Quarantined.Reason, string(e.Release), nil
	}
	return m
}

// openFailure is the failure of the last sync, nil if an order has settled it since: the
// release is skipped, or the operator let it go live although it had expired.
func openFailure(record mirror.Record, saved store.Manifest) *store.Failure {
	f := saved.Failure
	if f == nil || f.Release == "" {
		return f
	}
	isLive := f.Reason == string(refusal.Expired) && f.Release == string(record.Release)
	if isLive || record.Orders.Skips(manifest.Release(f.Release)) {
		return nil
	}
	return f
}

// unreachableSince is when the provider ceased to answer, by the last sync and the running
// one; null while it answers.
func unreachableSince(failure *store.Failure, running *report.ManifestProgress) *time.Time {
	var since time.Time
	if failure != nil {
		since = failure.Unanswered
	}
	if running != nil {
		retry := running.Retry
		switch {
		case retry == nil && running.Phase != report.PhaseChecking && running.Phase != report.PhaseWaiting, retry != nil && retry.Status != 0:
			return nil
		case retry != nil && since.IsZero():
			since = retry.Since
		}
	}
	return timeOrNull(since)
}

func stateOf(record mirror.Record, saved store.Manifest, e staging.Revision, age Age) report.State {
	switch {
	case age.Withdrawn != nil:
		return report.StateExpired
	case saved.Failure != nil && saved.Failure.Reason != string(refusal.Gate):
		return report.State(saved.Failure.Result)
	case quarantinedOf(e) != nil:
		return report.StateQuarantined
	case saved.Failure != nil:
		return report.State(saved.Failure.Result)
	case Staged(e) != nil:
		return report.StateStaged
	case record.Held != nil, record.Orders.Holds(time.Now()):
		return report.StateHeld
	case record.Manifest != "":
		return report.StateInSync
	}
	return report.StatePending
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
