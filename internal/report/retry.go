package report

import (
	"fmt"
	"time"
)

// Retry is a request to the provider or to a bucket that failed and will be sent again, or that has no
// answer yet.
type Retry struct {
	Manifest string    `json:"manifest,omitempty"` // that it is about; "" for none
	Error    string    `json:"error"`              // of the last attempt, or that the first one has no answer yet
	Status   int       `json:"status,omitempty"`   // the HTTP status of the last attempt; absent if no answer came
	Attempt  int       `json:"attempt"`            // the one that failed, or that runs
	Since    time.Time `json:"since"`              // when the first request without an answer began
	NextAt   time.Time `json:"next_at,omitzero"`   // when it is sent again; absent while an attempt runs
}

// Text says what is retried, and when.
func (r Retry) Text(now time.Time) string {
	lasting := ""
	if d := now.Sub(r.Since); d >= time.Minute {
		lasting = fmt.Sprintf(" after %s without success", d.Truncate(time.Second))
	}
	switch {
	case !r.NextAt.IsZero():
		wait := max(r.NextAt.Sub(now), 0).Round(time.Second / 10)
		return fmt.Sprintf("attempt %d failed%s, next attempt in %s: %s", r.Attempt, lasting, wait, r.Error)
	case r.Attempt > 1:
		return fmt.Sprintf("attempt %d waits for an answer%s; the last error: %s", r.Attempt, lasting, r.Error)
	}
	return fmt.Sprintf("attempt %d waits for an answer: %s", r.Attempt, r.Error)
}
