package report

import (
	"time"

	"syncd/internal/changes"
)

// StagedRevision is complete on disk and waits to go live.
type StagedRevision struct {
	Release  string    `json:"release"`
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`

	Changes *changes.Summary `json:"changes,omitempty"` // what differs from the served revision; absent if that is not known
}

// QuarantinedRevision is complete on disk and was refused by the gate, or by the probe after
// it went live.
type QuarantinedRevision struct {
	StagedRevision
	Reason      string    `json:"reason"` // gate or probe
	RefusedAt   time.Time `json:"refused_at"`
	Error       string    `json:"error"`
	Lines       []string  `json:"lines"`       // the last ones of the output, or of the consumer's answer
	Differences []string  `json:"differences"` // the first ones, if outputs were compared
}
