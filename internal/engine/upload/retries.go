package upload

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/downstream/objectstore"
	"syncd/internal/report"
)

// logRetriesEvery is the time between two log lines about retries.
const logRetriesEvery = time.Minute

// retries tells what is retried at a bucket, in the status and the log. Requests run
// side by side: the one that told last counts. Safe for concurrent use.
type retries struct {
	log zerolog.Logger

	mu       sync.Mutex
	last     *report.Retry
	loggedAt time.Time
}

// tell takes what a store tells about its requests.
func (r *retries) tell(t objectstore.Trouble) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Err == nil {
		r.last = nil
		return
	}
	r.last = &report.Retry{Error: report.OneLine(t.Err.Error()), Attempt: t.Attempt, Since: t.Since, NextAt: t.Next}
	if time.Since(r.loggedAt) < logRetriesEvery {
		return
	}
	r.loggedAt = time.Now()
	r.log.Warn().Int("attempt", t.Attempt).Time("since", t.Since).Time("next", t.Next).Str("error", r.last.Error).Msg("a request to the bucket failed; trying again")
}

func (r *retries) shown() *report.Retry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
