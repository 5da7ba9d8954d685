package terminal

import (
	"io"
	"sync"
	"time"

	"syncd/internal/report"
)

// Retries writes what is retried: the first at once, then a line every few seconds. The
// zero value with a writer is ready to use. Safe for concurrent use.
type Retries struct {
	W io.Writer

	mu    sync.Mutex
	next  time.Time
	shown report.Retry
}

// Show writes a line if one is due; retry is nil while nothing is retried. It is true while
// something is.
func (r *Retries) Show(retry *report.Retry) bool {
	if retry == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.next) || *retry == r.shown {
		return true
	}
	r.next, r.shown = now.Add(lineInterval), *retry
	about := ""
	if retry.Manifest != "" {
		about = retry.Manifest + ": "
	}
	io.WriteString(r.W, "syncd: "+about+retry.Text(now)+"\n") //nolint:errcheck // progress has no reader left
	return true
}
