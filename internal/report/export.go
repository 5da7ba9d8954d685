package report

import (
	"fmt"
	"time"
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

	Explanation string `json:"explanation"` // why the folder does not follow; "" while it does
}

// waitsFor says why a view has no tree that a folder could show, "" if it has one.
func (s Status) waitsFor(view string) string {
	for _, v := range s.Views {
		if v.Name == view && v.Fingerprint == "" && v.State != StateInSync {
			return "view " + view + " " + v.Explanation
		}
	}
	return ""
}

// sentence says why the folder does not show the served generation. waits is why its view
// has no tree.
func (e ExportStatus) sentence(served int, waits string) string {
	switch {
	case e.Error != "":
		return e.Error
	case e.State != ExportInSync && waits != "":
		return waits
	case e.State == ExportBehind && e.Generation > 0:
		return fmt.Sprintf("it shows generation %d, and %d is served: `syncd sync` exports it, as the next sync does", e.Generation, served)
	case e.State == ExportBehind, e.State == ExportPending && served > 0:
		return "nothing is exported yet: `syncd sync` exports the view, as the next sync does"
	case e.State == ExportPending:
		return "nothing is exported yet, because nothing is served"
	}
	return ""
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
