package hooks

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"syncd/internal/metrics/tracing"
	"syncd/internal/store"
)

// Patience is how long a delivery is tried.
const Patience = 7 * 24 * time.Hour

// Hook is one receiver of events: a command or a webhook.
type Hook struct {
	ID      string
	Timeout time.Duration // of one attempt

	Command []string // program and arguments

	URL    *url.URL                  // for a webhook
	Signer *standardwebhooks.Webhook // nil for no signature
}

// Receiver describes a hook without what may be secret: arguments, and the path of a URL.
func (h Hook) Receiver() string {
	if h.URL != nil {
		return h.URL.Scheme + "://" + h.URL.Host
	}
	return h.Command[0]
}

// Observer counts attempts by their result.
type Observer interface {
	HookResult(hook, result string)
}

// The results of an attempt, as metrics name them.
const (
	Delivered = "delivered"
	Failed    = "failed"
	GaveUp    = "gave_up"
)

// Results returns every result.
func Results() []string { return []string{Delivered, Failed, GaveUp} }

// Config is what New needs.
type Config struct {
	Store   *store.Store
	Metrics Observer
	Log     zerolog.Logger
	Sender  Sender
	Tracing *tracing.Tracer
}

// Runner runs the workers. Its methods are safe for concurrent use.
type Runner struct {
	cfg  Config
	send func(context.Context, Hook, store.Delivery) error
	ctx  context.Context
	stop context.CancelCauseFunc

	mu      sync.Mutex // guards what follows
	workers map[string]*worker
	ending  map[string]<-chan struct{} // of workers that were stopped
	running sync.WaitGroup
}

// New returns a Runner without hooks. The caller must call Close.
func New(cfg Config) *Runner {
	r := &Runner{cfg: cfg, send: cfg.Sender.send, workers: map[string]*worker{}, ending: map[string]<-chan struct{}{}}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// Configure replaces the hooks. A new hook's deliveries are tried at once, and so are those
// of a hook that failed or was disabled. An attempt for a hook that is no longer
// configured is cancelled; its deliveries stay.
func (r *Runner) Configure(hooks []Hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	left := r.workers
	r.workers = map[string]*worker{}
	for _, hook := range hooks {
		w, known := left[hook.ID]
		delete(left, hook.ID)
		if !known {
			w = r.startLocked(hook)
		} else {
			w.reconfigure(hook)
		}
		r.workers[hook.ID] = w
	}
	for id, w := range left {
		w.stop()
		r.ending[id] = w.ended
	}
}

// startLocked starts a worker. An earlier one of the same hook may still be ending.
func (r *Runner) startLocked(hook Hook) *worker {
	w := newWorker(r, hook, r.ending[hook.ID])
	delete(r.ending, hook.ID)
	r.running.Go(w.run)
	return w
}

// Added tells the workers of new deliveries.
func (r *Runner) Added(hooks []string) { r.each(hooks, func(w *worker) { w.call(w.added) }) }

// TryNow ends the pauses of hooks.
func (r *Runner) TryNow(hooks []string) { r.each(hooks, func(w *worker) { w.call(w.tryNow) }) }

func (r *Runner) each(hooks []string, do func(*worker)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range hooks {
		if w, ok := r.workers[id]; ok {
			do(w)
		}
	}
}

// GaveUp logs and counts a delivery that the outbox gave up.
func (r *Runner) GaveUp(d store.Delivery) {
	r.cfg.Metrics.HookResult(d.Hook, GaveUp)
	r.cfg.Log.Error().Str("hook", d.Hook).Str("event", d.Event).Str("id", d.ID).Str("manifest", d.Manifest).Str("error", d.Error).
		Msg("delivery given up: `syncd deliveries --retry ID` tries it again")
}

// Drain waits until no hook has anything to do at the moment: its deliveries are made, or
// the next attempt waits for a pause to end. It is false when ctx ended before.
func (r *Runner) Drain(ctx context.Context) bool {
	r.mu.Lock()
	workers := slices.Collect(maps.Values(r.workers))
	r.mu.Unlock()
	return !slices.ContainsFunc(workers, func(w *worker) bool { return !w.rested(ctx) })
}

// Close cancels running attempts and waits for their end. Their deliveries stay.
func (r *Runner) Close() {
	r.mu.Lock()
	r.stop(context.Canceled)
	r.mu.Unlock()
	r.running.Wait()
}
