package report

import (
	"fmt"
	"strings"
	"time"
)

// UpstreamStatus is what `status --json` prints of the publisher whose signatures this host
// believes. Unknown times are null.
type UpstreamStatus struct {
	Origin       string     `json:"origin"`
	Fingerprint  string     `json:"fingerprint"`   // of the first version of the trust text
	TrustVersion int        `json:"trust_version"` // the newest that was found
	Generation   int        `json:"generation"`    // that was believed last; 0 for none yet
	SignedBy     []string   `json:"signed_by"`     // names of the keys that count
	IssuedAt     *time.Time `json:"issued_at"`
	Expires      *time.Time `json:"expires"` // until when the statement is believed
	Expired      bool       `json:"expired"` // also by a clock that is wrong by an hour
	Explanation  string     `json:"explanation"`
}

// sentence tells who signed what this host follows.
func (u UpstreamStatus) sentence(now time.Time) string {
	if u.Generation == 0 || u.Expires == nil {
		return fmt.Sprintf("nothing of %s was believed yet, by version %d of its trust text", u.Origin, u.TrustVersion)
	}
	end := Moment(u.Expires.In(now.Location()))
	text := fmt.Sprintf("generation %d of %s is signed by %s", u.Generation, u.Origin, strings.Join(u.SignedBy, ", "))
	if u.Expired {
		return text + ", and its statement has expired at " + end + ": the publisher does not sign any more, or something between gives old answers"
	}
	return text + " until " + end
}

// Text tells who signed a generation, and until when that holds.
func (s Signed) Text() string {
	by := "nobody"
	if len(s.By) > 0 {
		by = strings.Join(s.By, ", ")
	}
	text := "signed by " + by
	if !s.Expires.IsZero() {
		text += " until " + Moment(s.Expires.Local())
	}
	if s.Missing > 0 {
		text += fmt.Sprintf("; followers do not see it before %d more of the keys of %s sign it", s.Missing, s.Origin)
	}
	return text
}
