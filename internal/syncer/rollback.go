package syncer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// Rollback publishes a new generation with the revisions of an earlier one. Each
// manifest that goes back is held there, see mirror.Hold. It does not wait for downloads,
// not even of the same manifest.
func (s *Syncer) Rollback(ctx context.Context, req request.Rollback) (result report.Sync, err error) {
	err = s.cfg.Shared.change(ctx, func() (err error) {
		result, err = s.rollback(ctx, req)
		return err
	})
	if err == nil {
		result.Exports = s.cfg.export(ctx, s.cfg.Exports, export.Options{}, nil)
	}
	return result, err
}

func (s *Syncer) rollback(ctx context.Context, req request.Rollback) (report.Sync, error) {
	started := time.Now()
	targets, err := s.choose(req.Manifests, false)
	if err != nil {
		return report.Sync{}, err
	}
	if err := s.cfg.Mirror.Refresh(); err != nil {
		return report.Sync{}, err
	}
	goal, err := s.goal(req.Generation, targets)
	if err != nil {
		return report.Sync{}, err
	}
	current := s.cfg.Mirror.Current()
	change, result := s.goBack(goal, targets)
	if len(change.Set) == 0 && goal.Number == current.Number {
		return report.Sync{}, fmt.Errorf("nothing to go back to: generation %d is the served one", goal.Number)
	}
	if len(change.Set) == 0 {
		return report.Sync{}, fmt.Errorf("nothing to go back to: generation %d has the same revisions as the served generation %d", goal.Number, current.Number)
	}
	if result.Views, err = s.followViews(&change); err != nil {
		return report.Sync{}, err
	}
	next, err := s.cfg.Mirror.Publish(ctx, change)
	if err != nil {
		return report.Sync{}, space.RefuseIfFull(err)
	}
	s.cfg.Shared.room.RequestPrune()
	s.cfg.showViews(result.Views)
	result.Generation, result.Changed = next.Number, true
	states, err := s.cfg.Store.Manifests()
	for _, record := range change.Set {
		status.ShowManifest(s.cfg.Metrics, record.Manifest, record, states[record.Manifest], s.cfg.Staging.Get(record.Manifest))
	}
	changes := store.Changes{History: report.HistoryEntry{
		Time: time.Now().UTC(), Trigger: request.TriggerRollback, DurationSeconds: time.Since(started).Seconds(), Sync: result,
	}}
	return result, errors.Join(err, s.cfg.commit(changes, outbox.News{}))
}

// followViews completes the change of a rollback or an activation, and returns the outcome
// of each view if the change is published. A view that cannot hold the files prevents it;
// one that cannot be made for another reason stays.
func (s *Syncer) followViews(change *mirror.Change) (outcomes []report.ViewResult, err error) {
	current := s.cfg.Mirror.Current()
	for _, v := range s.cfg.wantedViews() {
		made, err := s.cfg.arrangeView(v, current, *change, s.cfg.Shared.Reserved(nil))
		if refusal.ReasonOf(err) != "" {
			return nil, err
		}
		if made != nil {
			change.Views = append(change.Views, *made)
		}
		outcomes = append(outcomes, viewResult(v, current.Views[v.Name], made, err))
	}
	return outcomes, s.takeOrphansAlong(current, change)
}

// showViews shows the outcome of views in the metrics.
func (c *Config) showViews(outcomes []report.ViewResult) {
	for _, v := range outcomes {
		status.ShowView(c.Metrics, v.Name, v.State())
	}
}

// takeOrphansAlong adds views that left the configuration and show what the rollback
// leaves: their readers need the earlier data, too. It takes the view from an earlier
// generation, because its configuration is gone.
func (s *Syncer) takeOrphansAlong(current mirror.Generation, change *mirror.Change) error {
	all, err := s.cfg.Mirror.Generations()
	if err != nil {
		return err
	}
	for _, name := range s.cfg.orphaned() {
		wanted := revisionsAfter(current.Views[name], current, *change)
		if wanted == nil {
			continue
		}
		i := slices.IndexFunc(all, func(g mirror.Generation) bool { return maps.Equal(g.Views[name].Revisions, wanted) })
		if i < 0 {
			s.cfg.Log.Warn().Str("view", name).Msg("the view left the configuration and still shows what the rollback left; no earlier one is on disk")
			continue
		}
		earlier := all[i].Views[name]
		earlier.PublishedAt = time.Now().UTC()
		change.Views = append(change.Views, earlier)
	}
	return nil
}

