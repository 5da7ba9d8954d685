package status

import (
	"cmp"
	"time"

	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
)

// ExportFailure says why a folder does not follow, and since when.
type ExportFailure struct {
	Err   error
	Since time.Time
}

// Exports looks at the folders. failed is the last failure of each path.
func Exports(m *mirror.Mirror, targets []export.Target, failed map[string]ExportFailure) []report.ExportStatus {
	current := m.Current()
	var all []report.ExportStatus
	for _, t := range targets {
		all = append(all, readExport(t, current, failed[t.Path]))
	}
	return all
}

func readExport(t export.Target, current mirror.Generation, failed ExportFailure) report.ExportStatus {
	view := current.Views[t.View]
	mark, err := export.Look(t)
	s := report.ExportStatus{View: t.View, Path: t.Path, Generation: mark.Generation, State: report.ExportBehind}
	switch {
	case err == nil && mark.Fingerprint == "":
		s.State = report.ExportPending
	case err == nil && mark.Fingerprint == view.Fingerprint:
		s.Generation, s.State = current.Number, report.ExportInSync
	}
	if err == nil && s.State != report.ExportInSync {
		err = export.CheckAbove(t) // or the status would promise that the next sync exports
	}
	if err = cmp.Or(err, failed.Err); err != nil {
		s.State, s.Error = report.ExportFailed, report.OneLine(err.Error())
		if export.IsRefused(err) {
			s.State = report.ExportRefused
		}
	}
	if s.State != report.ExportInSync {
		s.Since = timeOrNull(failed.Since)
	}
	if s.State != report.ExportInSync && s.Since == nil { // a restart forgets the failure
		s.Since = timeOrNull(view.PublishedAt)
	}
	return s
}
