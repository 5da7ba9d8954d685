package syncer

import (
	"time"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// discard drops what is staged or quarantined of the names. The caller has the turn.
func (s *Syncer) discard(names []string, trigger string) (report.Sync, error) {
	current := s.cfg.Mirror.Current()
	result := report.Sync{Generation: current.Number, Manifests: []report.ManifestResult{}}
	states, err := s.cfg.Store.Manifests()
	if err != nil {
		return result, err
	}
	changes := store.Changes{Manifests: map[string]store.Manifest{}}
	for _, name := range names {
		e := s.cfg.Staging.Get(name)
		if e.Manifest == "" || e.Dropped {
			continue
		}
		if err := s.cfg.Staging.Discard(name); err != nil {
			return result, err
		}
		state, record := states[name], current.Records[name]
		if state.Failure != nil && state.Failure.Reason == string(refusal.Gate) {
			state.Failure = nil
			changes.Manifests[name] = state
		}
		status.ShowManifest(s.cfg.Metrics, name, record, state, s.cfg.Staging.Get(name))
		result.Manifests = append(result.Manifests, report.ManifestResult{
			Name: name, Release: string(record.Release), Revision: record.Revision, Result: report.Unchanged,
			FilesTotal: len(record.Files), FilesReused: len(record.Files), BytesReused: record.Bytes,
		})
	}
	if len(result.Manifests) == 0 {
		return result, nil
	}
	s.cfg.Shared.room.RequestPrune()
	changes.History = report.HistoryEntry{Time: time.Now().UTC(), Trigger: trigger, Sync: result}
	return result, s.cfg.commit(changes, outbox.News{})
}
