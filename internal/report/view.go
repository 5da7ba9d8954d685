package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
)

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

// WantedView is a configured view. Err says why its map files cannot be read.
type WantedView struct {
	mirror.Wanted
	Err error
}

// ReadViews returns the status of the configured views and of those that left the
// configuration. It compares what is served with what a sync would make of it.
func ReadViews(current mirror.Generation, wanted []WantedView) (all []ViewStatus) {
	for _, w := range wanted {
		all = append(all, viewStatus(current, w))
	}
	for _, name := range slices.Sorted(maps.Keys(current.Views)) {
		if slices.ContainsFunc(wanted, func(w WantedView) bool { return w.Name == name }) {
			continue
		}
		s := servedView(current.Views[name])
		s.State, s.Explanation = StateOrphaned, "left the configuration and stays served as it is: `syncd forget "+name+"` removes it"
		all = append(all, s)
	}
	return all
}

func servedView(v mirror.View) ViewStatus {
	s := ViewStatus{
		Name: v.Name, Layout: v.Layout, Fingerprint: v.Fingerprint, Files: len(v.Files), Bytes: v.Bytes,
		HashFiles: v.HashFiles, Unmapped: v.Unmapped, Revisions: v.Revisions, ActiveSince: timeOrNull(v.PublishedAt),
	}
	if s.Revisions == nil {
		s.Revisions = map[string]string{}
	}
	return s
}

func viewStatus(current mirror.Generation, w WantedView) ViewStatus {
	s := servedView(current.Views[w.Name])
	s.Name, s.Layout = w.Name, string(w.Layout)
	err := w.Err
	missing := w.Missing(current.Records)
	matches := err == nil && s.Fingerprint != "" && w.Matches(current.Views[w.Name], current.Records)
	if err == nil && !matches && len(missing) == 0 {
		_, _, err = w.Arrange(current.Records, "")
	}
	switch {
	case err != nil:
		s.State, s.Reason, s.Error = StateFailed, string(refusal.ReasonOf(err)), OneLine(err.Error())
		if s.Reason != "" {
			s.State = StateRefused
		}
		s.Explanation = s.Error
		if s.Fingerprint != "" {
			s.Explanation = "stays as it was: " + s.Error
		}
	case matches:
		s.State, s.Explanation = StateInSync, fmt.Sprintf("shows %d files by layout %s", s.Files, s.Layout)
	case len(missing) > 0:
		s.State, s.Explanation = StatePending, "waits for data of "+strings.Join(missing, ", ")
	default:
		s.State, s.Explanation = StatePending, "its configuration changed: the next sync makes it anew"
	}
	return s
}
