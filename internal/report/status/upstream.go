package status

import (
	"slices"
	"strings"
	"time"

	"syncd/internal/report"
	"syncd/internal/store"
)

// skew is how wrong the clock of a follower may be: trust.Skew.
const skew = time.Hour

// Upstream returns what is known of the publisher whose signatures are believed, nil before
// the first text of it.
func Upstream(b store.Belief, now time.Time) *report.UpstreamStatus {
	if b.Root == "" {
		return nil
	}
	return &report.UpstreamStatus{
		Origin: b.Origin, Fingerprint: b.Root, TrustVersion: b.Trust, Generation: b.Generation, SignedBy: append([]string{}, b.Signers...),
		IssuedAt: timeOrNull(b.Issued), Expires: timeOrNull(b.Expires), Expired: !b.Expires.IsZero() && now.Add(-skew).After(b.Expires),
	}
}

// signed is who signed what is at a place, nil for an unsigned one.
func signed(p store.Upload) *report.Signed {
	if p.SignedOrigin == "" {
		return nil
	}
	by := slices.DeleteFunc(strings.Split(p.SignedBy, ","), func(name string) bool { return name == "" })
	return &report.Signed{Origin: p.SignedOrigin, By: by, Missing: p.SignaturesMissing, Expires: p.SignedUntil, Trust: p.TrustVersion}
}
