package report

import (
	"fmt"
	"time"
)

// SourceStatus is what `status --json` prints of one of several sources. Unknown times are null.
type SourceStatus struct {
	Name         string     `json:"name"`
	Address      string     `json:"address"`
	InUse        bool       `json:"in_use"`        // a manifest or more came from it last
	UsedSince    *time.Time `json:"used_since"`    // null unless it is in use
	FailingSince *time.Time `json:"failing_since"` // null while it can be used
	Reason       string     `json:"reason"`        // of its last failure, such as upstream_frozen; "failed" if nothing was refused
	Error        string     `json:"error"`
	NextTry      *time.Time `json:"next_try"` // of the schedule; null while it can be used
	Explanation  string     `json:"explanation"`
}

// sentence says whether a source is in use, and why not.
func (s SourceStatus) sentence(now time.Time) string {
	at := func(t *time.Time) string { return Moment(t.In(now.Location())) }
	text := fmt.Sprintf("source %s is not in use", s.Name)
	if s.InUse && s.UsedSince != nil {
		text = fmt.Sprintf("source %s is in use since %s", s.Name, at(s.UsedSince))
	}
	if s.FailingSince != nil {
		text += fmt.Sprintf("; it cannot be used since %s (%s): %s", at(s.FailingSince), s.Reason, s.Error)
	}
	return text
}
