package rings

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// The keys of saved entries begin with one of these, and a zero byte.
const (
	kindReport   = "report"
	kindStop     = "stop"
	kindApproval = "approval"
	kindBegun    = "begun"
	kindProving  = "proving" // one entry
)

const (
	saveInterval   = 10 * time.Second
	forgetInterval = time.Hour
)

func reportKey(name string, k follower) string {
	return strings.Join([]string{kindReport, name, k.Name, k.ID, k.Manifest}, "\x00")
}

func parseReportKey(key string) (name string, k follower, isReport bool) {
	parts := strings.Split(key, "\x00")
	if parts[0] != kindReport || len(parts) != 5 {
		return "", follower{}, false
	}
	return parts[1], follower{host{parts[2], parts[3]}, parts[4]}, true
}

func begunKey(t target) string {
	return strings.Join([]string{kindBegun, t.manifest, string(t.Release), t.Revision}, "\x00")
}

func stopKey(t target) string {
	parts := []string{kindStop, t.manifest, string(t.Release)}
	if t.Revision != "" {
		parts = append(parts, t.Revision)
	}
	return strings.Join(parts, "\x00")
}

func approvalKey(release manifest.Release) string { return kindApproval + "\x00" + string(release) }

// savedReport is a report as it is saved. The key has the host and the manifest.
type savedReport struct {
	Ring     string           `json:"ring,omitempty"`
	Version  string           `json:"version,omitempty"`
	Release  manifest.Release `json:"release,omitempty"`
	Revision string           `json:"revision,omitempty"`
	Refused  manifest.Release `json:"refused,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Attempts int              `json:"attempts,omitempty"`
	SeenAt   time.Time        `json:"seen_at"`
	Since    time.Time        `json:"since,omitzero"`
	Shown    manifest.Release `json:"shown,omitempty"`
	Took     manifest.Release `json:"took,omitempty"`

	ShownRevision   string           `json:"shown_revision,omitempty"`
	TookRevision    string           `json:"took_revision,omitempty"`
	RefusedRevision string           `json:"refused_revision,omitempty"`
	About           manifest.Release `json:"about,omitempty"`
	AboutRevision   string           `json:"about_revision,omitempty"`
	Knew            manifest.Release `json:"knew,omitempty"`
	KnewRevision    string           `json:"knew_revision,omitempty"`
	Probe           string           `json:"probe,omitempty"`

	Held  *int   `json:"held,omitempty"` // nil if the host does not tell
	Holds string `json:"holds,omitempty"`
}

func savedOf(r *hostReport) savedReport {
	s := savedReport{
		Ring: r.Ring, Version: r.Version, Release: r.Release, Revision: r.Revision, Refused: r.Refused, RefusedRevision: r.RefusedRevision,
		Reason: r.Reason, Attempts: r.Attempts, SeenAt: r.SeenAt, Since: r.Since,
		Shown: r.Shown.Release, ShownRevision: r.Shown.Revision, Took: r.Took.Release, TookRevision: r.Took.Revision,
		About: r.About.Release, AboutRevision: r.About.Revision, Knew: r.Knew.Release, KnewRevision: r.Knew.Revision, Holds: r.Holds, Probe: r.Probe,
	}
	if r.TellsHeld {
		s.Held = &r.Held
	}
	return s
}

// state is what the host told.
func (s savedReport) state(of host) State {
	told := State{
		Host: of.Name, ID: of.ID, Version: s.Version, Release: s.Release, Revision: s.Revision,
		Refused: s.Refused, RefusedRevision: s.RefusedRevision, Reason: s.Reason, Attempts: s.Attempts, Holds: s.Holds, Probe: s.Probe,
	}
	if s.Held != nil {
		told.TellsHeld, told.Held = true, *s.Held
	}
	return told
}

func (f *Fleet) read(saved Reader) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := saved.Fleet(func(key string, value json.RawMessage) error {
		parts := strings.Split(key, "\x00")
		name, k, isReport := parseReportKey(key)
		switch {
		case isReport:
			f.load(name, k, value)
		case parts[0] == kindStop && (len(parts) == 3 || len(parts) == 4):
			var s report.Stop
			if json.Unmarshal(value, &s) == nil {
				f.stops[targetOf(s)] = s
			}
		case key == kindProving:
			_ = json.Unmarshal(value, &f.proving) // without it, rings begin with what their hosts took
		case parts[0] == kindBegun && len(parts) == 4:
			var b begun
			if json.Unmarshal(value, &b) == nil {
				f.begun[target{parts[1], Version{Release: manifest.Release(parts[2]), Revision: parts[3]}}] = b
			}
		case parts[0] == kindApproval && len(parts) == 2:
			var at time.Time
			if json.Unmarshal(value, &at) == nil {
				f.approved[manifest.Release(parts[1])] = at
			}
		}
		return nil // an entry of a newer syncd
	})
	for name, of := range f.accounts {
		f.loaded(name, of)
	}
	f.expire(f.now())
	return err
}

func (f *reports) load(name string, k follower, value json.RawMessage) {
	var s savedReport
	if json.Unmarshal(value, &s) != nil {
		return
	}
	if f.count >= f.limit {
		f.surplus = true
		return
	}
	f.put(name, k, &hostReport{
		State: s.state(k.host), Ring: s.Ring, SeenAt: s.SeenAt, Since: s.Since, savedAt: s.SeenAt, stored: true, isPresent: true,
		Shown: Version{Release: s.Shown, Revision: s.ShownRevision}, Took: Version{Release: s.Took, Revision: s.TookRevision}, About: Version{Release: s.About, Revision: s.AboutRevision}, Knew: Version{Release: s.Knew, Revision: s.KnewRevision},
	})
	if of := f.accounts[name]; len(of.hosts) >= 2*f.maxHosts {
		f.loaded(name, of)
	}
}

// Save saves what changed. After an error the next Save tries again.
func (f *Fleet) Save() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	if err := f.removeSurplus(); err != nil {
		return err
	}
	for {
		entries := f.takeChanged()
		if len(entries) == 0 {
			return nil
		}
		if err := f.saver.SetFleet(entries); err != nil {
			f.giveBack(entries)
			return err
		}
		f.noteStored(entries)
	}
}

// removeSurplus removes saved reports that were not loaded.
func (f *Fleet) removeSurplus() error {
	for {
		entries, err := f.findSurplus()
		if err != nil || len(entries) == 0 {
			return err
		}
		if err := f.saver.SetFleet(entries); err != nil {
			return err
		}
	}
}

var errEnough = errors.New("enough entries for a transaction")

// findSurplus finds saved reports that were not loaded, as many as a transaction may
// remove; none when they are all gone.
func (f *Fleet) findSurplus() (entries map[string]any, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.surplus {
		return nil, nil
	}
	entries = map[string]any{}
	err = f.saver.Fleet(func(key string, _ json.RawMessage) error {
		if len(entries) == maxBatch {
			return errEnough
		}
		if name, k, isReport := parseReportKey(key); isReport && f.get(name, k) == nil {
			entries[key] = nil
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	f.surplus = err != nil || len(entries) > 0
	return entries, err
}

func (f *Fleet) noteStored(entries map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range entries {
		if name, k, isReport := parseReportKey(key); isReport {
			if r := f.get(name, k); r != nil {
				r.stored = true
			}
		}
	}
}

// maxBatch bounds a transaction, so that it does not hold up the end of a sync.
const maxBatch = 5000

func (f *Fleet) takeChanged() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries := map[string]any{}
	for key := range f.changed {
		if len(entries) == maxBatch {
			break
		}
		entries[key] = f.entryLocked(key)
		delete(f.changed, key)
	}
	return entries
}

func (f *Fleet) giveBack(entries map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range entries {
		f.changed[key] = true
	}
}

// entryLocked is the entry of a key, nil if there is none any more.
func (f *Fleet) entryLocked(key string) any {
	parts := strings.Split(key, "\x00")
	switch parts[0] {
	case kindStop:
		t := target{parts[1], Version{Release: manifest.Release(parts[2])}}
		if len(parts) == 4 {
			t.Revision = parts[3]
		}
		if s, found := f.stops[t]; found {
			return s
		}
	case kindProving:
		if len(f.proving) > 0 {
			return f.proving
		}
	case kindBegun:
		if b, found := f.begun[target{parts[1], Version{Release: manifest.Release(parts[2]), Revision: parts[3]}}]; found {
			return b
		}
	case kindApproval:
		if at, found := f.approved[manifest.Release(parts[1])]; found {
			return at
		}
	case kindReport:
		if r := f.get(parts[1], follower{host{parts[2], parts[3]}, parts[4]}); r != nil {
			return savedOf(r)
		}
	}
	return nil
}

// Run saves what changes, forgets hosts that are gone, and tells of rings that wait too long,
// until the context ends. It tells again of what tell could not tell.
func (f *Fleet) Run(ctx context.Context, tell func(report.WaitingRing) error) {
	save, forget := time.NewTicker(saveInterval), time.NewTicker(forgetInterval)
	defer save.Stop()
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			f.save()
			return
		case <-forget.C:
			f.Forget()
		case <-save.C:
			f.Advance()
			f.tellOverdue(tell)
			f.save()
		}
	}
}

func (f *Fleet) save() {
	if err := f.Save(); err != nil {
		f.log.Warn().Err(err).Msg("saving the reports of followers failed; the next save tries again")
	}
}
