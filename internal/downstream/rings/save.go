package rings

import (
	"context"
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
	kindHeard    = "heard"   // since when; see listener
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

func heardKey(p place) string { return strings.Join([]string{kindHeard, p.ring, p.manifest}, "\x00") }

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
