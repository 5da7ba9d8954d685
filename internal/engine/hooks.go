package engine

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"syncd/internal/clients/certificate"
	"syncd/internal/config"
	"syncd/internal/config/schedule"
	"syncd/internal/hooks"
	"syncd/internal/hooks/outbox"
	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
)

// staleAfter is the shortest time without a successful check after which a manifest is
// stale. One with a longer schedule is stale when it missed two checks.
const staleAfter = 36 * time.Hour

// maxHookError limits the error of a delivery, which quotes a command, in characters.
const maxHookError = 2000

// Hooks tells hooks about events.
type Hooks struct {
	*base
	outbox *outbox.Outbox
	runner *hooks.Runner

	delivering sync.Mutex // guards what follows, and is held while hooks change
	delivers   bool       // see Deliver
}

// open makes the outbox and the runner of the hooks. start gives them hooks.
func (h *Hooks) open() {
	h.runner = hooks.New(hooks.Config{
		Store: h.store, Metrics: h.metrics, Log: h.options.Log, Tracing: h.options.Tracing,
		Sender: hooks.Sender{
			UserAgent: "syncd/" + h.options.Version,
			Environ:   func() []string { return h.active.Load().hidden.Environ() },
			Clean:     h.cleanError,
			Roots:     func() *x509.CertPool { return h.active.Load().hookRoots },
		},
	})
	h.outbox = outbox.New(outbox.Config{Store: h.store, DataDir: h.mirror.Dir(), Watcher: h.runner, Undone: h.undone})
}

func (h *Hooks) close() {
	if h.runner != nil {
		h.runner.Close()
	}
}

// hooksOf turns the configuration of hooks into those of the runner. It reads the secrets.
func hooksOf(cfg *config.Config) ([]hooks.Hook, error) {
	list := make([]hooks.Hook, len(cfg.Hooks))
	for i, h := range cfg.Hooks {
		list[i] = hooks.Hook{ID: h.Name, Timeout: h.Timeout, Command: h.Command, URL: h.Webhook}
		secret, err := h.Secret()
		if err != nil {
			return nil, err
		}
		if secret == "" {
			continue
		}
		if list[i].Signer, err = standardwebhooks.NewWebhook(secret.Reveal()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func subscribersOf(cfg *config.Config) []outbox.Subscriber {
	list := make([]outbox.Subscriber, len(cfg.Hooks))
	for i, h := range cfg.Hooks {
		list[i] = outbox.Subscriber{Hook: h.Name, Kinds: h.On, Manifests: h.Manifests}
	}
	return list
}

// prepareHooks reads what the hooks of a configuration need.
func (a *active) prepareHooks(cfg *config.Config) (err error) {
	if a.hooks, err = hooksOf(cfg); err != nil {
		return err
	}
	a.hookRoots, err = certificate.Roots(cfg.Source.CAFile)
	return err
}

// start puts the hooks of a configuration in force.
func (h *Hooks) start(a *active) {
	h.outbox.Subscribe(subscribersOf(a.config))
	h.delivering.Lock()
	defer h.delivering.Unlock()
	if h.delivers {
		h.runner.Configure(a.hooks)
	}
	if err := h.outbox.Expire(time.Now(), hooks.Patience); err != nil {
		h.options.Log.Warn().Err(err).Msg("removing deliveries of former hooks failed")
	}
}

// cleanError makes one line of an error, which may quote a command.
func (h *Hooks) cleanError(text string) string {
	text = report.OneLine(h.active.Load().hidden.Clean(text))
	if runes := []rune(text); len(runes) > maxHookError {
		return string(runes[:maxHookError])
	}
	return text
}

// NotifyStale notifies hooks of manifests that no sync has confirmed for long.
func (h *Hooks) NotifyStale() {
	cfg := h.Config()
	err := h.outbox.NotifyStale(h.mirror.Current(), func(name string, confirmed time.Time) bool {
		for _, m := range cfg.Manifests {
			if m.Name == name {
				return time.Now().After(staleFrom(m.Schedule, cfg.Jitter, confirmed))
			}
		}
		return false // it left the configuration
	})
	if err != nil {
		h.options.Log.Warn().Err(err).Msg("telling hooks about stale data failed")
	}
}

// staleFrom is when a manifest that was confirmed for the last time becomes stale.
func staleFrom(schedule schedule.Schedule, jitter time.Duration, confirmed time.Time) time.Time {
	from := schedule.Next(schedule.Next(confirmed)).Add(jitter + time.Hour)
	if least := confirmed.Add(staleAfter); from.Before(least) {
		return least
	}
	return from
}

// Deliver starts the deliveries to hooks. Until then, events only wait.
func (h *Hooks) Deliver() {
	h.delivering.Lock()
	defer h.delivering.Unlock()
	if !h.delivers {
		h.delivers = true
		h.runner.Configure(h.active.Load().hooks)
	}
}

// Rest waits until the hooks have nothing to do at the moment, for a process that ends
// then. It waits no longer than the slowest hook may take.
func (h *Hooks) Rest(ctx context.Context) {
	longest := time.Duration(0)
	for _, configured := range h.Config().Hooks {
		longest = max(longest, configured.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	h.runner.Drain(ctx)
}

// IsDelivering is true when a hook has something to do at the moment.
func (h *Hooks) IsDelivering() bool {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	return !h.runner.Drain(done)
}

// list returns the deliveries that wait, and those that were given up.
func (h *Hooks) list() (report.Deliveries, error) {
	return status.Deliveries(h.store, hookNames(h.Config()), h.states())
}

// change tries deliveries again or drops them, and returns those that are left.
func (h *Hooks) change(ctx context.Context, req request.Deliveries) (left report.Deliveries, err error) {
	err = h.work(ctx, func() error {
		act := h.outbox.Retry
		if req.Drop {
			act = h.outbox.Drop
		}
		found, err := act(req.ID, req.Hook)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no delivery has the ID %q: `syncd deliveries` lists them", req.ID)
		}
		h.runner.TryNow(found)
		left, err = h.list()
		return err
	})
	return left, err
}

func hookNames(cfg *config.Config) []string {
	names := make([]string, len(cfg.Hooks))
	for i, h := range cfg.Hooks {
		names[i] = h.Name
	}
	return names
}

// states returns the state of each hook, by name.
func (h *Hooks) states() map[string]status.HookState {
	states := map[string]status.HookState{}
	for name, s := range h.runner.States() {
		states[name] = status.HookState(s)
	}
	return states
}

func configuredHooks(cfg *config.Config) []status.ConfiguredHook {
	list := make([]status.ConfiguredHook, len(cfg.Hooks))
	for i, h := range cfg.Hooks {
		receiver := hooks.Hook{Command: h.Command, URL: h.Webhook}.Receiver()
		list[i] = status.ConfiguredHook{Name: h.Name, Receiver: receiver}
		for _, kind := range h.On {
			list[i].On = append(list[i].On, string(kind))
		}
	}
	return list
}

// queues are the queues for the metrics.
func (h *Hooks) queues() []metrics.HookQueue {
	active := h.active.Load()
	if active == nil {
		return nil
	}
	status, err := status.Hooks(h.store, configuredHooks(active.config), nil)
	if err != nil {
		return nil // the log says so when a hook reads the outbox
	}
	queues := make([]metrics.HookQueue, len(status))
	for i, s := range status {
		queues[i] = metrics.HookQueue{Hook: s.Name, Pending: s.Pending}
		if s.OldestAt != nil {
			queues[i].Oldest = *s.OldestAt
		}
	}
	return queues
}
