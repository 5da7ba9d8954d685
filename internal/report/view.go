package report

import "time"

// ViewStatus is one view's part of a Status.
type ViewStatus struct {
	Name        string            `json:"name"`
	Layout      string            `json:"layout"`
	State       State             `json:"state"`       // in_sync, pending, refused, failed or orphaned
	Fingerprint string            `json:"fingerprint"` // of the served tree; "" for none
	Files       int               `json:"files"`       // without hash files
	Bytes       int64             `json:"bytes"`
	HashFiles   bool              `json:"hash_files"`
	Unmapped    int               `json:"unmapped"`  // files that no map places
	Revisions   map[string]string `json:"revisions"` // served, by manifest
	ActiveSince *time.Time        `json:"active_since"`
	Reason      string            `json:"reason"` // of a refusal
	Error       string            `json:"error"`
	Explanation string            `json:"explanation"`
}
