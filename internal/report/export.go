package report

import (
	"syncd/internal/export"
	"syncd/internal/mirror"
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
	Error      string      `json:"error"`
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

// ReadExports looks at the folders. failed is the last error of each path.
func ReadExports(m *mirror.Mirror, targets []export.Target, failed map[string]error) []ExportStatus {
	current := m.Current()
	var all []ExportStatus
	for _, t := range targets {
		view := current.Views[t.View]
		mark, err := export.Look(t)
		s := ExportStatus{View: t.View, Path: t.Path, Generation: mark.Generation, State: ExportBehind}
		switch {
		case err == nil && mark.Fingerprint == "":
			s.State = ExportPending
		case err == nil && mark.Fingerprint == view.Fingerprint:
			s.Generation, s.State = current.Number, ExportInSync
		}
		if err == nil {
			err = failed[t.Path]
		}
		if err != nil {
			s.State, s.Error = ExportFailed, OneLine(err.Error())
			if export.IsRefused(err) {
				s.State = ExportRefused
			}
		}
		all = append(all, s)
	}
	return all
}
