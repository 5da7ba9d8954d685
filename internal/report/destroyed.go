package report

import "syncd/internal/mirror/destroy"

// DestroyResult is what `destroy --json` prints.
type DestroyResult struct {
	DryRun    bool                  `json:"dry_run,omitempty"` // nothing was destroyed
	Destroyed []destroy.Destruction `json:"destroyed"`
	Notes     []string              `json:"notes"`                 // about releases that stay, or were destroyed before
	Upload    *Upload               `json:"publication,omitempty"` // of what is gone to object storage; nil without
}
