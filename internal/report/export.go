package report

import (
	"cmp"
	"time"

	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
)

// ExportResult is one exported folder's part of a Sync.
type ExportResult struct {
	View       string `json:"view"`
	Path       string `json:"path"`
	Generation int    `json:"generation"` // that the folder shows; 0 for none
	Result     Result `json:"result"`
	Reason     string `json:"reason"` // of a refusal for lack of space
	Error      string `json:"error"`
}

// ExportStatus is one exported folder's part of a Status.
type ExportStatus struct {
	View       string      `json:"view"`
	Path       string      `json:"path"`
	Generation int         `json:"generation"` // that the folder shows; 0 for none
	State      ExportState `json:"state"`
	Since      *time.Time  `json:"behind_since"` // when it ceased to follow; null while it does
	Error      string      `json:"error"`
}

// ExportFailure says why a folder does not follow, and since when.
type ExportFailure struct {
	Err   error
	Since time.Time
}

// ExportState is the state of an exported folder, as `status --json` names it.
type ExportState string

// The states of a folder.
const (
	ExportInSync  ExportState = "in_sync"
	ExportBehind  ExportState = "behind"  // the next sync continues
	ExportPending ExportState = "pending" // nothing is exported yet
	ExportRefused ExportState = "refused" // someone has to act
	ExportFailed  ExportState = "failed"
)

// ReadExports looks at the folders. failed is the last failure of each path.
func ReadExports(m *mirror.Mirror, targets []export.Target, failed map[string]ExportFailure) []ExportStatus {
	current := m.Current()
	var all []ExportStatus
	for _, t := range targets {
		all = append(all, readExport(t, current, failed[t.Path]))
	}
	return all
}

func readExport(t export.Target, current mirror.Generation, failed ExportFailure) ExportStatus {
	view := current.Views[t.View]
	mark, err := export.Look(t)
	s := ExportStatus{View: t.View, Path: t.Path, Generation: mark.Generation, State: ExportBehind}
	switch {
	case err == nil && mark.Fingerprint == "":
		s.State = ExportPending
	case err == nil && mark.Fingerprint == view.Fingerprint:
		s.Generation, s.State = current.Number, ExportInSync
	}
	if err = cmp.Or(err, failed.Err); err != nil {
		s.State, s.Error = ExportFailed, OneLine(err.Error())
		if export.IsRefused(err) {
			s.State = ExportRefused
		}
	}
	if s.State != ExportInSync {
		s.Since = timeOrNull(failed.Since)
	}
	if s.State != ExportInSync && s.Since == nil { // a restart forgets the failure
		s.Since = timeOrNull(view.PublishedAt)
	}
	return s
}
