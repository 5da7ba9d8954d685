package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// ConfiguredView is a configured view. Err says why its map files cannot be read.
type ConfiguredView struct {
	mirror.ViewSpec
	Err error
}

// Views returns the status of the configured views and of those that left the
// configuration. It compares what is served with what a sync would make of it.
func Views(current mirror.Generation, wanted []ConfiguredView) (all []report.ViewStatus) {
	for _, w := range wanted {
		all = append(all, viewStatus(current, w))
	}
	for _, name := range slices.Sorted(maps.Keys(current.Views)) {
		if slices.ContainsFunc(wanted, func(w ConfiguredView) bool { return w.Name == name }) {
			continue
		}
		s := servedView(current.Views[name])
		s.State, s.Explanation = report.StateOrphaned, "left the configuration and stays served as it is: `syncd forget "+name+"` removes it"
		all = append(all, s)
	}
	return all
}

func servedView(v mirror.View) report.ViewStatus {
	s := report.ViewStatus{
		Name: v.Name, Layout: v.Layout, Fingerprint: v.Fingerprint, Files: len(v.Files), Bytes: v.Bytes,
		HashFiles: v.HashFiles, Unmapped: v.Unmapped, Revisions: v.Revisions, ActiveSince: timeOrNull(v.PublishedAt),
	}
	if s.Revisions == nil {
		s.Revisions = map[string]string{}
	}
	return s
}

func viewStatus(current mirror.Generation, w ConfiguredView) report.ViewStatus {
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
		s.State, s.Reason, s.Error = report.StateFailed, string(refusal.ReasonOf(err)), report.OneLine(err.Error())
		if s.Reason != "" {
			s.State = report.StateRefused
		}
		s.Explanation = s.Error
		if s.Fingerprint != "" {
			s.Explanation = "stays as it was: " + s.Error
		}
	case matches:
		s.State, s.Explanation = report.StateInSync, fmt.Sprintf("shows %d files by layout %s", s.Files, s.Layout)
	case len(missing) > 0:
		s.State, s.Explanation = report.StatePending, "waits for data of "+strings.Join(missing, ", ")
	default:
		s.State, s.Explanation = report.StatePending, "its configuration changed: the next sync makes it anew"
	}
	return s
}
