package engine

import (
	"sync"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/engine/silence"
	"syncd/internal/hooks/event"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/progress"
)

// logRetriesEvery is the time between two log lines about retries, of all manifests together.
const logRetriesEvery = time.Minute

// retries tells what is retried: in the progress, the log and, when it lasts, to hooks.
type retries struct {
	hooks    *Hooks
	progress *progress.Tracker

	mu       sync.Mutex
	loggedAt time.Time
	notified map[string]bool // manifests whose hooks got an event
}

// tell takes what a client tells about the requests of a manifest.
func (r *retries) tell(manifest string, t transport.Trouble) {
	if t.Err == nil {
		r.progress.SetRetry(manifest, nil)
		if r.setNotified(manifest, false) && t.Answers {
			r.notify(manifest, event.Recovered, "")
		}
		return
	}
	problem := report.OneLine(t.Err.Error())
	r.progress.SetRetry(manifest, &report.Retry{Manifest: manifest, Error: problem, Status: transport.StatusOf(t.Err), Attempt: t.Attempt, Since: t.Since, NextAt: t.Next})
	r.log(manifest, problem, t)
	if time.Since(t.Since) >= silence.MinPatience && !r.setNotified(manifest, true) {
		r.notify(manifest, event.Retrying, problem)
	}
}

// log writes a line for the first retry, and then one a minute.
func (r *retries) log(manifest, problem string, t transport.Trouble) {
	r.mu.Lock()
	isDue := r.loggedAt.IsZero() || time.Since(r.loggedAt) >= logRetriesEvery
	if isDue {
		r.loggedAt = time.Now()
	}
	r.mu.Unlock()
	if !isDue {
		return
	}
	line := r.hooks.options.Log.Info().Ctx(r.progress.ContextOf(manifest)).Str("manifest", manifest).Int("attempt", t.Attempt).Time("since", t.Since).Str("error", problem)
	if t.Next.IsZero() {
		line.Msg("a request to the provider has no answer yet")
		return
	}
	line.Time("next", t.Next).Msg("a request to the provider failed; trying again")
}

func (r *retries) setNotified(manifest string, notified bool) (before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.notified[manifest]
	if r.notified == nil {
		r.notified = map[string]bool{}
	}
	r.notified[manifest] = notified
	return before
}

// notify queues an event for the hooks. The recovery of a manifest that is not served is no
// event, because it has no revision to name.
func (r *retries) notify(manifest string, kind event.Kind, problem string) {
	current := r.hooks.mirror.Current()
	served, isServed := current.Records[manifest]
	told := r.hooks.outbox.Problem(kind, mirror.Record{Manifest: manifest}, served, current.Number, problem, "")
	if kind == event.Recovered {
		told = r.hooks.outbox.Recovered(served, current.Number)
	}
	if manifest == "" || kind == event.Recovered && !isServed {
		return
	}
	if err := r.hooks.outbox.Add(told); err != nil {
		r.hooks.options.Log.Warn().Err(err).Msg("telling hooks about retries failed")
	}
}
