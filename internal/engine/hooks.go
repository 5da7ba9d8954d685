package engine

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"syncd/internal/clients/certificate"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/hooks"
	"syncd/internal/hooks/outbox"
	"syncd/internal/host/command"
	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// staleAfter is the shortest time without a successful check after which a manifest is
// stale. One with a longer schedule is stale when it missed two checks.
const staleAfter = 36 * time.Hour

// maxHookError limits the error of a delivery, which quotes a command, in characters.
const maxHookError = 2000

// newHooks makes the outbox and the runner of the hooks. Configure gives them hooks.
func (e *Engine) newHooks() {
	e.hooks = hooks.New(hooks.Config{
		Store: e.store, Metrics: e.metrics, Log: e.options.Log,
		Sender: hooks.Sender{
			UserAgent: "syncd/" + e.options.Version,
			Environ: func() []string {
				a := e.active.Load()
				return command.Environ(os.Environ(), secretsOf(a.config, a.id)...)
			},
			Clean: e.cleanHookError,
			Roots: func() *x509.CertPool { return e.active.Load().hookRoots },
		},
	})
	e.outbox = outbox.New(outbox.Config{Store: e.store, DataDir: e.mirror.Dir(), Watcher: e.hooks})
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

// startHooks puts the hooks of a configuration in force.
func (e *Engine) startHooks(a *active) {
	e.outbox.Subscribe(subscribersOf(a.config))
	e.delivering.Lock()
	defer e.delivering.Unlock()
	if e.delivers {
		e.hooks.Configure(a.hooks)
	}
	if err := e.outbox.Expire(time.Now(), hooks.Patience); err != nil {
		e.options.Log.Warn().Err(err).Msg("removing deliveries of former hooks failed")
	}
}

// cleanHookError makes one line of an error, which may quote a command.
func (e *Engine) cleanHookError(text string) string {
	text = report.OneLine(transport.NewRedactor(e.active.Load().id.Reveal()).String(text))
	if runes := []rune(text); len(runes) > maxHookError {
		return string(runes[:maxHookError])
	}
	return text
}

// TellStale tells hooks about manifests that no sync has confirmed for long.
func (e *Engine) TellStale() {
	cfg := e.Config()
	err := e.outbox.TellStale(e.mirror.Current(), func(name string, confirmed time.Time) bool {
		for _, m := range cfg.Manifests {
			if m.Name == name {
				return time.Now().After(staleFrom(m.Schedule, cfg.Jitter, confirmed))
			}
		}
		return false // it left the configuration
	})
	if err != nil {
		e.options.Log.Warn().Err(err).Msg("telling hooks about stale data failed")
	}
}

// staleFrom is when a manifest that was confirmed for the last time becomes stale.
func staleFrom(schedule config.Schedule, jitter time.Duration, confirmed time.Time) time.Time {
	from := schedule.Next(schedule.Next(confirmed)).Add(jitter + time.Hour)
	if least := confirmed.Add(staleAfter); from.Before(least) {
		return least
	}
	return from
}

// Deliver starts the deliveries to hooks. Until then, events only wait.
func (e *Engine) Deliver() {
	e.delivering.Lock()
	defer e.delivering.Unlock()
	if !e.delivers {
		e.delivers = true
		e.hooks.Configure(e.active.Load().hooks)
	}
}

// Rest waits until the hooks have nothing to do at the moment, for a process that ends
// then. It waits no longer than the slowest hook may take.
func (e *Engine) Rest(ctx context.Context) {
	longest := time.Duration(0)
	for _, h := range e.Config().Hooks {
		longest = max(longest, h.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	e.hooks.Drain(ctx)
}

// IsDelivering is true when a hook has something to do at the moment.
func (e *Engine) IsDelivering() bool {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	return !e.hooks.Drain(done)
}

// deliveries returns the deliveries that wait, and those that were given up.
func (e *Engine) deliveries() (report.Deliveries, error) {
	return report.ReadDeliveries(e.store, hookNames(e.Config()), e.hookStates())
}

// changeDeliveries tries deliveries again or drops them, and returns those that are left.
func (e *Engine) changeDeliveries(ctx context.Context, req request.Deliveries) (left report.Deliveries, err error) {
	err = e.work(ctx, func() error {
		change := e.outbox.Retry
		if req.Drop {
			change = e.outbox.Drop
		}
		found, err := change(req.ID, req.Hook)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no delivery has the ID %q: `syncd deliveries` lists them", req.ID)
		}
		e.hooks.TryNow(found)
		left, err = e.deliveries()
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

// hookStates returns the state of each hook, by name.
func (e *Engine) hookStates() map[string]report.HookState {
	states := map[string]report.HookState{}
	for name, s := range e.hooks.States() {
		states[name] = report.HookState(s)
	}
	return states
}

func configuredHooks(cfg *config.Config) []report.ConfiguredHook {
	list := make([]report.ConfiguredHook, len(cfg.Hooks))
	for i, h := range cfg.Hooks {
		receiver := hooks.Hook{Command: h.Command, URL: h.Webhook}.Receiver()
		list[i] = report.ConfiguredHook{Name: h.Name, Receiver: receiver}
		for _, kind := range h.On {
			list[i].On = append(list[i].On, string(kind))
		}
	}
	return list
}

// hookQueues are the queues for the metrics.
func (e *Engine) hookQueues() []metrics.HookQueue {
	active := e.active.Load()
	if active == nil {
		return nil
	}
	status, err := report.ReadHooks(e.store, configuredHooks(active.config), nil)
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
