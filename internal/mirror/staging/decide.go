package staging

import (
	"cmp"
	"fmt"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Window is a time that recurs, in which revisions may go live.
type Window interface {
	Contains(time.Time) bool
	Next(time.Time) time.Time // when it opens
}

// Policy says when a staged revision goes live. The zero value is at once.
type Policy struct {
	Manual bool
	Window Window // unless nil: only while it is open
}

// Open is true when a revision may go live by itself.
func (p Policy) Open(now time.Time) bool {
	return !p.Manual && (p.Window == nil || p.Window.Contains(now))
}

// Opens returns when a revision may go live by itself next; the zero time for never.
func (p Policy) Opens(now time.Time) time.Time {
	switch {
	case p.Manual:
		return time.Time{}
	case p.Open(now):
		return now
	}
	return p.Window.Next(now)
}

// Member is what is known of a manifest that goes live with others, or alone.
type Member struct {
	Name     string
	Policy   Policy
	Gate     Gate
	Setting  manifest.Release // the wanted release: latest, an alias or a pinned month
	Staged   Revision         // the zero value if nothing is staged
	Served   manifest.Release // "" if nothing is served
	ServedID string
	Held     string // why the manifest must stay as it is; "" if it need not
}

// Waits says why a group cannot go live, "" if it can. All members with something staged
// go live together, if the others are up to date with the same release. Asked for by
// someone, they do not wait for a window.
func Waits(members []Member, now time.Time, asked bool) string {
	var newest manifest.Release
	staged := false
	for _, m := range members {
		if m.Staged.IsStaged() {
			staged = true
			newest = max(newest, m.monthAfter())
		}
	}
	if !staged {
		return "nothing is staged"
	}
	for _, m := range members {
		if why := m.waits(newest, now, asked); why != "" {
			return why
		}
	}
	return ""
}

// monthAfter is the month that the manifest is compared by, "" if it follows a release
// of its own.
func (m Member) monthAfter() manifest.Release {
	if m.Setting != manifest.Latest || !m.Staged.Release.IsMonth() {
		return ""
	}
	return m.Staged.Release
}

func (m Member) waits(newest manifest.Release, now time.Time, asked bool) string {
	if !m.Staged.IsStaged() {
		return m.behind(m.Served, newest)
	}
	switch {
	case m.Held != "":
		return m.Name + " " + m.Held
	case !m.Staged.Passes(m.Gate, m.ServedID):
		return "the gate has not passed " + m.Name + " yet"
	case !asked && !m.Policy.Open(now):
		return m.Name + " waits for its window or for `syncd activate`"
	}
	return m.behind(m.Staged.Release, newest)
}

// behind says that a manifest would not be at the release of its group.
func (m Member) behind(release, newest manifest.Release) string {
	switch {
	case m.Staged.IsQuarantined() && !m.Staged.Dropped:
		return fmt.Sprintf("the %s refused %s", cmp.Or(m.Staged.Verdict.Reason, refusal.Gate), m.Name)
	case release == "":
		return m.Name + " has no data yet"
	case m.Setting != manifest.Latest || newest == "" || release == newest:
		return ""
	}
	return fmt.Sprintf("%s is at %s, not at %s", m.Name, release, newest)
}
