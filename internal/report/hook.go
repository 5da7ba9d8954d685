package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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
