package syncer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/hooks/outbox"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Orphaned lists what is served and left the configuration.
func (s *Syncer) Orphaned() []string { return s.cfg.orphaned() }

// orphaned lists the manifests and views that are served and no longer configured as such.
func (c *Config) orphaned() []string {
	names := c.orphanedManifests()
	for view := range c.Mirror.Current().Views {
		if !slices.ContainsFunc(c.Views, func(v ViewTarget) bool { return v.View.Name == view }) {
			names = append(names, view)
		}
	}
	slices.Sort(names)
	return names
}

func (c *Config) orphanedManifests() []string {
	return slices.DeleteFunc(c.Mirror.Current().Names(), func(name string) bool {
		return slices.ContainsFunc(c.Targets, func(t Target) bool { return t.Name == name })
	})
}

// Forget publishes a new generation without what left the configuration. The
// newest configuration counts, because a reload may have come meanwhile. Without names it
// forgets all of them; if there are none, it changes nothing.
func (s *Syncer) Forget(ctx context.Context, req request.Forget) (result report.Sync, err error) {
	err = s.cfg.Shared.change(ctx, func() error {
		if err := s.cfg.Mirror.Refresh(); err != nil {
			return err
		}
		names, err := s.cfg.Shared.newest.Load().forgettable(req.Names)
		if err == nil {
			result, err = s.forget(ctx, names, req.Trigger)
		}
		return err
	})
	return result, err
}

// forgettable checks the names of a request.
func (c *Config) forgettable(names []string) ([]string, error) {
	orphaned, current := c.orphaned(), c.Mirror.Current()
	if len(names) == 0 {
		return orphaned, nil
	}
	for _, name := range names {
		_, isView := current.Views[name]
		_, isManifest := current.Records[name]
		switch {
		case slices.Contains(orphaned, name):
		case isView || isManifest:
			return nil, fmt.Errorf("%s is in the configuration: remove it there first, and send a running syncd SIGHUP", name)
		default:
			return nil, fmt.Errorf("%q is not served: `syncd status` shows what is", name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

func (s *Syncer) forget(ctx context.Context, names []string, trigger string) (report.Sync, error) {
	started := time.Now()
	result := report.Sync{Generation: s.cfg.Mirror.Current().Number, Manifests: []report.ManifestResult{}}
	if len(names) == 0 {
		return result, nil
	}
	next, err := s.cfg.Mirror.Publish(ctx, mirror.Change{Remove: names})
	if err != nil {
		return result, space.RefuseIfFull(err)
	}
	s.cfg.Shared.room.RequestPrune()
	result.Generation, result.Changed, result.Removed = next.Number, true, names
	return result, s.cfg.commit(store.Changes{Forgotten: names, History: report.HistoryEntry{
		Time: time.Now().UTC(), Trigger: trigger, DurationSeconds: time.Since(started).Seconds(), Sync: result,
	}}, outbox.News{})
}
