package syncer

import (
	"cmp"
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
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Activate publishes what is staged, or discards it. It does not wait for downloads, not
// even of the same manifest. A manifest whose gate refuses it, or that cannot be built,
// holds up its group and no other. With names, it is also a failure if something of them is
// staged and must wait. The error says why nothing went live.
func (s *Syncer) Activate(ctx context.Context, req request.Activate) (result report.Sync, err error) {
	names, err := s.cfg.namesOf(req.Names)
	if err != nil {
		return report.Sync{}, err
	}
	if req.Discard {
		err = s.cfg.Shared.change(ctx, func() error {
			result, err = s.discard(names, req.Trigger)
			return err
		})
		return result, err
	}
	stay := s.judgeStaged(ctx, names, req)
	if ctx.Err() != nil {
		return report.Sync{}, context.Cause(ctx)
	}
	err = s.cfg.Shared.change(ctx, func() error {
		if err := s.refresh(); err != nil {
			return err
		}
		result, err = s.activate(ctx, names, req, stay)
		return err
	})
	if result.Changed {
		result.Exports = s.cfg.export(ctx, s.cfg.Exports, export.Options{}, nil)
	}
	return result, err
}

// reasons say why manifests do not go live, by name.
type reasons map[string]error

// err is nil for no reason.
func (r reasons) err() (err error) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		err = errors.Join(err, fmt.Errorf("%s: %w", name, r[name]))
	}
	return err
}

// namesOf returns the manifests that names of manifests and groups mean, each with its
// whole group; without names, all.
func (c *Config) namesOf(asked []string) (names []string, err error) {
	if len(asked) == 0 {
		return namesOf(c.Targets), nil
	}
	for _, name := range asked {
		i := slices.IndexFunc(c.Groups, func(g Group) bool { return g.Name == name })
		switch {
		case i >= 0:
			names = append(names, c.Groups[i].Manifests...)
		case slices.ContainsFunc(c.Targets, func(t Target) bool { return t.Name == name }):
			names = append(names, c.groupOf(name)...)
		default:
			return nil, &request.UnknownManifestError{Name: name}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// activate publishes what is ready. stay has what gates said before. The caller has the
// turn.
func (s *Syncer) activate(ctx context.Context, names []string, req request.Activate, stay reasons) (report.Sync, error) {
	started := time.Now()
	result := report.Sync{Generation: s.cfg.Mirror.Current().Number, Manifests: []report.ManifestResult{}}
	asked := req.Trigger != request.TriggerWindow
	records := s.cfg.ready(names, started, asked)
	if asked && (len(req.Names) > 0 || len(records) == 0) {
		s.cfg.addWaiting(stay, names, records, started)
	}
	before := s.cfg.Mirror.Current()
	live, views, err := s.goLive(ctx, records, stay)
	if len(live) == 0 {
		return result, cmp.Or(err, stay.err())
	}
	s.cfg.Shared.room.RequestPrune()
	s.cfg.showViews(views)
	result.Views = views
	result.Generation, result.Changed = s.cfg.Mirror.Current().Number, true
	for _, record := range live {
		err = errors.Join(err, s.cfg.Staging.Remove(record.Manifest))
		result.Manifests = append(result.Manifests, liveResult(record))
	}
	for _, name := range slices.Sorted(maps.Keys(stay)) {
		result.Manifests = append(result.Manifests, s.cfg.stayResult(name, stay[name]))
	}
	changes := store.Changes{Manifests: map[string]store.Manifest{}, History: report.HistoryEntry{
		Time: time.Now().UTC(), Trigger: req.Trigger, DurationSeconds: time.Since(started).Seconds(), Sync: result,
	}}
	s.cfg.recordLive(live, &changes)
	return result, errors.Join(err, s.cfg.commit(changes, outbox.News{Republished: republished(before, live)}))
}

// goLive publishes staged revisions with the views that follow, in one generation. A
// revision that cannot be built stays staged with its whole group. goLive returns the
// records that went live, the outcome of each view, and an error that is about none of them.
func (s *Syncer) goLive(ctx context.Context, records []mirror.Record, stay reasons) ([]mirror.Record, []report.ViewResult, error) {
	together := s.cfg.groupsOf(records)
	for len(records) > 0 {
		change := mirror.Change{Set: records}
		views, err := s.followViews(&change)
		if err == nil {
			_, err = s.cfg.Mirror.Publish(ctx, change)
		}
		if err == nil {
			return records, views, nil
		}
		broken := s.cfg.heldUpBy(err, change)
		if len(broken) == 0 {
			return nil, nil, space.RefuseIfFull(err)
		}
		left := slices.DeleteFunc(slices.Clone(records), func(r mirror.Record) bool { return slices.Contains(broken, r.Manifest) })
		left = wholeGroups(left, together)
		for _, r := range records {
			if !slices.ContainsFunc(left, func(other mirror.Record) bool { return other.Manifest == r.Manifest }) {
				stay[r.Manifest] = space.RefuseIfFull(err)
			}
		}
		records = left
	}
	return nil, nil, nil
}

// heldUpBy lists the manifests of a change that an error is about, none if it is about all.
func (c *Config) heldUpBy(err error, change mirror.Change) []string {
	var broken *mirror.BuildError
	if named := namedBy(err, change); len(named) > 0 || !errors.As(err, &broken) {
		return named
	}
	names := []string{broken.Manifest}
	if i := slices.IndexFunc(c.Views, func(v ViewTarget) bool { return v.View.Name == broken.View }); i >= 0 {
		names = c.Views[i].View.Manifests
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !sets(change, name) })
}

// stayResult is the outcome of a manifest that stays as it is, although its staged revision
// was to go live.
func (c *Config) stayResult(name string, why error) report.ManifestResult {
	served := c.Mirror.Current().Records[name]
	result := report.ManifestResult{
		Name: name, Release: string(served.Release), Revision: served.Revision, Result: report.Failed,
		Reason: string(refusal.ReasonOf(why)), Error: report.OneLine(why.Error()),
	}
	if result.Reason != "" {
		result.Result = report.Refused
	}
	return result
}

// addWaiting adds the manifests whose staged or quarantined revision is not among the
// records, each with the reason.
func (c *Config) addWaiting(stay reasons, names []string, records []mirror.Record, now time.Time) {
	entries := c.Staging.All()
	for _, name := range names {
		e := entries[name]
		goes := slices.ContainsFunc(records, func(r mirror.Record) bool { return r.Manifest == name })
		switch {
		case e.Manifest == "" || e.Dropped || goes || stay[name] != nil:
		case e.IsQuarantined():
			stay[name] = fmt.Errorf("the gate refused release %s: `syncd activate --again %s` asks it again", e.Release, name)
		default:
			stay[name] = fmt.Errorf("release %s stays staged: %s", e.Release, staging.Waits(c.members(c.groupOf(name), entries, now), now, true))
		}
	}
}
