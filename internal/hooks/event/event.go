package event

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"syncd/internal/changes"
)

// Kind is what happened, as the configuration and SYNCD_EVENT name it.
type Kind string

// The events of the contract.
const (
	Staged      Kind = "staged"
	Activated   Kind = "activated"
	RolledBack  Kind = "rolled_back"
	Refused     Kind = "refused"
	Failed      Kind = "failed"
	Retrying    Kind = "retrying"
	Stale       Kind = "stale"
	Recovered   Kind = "recovered"
	Republished Kind = "republished"
	Damaged     Kind = "damaged"
	Expiring    Kind = "expiring"
	Expired     Kind = "expired"
	Destroyed   Kind = "destroyed"
	Proven      Kind = "proven"
	Waiting     Kind = "waiting"
	Source      Kind = "source"
)

// Kinds returns every event, in the order of the documents.
func Kinds() []Kind {
	return []Kind{Staged, Activated, RolledBack, Refused, Failed, Retrying, Stale, Recovered, Republished, Damaged, Expiring, Expired, Destroyed, Proven, Waiting, Source}
}

// Event is something that happened to a manifest.
type Event struct {
	ID   string // the same in every attempt of every hook
	Kind Kind
	At   time.Time
	Data Data
}

// Data are the fields of an event. docs/events.md says which event has which; the others
// are empty.
type Data struct {
	Manifest   string `json:"manifest"`
	Release    string `json:"release"`
	Revision   string `json:"revision"`
	Previous   string `json:"previous"` // revision that was served before, or that stays served
	Generation int    `json:"generation"`
	Path       string `json:"path"`
	Host       string `json:"host"`
	Error      string `json:"error"`
	Reason     string `json:"reason"`
	Cause      string `json:"cause,omitempty"`   // of rolled_back: "probe", or absent for a rollback by hand
	Ring       string `json:"ring,omitempty"`    // of waiting: the ring that does not see the release
	Source     string `json:"source,omitempty"`  // of source: the name of the one that the manifest comes from now
	Expires    string `json:"expires,omitempty"` // the last day on which the data may be used; of expiring and expired

	Changes *changes.Summary `json:"changes,omitempty"` // of staged and activated: what differs from the previous revision
}

// maxError limits an error text, which may quote the provider, in bytes.
const maxError = 4 << 10

// New returns an event with an ID of its own.
func New(kind Kind, at time.Time, data Data) Event {
	data.Error = data.Error[:min(len(data.Error), maxError)]
	return Event{ID: "evt_" + rand.Text(), Kind: kind, At: at, Data: data}
}

// body is the payload of the Standard Webhooks rules.
type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Body is what webhooks and commands get.
func (e Event) Body() ([]byte, error) {
	return json.Marshal(body{Type: "syncd." + string(e.Kind), Timestamp: e.At, Data: e.Data})
}

// Parse returns the data of a body.
func Parse(text []byte) (Data, error) {
	var b body
	err := json.Unmarshal(text, &b)
	return b.Data, err
}
