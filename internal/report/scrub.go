package report

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize/english"
)

// The states of scrubbing.
const (
	ScrubRunning = "running"
	ScrubWaiting = "waiting" // for its schedule
	ScrubOff     = "off"     // it has run, and is not configured any more
)

// ScrubStatus is what `status --json` prints of the newest scrub. Unknown times are null.
type ScrubStatus struct {
	State        string        `json:"state"`
	StartedAt    *time.Time    `json:"started_at"`
	FinishedAt   *time.Time    `json:"finished_at"`
	Next         *time.Time    `json:"next"` // null without a daemon
	Objects      int           `json:"objects"`
	TotalObjects int           `json:"total_objects"`
	Bytes        int64         `json:"bytes"`
	TotalBytes   int64         `json:"total_bytes"`
	Damaged      int           `json:"damaged"`
	Repaired     int           `json:"repaired"`
	Left         []ScrubDamage `json:"left"` // damage that is not repaired
	Explanation  string        `json:"explanation"`
}

// ScrubDamage is damage that is not repaired.
type ScrubDamage struct {
	Object string    `json:"object"`
	File   string    `json:"file"`
	Error  string    `json:"error"`
	At     time.Time `json:"at"`
}

// Percent is how much of the bytes the scrub has re-read.
func (s ScrubStatus) Percent() int {
	if s.TotalBytes == 0 {
		return 0
	}
	return int(100 * s.Bytes / s.TotalBytes)
}

// sentence explains what scrubbing does.
func (s ScrubStatus) sentence(daemon bool, now time.Time) string {
	at := func(t *time.Time) string { return Moment(t.In(now.Location())) }
	var text string
	switch {
	case s.StartedAt == nil:
		text = "no scrub has run yet"
	case s.FinishedAt == nil:
		text = fmt.Sprintf("%s of %s re-read (%d %%) since %s", size(s.Bytes), size(s.TotalBytes), s.Percent(), at(s.StartedAt))
	default:
		text = fmt.Sprintf("%s with %s re-read by %s", english.Plural(s.Objects, "object", ""), size(s.Bytes), at(s.FinishedAt))
	}
	if s.Damaged > 0 {
		text += fmt.Sprintf(", %d damaged and %d repaired", s.Damaged, s.Repaired)
	}
	if len(s.Left) > 0 {
		text += fmt.Sprintf("; %s is damaged and not repaired, `syncd status --json` shows why", s.Left[0].File)
	}
	switch {
	case s.State == ScrubOff:
		text += "; no scrub is configured"
	case !daemon:
		text += "; no daemon is running"
	case s.Next != nil:
		text += "; next at " + at(s.Next)
	}
	return text
}
