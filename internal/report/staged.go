package report

import (
	"time"

	"syncd/internal/mirror/staging"
)

// StagedRevision is complete on disk and waits to go live.
type StagedRevision struct {
	Release  string    `json:"release"`
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
}

// QuarantinedRevision is complete on disk and was refused by the gate.
type QuarantinedRevision struct {
	StagedRevision
	RefusedAt   time.Time `json:"refused_at"`
	Error       string    `json:"error"`
	Lines       []string  `json:"lines"`       // the last ones of the gate's output
	Differences []string  `json:"differences"` // the first ones, if outputs were compared
}

// StagedOf returns the revision that is staged, nil for none.
func StagedOf(e staging.Entry) *StagedRevision {
	if !e.IsStaged() {
		return nil
	}
	return &StagedRevision{Release: string(e.Release), Revision: e.Revision, Since: e.Since}
}

// quarantinedOf returns the revision that the gate refused, nil for none.
func quarantinedOf(e staging.Entry) *QuarantinedRevision {
	if e.Dropped || !e.IsQuarantined() {
		return nil
	}
	v := e.Verdict
	return &QuarantinedRevision{
		StagedRevision: StagedRevision{Release: string(e.Release), Revision: e.Revision, Since: e.Since},
		RefusedAt:      v.At, Error: v.Error, Lines: append([]string{}, v.Lines...), Differences: append([]string{}, v.Differences...),
	}
}
