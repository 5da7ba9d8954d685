package status

import (
	"cmp"

	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// Staged returns the revision that is staged, nil for none.
func Staged(e staging.Revision) *report.StagedRevision {
	if !e.IsStaged() {
		return nil
	}
	return &report.StagedRevision{Release: string(e.Release), Revision: e.Revision, Since: e.Since}
}

// quarantinedOf returns the revision that the gate or the probe refused, nil for none.
func quarantinedOf(e staging.Revision) *report.QuarantinedRevision {
	if e.Dropped || !e.IsQuarantined() {
		return nil
	}
	v := e.Verdict
	return &report.QuarantinedRevision{
		StagedRevision: report.StagedRevision{Release: string(e.Release), Revision: e.Revision, Since: e.Since},
		Reason:         string(cmp.Or(v.Reason, refusal.Gate)), RefusedAt: v.At, Error: v.Error, Lines: append([]string{}, v.Lines...), Differences: append([]string{}, v.Differences...),
	}
}