// revisionsAfter lists what a view is to show after a change. It is nil for a view that
// shows nothing of what the change replaces.
func revisionsAfter(v mirror.View, current mirror.Generation, change mirror.Change) map[string]string {
	after, replaced := maps.Clone(v.Revisions), false
	for _, record := range change.Set {
		if id, shown := after[record.Manifest]; shown && id == current.Records[record.Manifest].ID() {
			after[record.Manifest], replaced = record.ID(), true
		}
	}
	if !replaced {
		return nil
	}
	return after
}

// goal is the requested generation; without one, the newest generation before the
// current one that has another revision of one of the manifests.
func (s *Syncer) goal(number int, targets []Target) (mirror.Generation, error) {
	if number > 0 {
		return s.cfg.Mirror.Generation(number)
	}
	current := s.cfg.Mirror.Current()
	all, err := s.cfg.Mirror.Generations()
	if err != nil {
		return mirror.Generation{}, err
	}
	for _, g := range all {
		differs := slices.ContainsFunc(targets, func(t Target) bool {
			then, shown := g.Records[t.Name]
			return shown && then.ID() != current.Records[t.Name].ID()
		})
		if g.Number < current.Number && differs {
			return g, nil
		}
	}
	return s.revisionsBefore(targets)
}

// revisionsBefore makes a generation of the revisions served before the current
// ones, when no earlier generation is on disk.
func (s *Syncer) revisionsBefore(targets []Target) (mirror.Generation, error) {
	view := mirror.Generation{Records: map[string]mirror.Record{}}
	current := s.cfg.Mirror.Current()
	for _, t := range targets {
		records, err := s.cfg.Mirror.Revisions(t.Name)
		if err != nil {
			return mirror.Generation{}, err
		}
		i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.ID() != current.Records[t.Name].ID() })
		if i >= 0 {
			view.Records[t.Name] = records[i]
		}
	}
	if len(view.Records) == 0 {
		return mirror.Generation{}, errors.New("nothing to go back to: no other revision is on disk")
	}
	return view, nil
}

// goBack returns the change that leads to a generation, and its report.
func (s *Syncer) goBack(goal mirror.Generation, targets []Target) (mirror.Change, report.Sync) {
	var change mirror.Change
	result := report.Sync{Manifests: []report.ManifestResult{}}
	current := s.cfg.Mirror.Current()
	for _, t := range targets {
		then, shown := goal.Records[t.Name]
		now := current.Records[t.Name]
		if !shown || then.ID() == now.ID() {
			continue
		}
		then = s.cfg.Mirror.Described(then)
		then.Held, then.PublishedAt = s.holdFrom(withOrders(t, now.Orders), now, then), time.Now().UTC()
		change.Set = append(change.Set, then)
		result.Manifests = append(result.Manifests, report.ManifestResult{
			Name: t.Name, Release: string(then.Release), Revision: then.Revision, Result: report.Updated,
			FilesTotal: len(then.Files), FilesReused: len(then.Files), BytesReused: then.Bytes,
		})
	}
	return change, result
}

// holdFrom is the hold of a manifest that goes from one record to another. Going
// forward ends a hold; a manifest that stays behind the release that it left keeps
// the hold from there.
func (s *Syncer) holdFrom(t Target, now, then mirror.Record) *mirror.Hold {
	if hold := now.Held; hold != nil {
		if then.Release.Newer(hold.Release) || then.Release == hold.Release && then.Revision == hold.Revision {
			return nil
		}
		return hold
	}
	if now.Manifest == "" || then.Release.Newer(now.Release) {
		return nil
	}
	return &mirror.Hold{
		Release: now.Release, Revision: now.Revision, Fingerprint: now.Fingerprint(),
		Setting: t.Release, Selection: s.cfg.selection(t),
	}
}
