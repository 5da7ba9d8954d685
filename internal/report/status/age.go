package status

import (
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/report"
)

// Age is what the age of a manifest's data means. The zero value is data that does not
// expire.
type Age struct {
	Day        expiry.Day // the last on which the data may be used; "" for none
	IsExpiring bool       // soon, and not yet
	IsExpired  bool
	IsForced   bool                // the operator let it go live although it had expired
	Doubt      string              // why the day may be past and is not proven to be; "" for no doubt
	Withdrawn  *lifespan.Withdrawn // the data that nothing took the place of; nil while some is served
}

// AgeOf is the age of what is served of a manifest, or was withdrawn.
func AgeOf(rule expiry.Rule, served mirror.Record, facts lifespan.Facts, now expiry.Present) Age {
	if gone := facts.Withdrawn; served.Manifest == "" && gone != nil {
		day := rule.Day(gone.Release, facts.Told[gone.ID()])
		return Age{Day: day, IsExpired: now.IsPast(day), Withdrawn: gone}
	}
	if served.Manifest == "" {
		return Age{}
	}
	day := rule.Day(served.Release, facts.Told[served.ID()])
	a := Age{Day: day, IsExpired: now.IsPast(day), Doubt: now.Doubt(day), IsForced: facts.Forced == served.ID()}
	a.IsExpiring = !a.IsExpired && rule.IsExpiring(day, now)
	return a
}

// show puts the age into a status.
func (a Age) show(m *report.ManifestStatus) {
	m.Expires, m.Expiring, m.Expired, m.KeptByForce, m.ExpiryDoubt = string(a.Day), a.IsExpiring, a.IsExpired, a.IsForced, a.Doubt
	if gone := a.Withdrawn; gone != nil {
		m.Withdrawn = &report.WithdrawnRevision{Release: string(gone.Release), Revision: gone.Revision, At: gone.At}
	}
}
