package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/store"
)

// HookStatus is one hook's part of a Status. Unknown times are null.
type HookStatus struct {
	Name     string     `json:"name"`
	Receiver string     `json:"receiver"` // program, or origin of the webhook
	On       []string   `json:"on"`
	Pending  int        `json:"pending"`   // events that wait
	OldestAt *time.Time `json:"oldest_at"` // when the oldest of them happened
	Attempts int        `json:"attempts"`  // failed ones, of the oldest
	NextTry  *time.Time `json:"next_try"`  // null when an attempt is running, or without a daemon
	GivenUp  int        `json:"given_up"`  // events that were not delivered within a week
	Disabled bool       `json:"disabled"`  // the receiver answered 410
	Error    string     `json:"error"`     // of the last attempt
}

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

// Deliveries is what `deliveries --json` prints.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"`
}

// Delivery is one event that a hook was not told yet.
type Delivery struct {
	ID       string        `json:"id"` // of the event
	Hook     string        `json:"hook"`
	Event    string        `json:"event"`
	Manifest string        `json:"manifest"`
	At       time.Time     `json:"at"`
	State    DeliveryState `json:"state"`
	Attempts int           `json:"attempts"` // that failed
	TriedAt  *time.Time    `json:"tried_at"`
	NextTry  *time.Time    `json:"next_try"`
	Error    string        `json:"error"` // of the last attempt
}

// DeliveryState says what becomes of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending  DeliveryState = "pending"
	DeliveryGivenUp  DeliveryState = "given_up"
	DeliveryOrphaned DeliveryState = "orphaned" // its hook left the configuration; removed after a week
)

// DeliveryReader reads the outbox.
type DeliveryReader interface {
	Deliveries() ([]store.Delivery, error)
}

// ReadDeliveries returns all deliveries, the oldest event first. hooks are the configured
// ones; states are what they do now, nil when no daemon runs.
func ReadDeliveries(state DeliveryReader, hooks []string, states map[string]HookState) (Deliveries, error) {
	result := Deliveries{Deliveries: []Delivery{}}
	all, err := state.Deliveries()
	if err != nil {
		return result, err
	}
	next := map[string]bool{} // hooks whose first delivery was seen
	for _, d := range all {
		entry := Delivery{
			ID: d.ID, Hook: d.Hook, Event: d.Event, Manifest: d.Manifest, At: d.At, State: DeliveryPending,
			Attempts: d.Attempts, TriedAt: timeOrNull(d.TriedAt), Error: d.Error,
		}
		switch {
		case !slices.Contains(hooks, d.Hook):
			entry.State = DeliveryOrphaned
		case !d.GaveUp.IsZero():
			entry.State = DeliveryGivenUp
		case !next[d.Hook]:
			next[d.Hook], entry.NextTry = true, timeOrNull(states[d.Hook].NextTry)
		}
		result.Deliveries = append(result.Deliveries, entry)
	}
	slices.SortStableFunc(result.Deliveries, func(a, b Delivery) int { return a.At.Compare(b.At) })
	return result, nil
}

// ReadHooks returns the status of the configured hooks. states are what they do now, nil
// when no daemon runs.
func ReadHooks(state DeliveryReader, configured []ConfiguredHook, states map[string]HookState) ([]HookStatus, error) {
	if len(configured) == 0 {
		return nil, nil
	}
	all, err := state.Deliveries()
	if err != nil {
		return nil, err
	}
	status := make([]HookStatus, len(configured))
	for i, c := range configured {
		status[i] = HookStatus{Name: c.Name, Receiver: c.Receiver, On: c.On, Disabled: states[c.Name].Disabled, NextTry: timeOrNull(states[c.Name].NextTry)}
	}
	for _, d := range all {
		i := slices.IndexFunc(configured, func(c ConfiguredHook) bool { return c.Name == d.Hook })
		if i >= 0 {
			status[i].add(d)
		}
	}
	return status, nil
}

// add counts a delivery. The first that waits is the oldest.
func (h *HookStatus) add(d store.Delivery) {
	if !d.GaveUp.IsZero() {
		h.GivenUp++
		if h.Error == "" {
			h.Error = d.Error
		}
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

// IsFailing is true when a person should look at the hook.
func (h HookStatus) IsFailing() bool { return h.Disabled || h.GivenUp > 0 || h.Attempts > 0 }

// Explanation says what is wrong with the hook; "" for nothing.
func (h HookStatus) Explanation() string {
	var parts []string
	switch {
	case h.Disabled:
		parts = append(parts, "off until the configuration is loaded again, because the receiver answered 410; waiting events: "+strconv.Itoa(h.Pending))
	case h.Attempts > 0:
		parts = append(parts, fmt.Sprintf("waiting events: %d, failed attempts for the oldest: %d, the last one: %s", h.Pending, h.Attempts, h.Error))
	}
	if h.GivenUp > 0 {
		parts = append(parts, fmt.Sprintf("events that were given up: %d, `syncd deliveries` lists them", h.GivenUp))
	}
	return OneLine(strings.Join(parts, "; "))
}
