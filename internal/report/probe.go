package report

import "time"

// ProbeState says what the consumer said of the served revision.
type ProbeState string

// The states of a probe.
const (
	ProbePending ProbeState = "pending" // it is asked
	ProbeProven  ProbeState = "proven"
	ProbeFailed  ProbeState = "failed" // the revision stays all the same
)

// ProbeStatus is the probe of a manifest's served revision.
type ProbeStatus struct {
	State    ProbeState `json:"state"`
	Release  string     `json:"release"`
	Revision string     `json:"revision"`
	Since    time.Time  `json:"since"`  // when it went live
	Until    *time.Time `json:"until"`  // when the verdict is due; null once there is one
	At       *time.Time `json:"at"`     // of the verdict; null while there is none
	Error    string     `json:"error"`  // why it failed
	Lines    []string   `json:"lines"`  // the last ones that the consumer said then
	Undone   string     `json:"undone"` // the release that went back to this one, because its probe failed; "" for none
}

// Probe is the answer of a consumer that was asked by command.
type Probe struct {
	Manifest        string   `json:"manifest"`
	Release         string   `json:"release"` // served
	Revision        string   `json:"revision"`
	Passed          bool     `json:"passed"`
	DurationSeconds float64  `json:"duration_seconds"`
	Error           string   `json:"error"`
	Lines           []string `json:"lines"`
}

// Probes is what `probe --json` prints.
type Probes struct {
	Probes []Probe `json:"probes"`
}

// OK is true if all consumers work.
func (p Probes) OK() bool {
	for _, probe := range p.Probes {
		if !probe.Passed {
			return false
		}
	}
	return true
}
