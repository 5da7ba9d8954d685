package engine

import (
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// learnPast takes what the history says of past releases into a state of an earlier
// version, which has nothing else of them.
func learnPast(s *store.Store) error {
	saved, err := s.Manifests()
	if err != nil {
		return err
	}
	changes := store.Changes{Manifests: map[string]store.Manifest{}}
	for name, m := range saved {
		if m.Past == nil {
			changes.Manifests[name] = m
		}
	}
	if len(changes.Manifests) == 0 {
		return nil
	}
	history, err := s.History(report.HistoryLimit)
	if err != nil {
		return err
	}
	for name, m := range changes.Manifests {
		past := status.PastOf(history, name)
		m.Past = &past
		changes.Manifests[name] = m
	}
	return s.Commit(changes)
}
