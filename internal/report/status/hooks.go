package status

import (
	"cmp"
	"slices"
	"time"

	"syncd/internal/report"
	"syncd/internal/store"
)

// ConfiguredHook is a hook of the configuration.
type ConfiguredHook struct {
	Name     string
	Receiver string
	On       []string
}

// HookState is the state of a hook in a running daemon.
type HookState struct {
	Disabled bool
	NextTry  time.Time // zero for none
}

// DeliveryReader reads the outbox.
type DeliveryReader interface {
	Deliveries() ([]store.Delivery, error)
}

// Deliveries returns all deliveries, the oldest event first. hooks are the configured
// ones; states are what they do now, nil when no daemon runs.
func Deliveries(state DeliveryReader, hooks []string, states map[string]HookState) (report.Deliveries, error) {
	result := report.Deliveries{Deliveries: []report.Delivery{}}
	all, err := state.Deliveries()
	if err != nil {
		return result, err
	}
	next := map[string]bool{} // hooks whose first delivery was seen
	for _, d := range all {
		entry := report.Delivery{
			ID: d.ID, Hook: d.Hook, Event: d.Event, Manifest: d.Manifest, At: d.At, State: report.DeliveryPending,
			Attempts: d.Attempts, TriedAt: timeOrNull(d.TriedAt), Error: d.Error,
		}
		switch {
		case !slices.Contains(hooks, d.Hook):
			entry.State = report.DeliveryOrphaned
		case !d.GaveUp.IsZero():
			entry.State = report.DeliveryGivenUp
		case !next[d.Hook]:
			next[d.Hook], entry.NextTry = true, timeOrNull(states[d.Hook].NextTry)
		}
		result.Deliveries = append(result.Deliveries, entry)
	}
	slices.SortStableFunc(result.Deliveries, func(a, b report.Delivery) int { return a.At.Compare(b.At) })
	return result, nil
}

// Hooks returns the status of the configured hooks. states are what they do now, nil
// when no daemon runs.
func Hooks(state DeliveryReader, configured []ConfiguredHook, states map[string]HookState) ([]report.HookStatus, error) {
	if len(configured) == 0 {
		return nil, nil
	}
	all, err := state.Deliveries()
	if err != nil {
		return nil, err
	}
	status := make([]report.HookStatus, len(configured))
	for i, c := range configured {
		status[i] = report.HookStatus{Name: c.Name, Receiver: c.Receiver, On: c.On, Disabled: states[c.Name].Disabled, NextTry: timeOrNull(states[c.Name].NextTry)}
	}
	for _, d := range all {
		i := slices.IndexFunc(configured, func(c ConfiguredHook) bool { return c.Name == d.Hook })
		if i >= 0 {
			addDelivery(&status[i], d)
		}
	}
	return status, nil
}

// addDelivery counts a delivery. The first that waits is the oldest.
func addDelivery(h *report.HookStatus, d store.Delivery) {
	if !d.GaveUp.IsZero() {
		h.GivenUp++
		h.Error = cmp.Or(h.Error, d.Error)
		return
	}
	if h.Pending++; h.Pending > 1 {
		return
	}
	h.OldestAt, h.Attempts = timeOrNull(d.At), d.Attempts
	if d.Error != "" {
		h.Error = d.Error
	}
}
