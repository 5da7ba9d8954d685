package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// withOrders is a target as the operator's commands want it.
func withOrders(t Target, orders mirror.Orders) Target {
	t.Skip = orders.Skip
	if orders.Pin == "" || orders.Pin == t.Release {
		return t
	}
	t.Files = slices.Clone(t.Files)
	for i, ref := range t.Files {
		if ref.Release() == t.Release { // a path with a release of its own keeps that
			t.Files[i] = ref.WithRelease(orders.Pin)
		}
	}
	t.Release = orders.Pin
	return t
}

// ordersKeep is true when an order keeps a manifest from the chosen release.
func (r *run) ordersKeep(j *job) bool {
	orders := j.active.Orders
	return !r.req.Force && !r.source.AllOrNothing() && orders.Holds(r.started) || j.served && j.release != j.active.Release && orders.Skips(j.release)
}

// newOrdersKeep is true if orders came while the sync ran that keep a ready job from
// going on. Such a hold also binds a forced sync.
func (r *run) newOrdersKeep(j *job, served mirror.Record) bool {
	before, now := j.active.Orders, served.Orders
	return !before.Equal(now) &&
		(now.Holds(time.Now()) || now.Skips(j.release) || now.Pin != before.Pin && now.Pin != j.release)
}

// endHolds adds the end of holds that a forced sync overrides.
func (r *run) endHolds(jobs []*job, change *mirror.Change) {
	current := r.cfg.Mirror.Current().Records
	for _, j := range jobs {
		orders := current[j.target.Name].Orders
		if !r.req.Force || j.hasFailed() || !orders.Holds(time.Now()) || !orders.Equal(j.active.Orders) {
			continue
		}
		orders.HoldUntil = time.Time{}
		if change.Orders == nil {
			change.Orders = map[string]mirror.Orders{}
		}
		change.Orders[j.target.Name] = orders
	}
}

// Order notes what an operator says about manifests in a new generation with the same
// revisions. A manifest without data has no record that could hold it.
func (s *Syncer) Order(ctx context.Context, req request.Order) (result report.Sync, err error) {
	err = s.cfg.Shared.change(ctx, func() error {
		if err := s.refresh(); err != nil {
			return err
		}
		result, err = s.order(ctx, req)
		return err
	})
	return result, err
}

func (s *Syncer) order(ctx context.Context, req request.Order) (report.Sync, error) {
	started, current := time.Now(), s.cfg.Mirror.Current()
	result := report.Sync{Generation: current.Number, Manifests: []report.ManifestResult{}}
	targets, err := s.choose(req.Manifests, false)
	if err != nil {
		return result, err
	}
	change := mirror.Change{Orders: map[string]mirror.Orders{}}
	for _, t := range targets {
		record, served := current.Records[t.Name]
		if !served {
			return result, fmt.Errorf("%s has no data yet, so there is no record to keep this in: set `release` in the configuration, or sync first", t.Name)
		}
		orders, err := newOrders(record, req)
		if err != nil {
			return result, err
		}
		if !orders.Equal(record.Orders) {
			change.Orders[t.Name] = orders
		}
		result.Manifests = append(result.Manifests, report.ManifestResult{
			Name: t.Name, Release: string(record.Release), Revision: record.Revision, Result: report.Unchanged,
			FilesTotal: len(record.Files), FilesReused: len(record.Files), BytesReused: record.Bytes,
		})
	}
	if len(change.Orders) == 0 {
		return result, nil
	}
	next, err := s.cfg.Mirror.Publish(ctx, change)
	if err != nil {
		return result, space.RefuseIfFull(err)
	}
	s.cfg.Shared.room.RequestPrune()
	result.Generation, result.Changed = next.Number, true
	return result, errors.Join(s.followOrders(next, change), s.cfg.Store.Commit(store.Changes{History: report.HistoryEntry{
		Time: time.Now().UTC(), Trigger: req.Trigger, DurationSeconds: time.Since(started).Seconds(), Sync: result,
	}}))
}

// newOrders applies a request to the orders of a record.
func newOrders(record mirror.Record, req request.Order) (mirror.Orders, error) {
	orders := record.Orders
	switch req.Trigger {
	case request.TriggerPin:
		orders.Pin = manifest.Release(req.Release)
	case request.TriggerUnpin:
		orders.Pin = ""
	case request.TriggerHold:
		orders.HoldUntil = req.Until.UTC()
	case request.TriggerSkip:
		release := manifest.Release(req.Release)
		if release == record.Release && !req.Undo {
			return orders, fmt.Errorf("release %s of %s is served: `syncd rollback --manifest %s` goes back first", release, record.Manifest, record.Manifest)
		}
		orders.Skip = slices.DeleteFunc(slices.Clone(orders.Skip), func(r manifest.Release) bool { return r == release })
		if !req.Undo {
			orders.Skip = append(orders.Skip, release)
			slices.Sort(orders.Skip)
		}
	}
	return orders, nil
}

// followOrders drops what is staged against new orders, and shows the orders in the
// metrics.
func (s *Syncer) followOrders(current mirror.Generation, change mirror.Change) (err error) {
	states, err := s.cfg.Store.Manifests()
	for name := range change.Orders {
		record, e := current.Records[name], s.cfg.Staging.Get(name)
		t := s.cfg.target(name)
		isOther := t.Release.IsMonth() && e.Release != t.Release
		if e.Manifest != "" && (isOther || record.Orders.Skips(e.Release)) {
			err = errors.Join(err, s.cfg.Staging.Remove(name))
			e = staging.Entry{}
		}
		s.cfg.Metrics.Pinned(name, t.Release != manifest.Latest)
		status.ShowManifest(s.cfg.Metrics, name, record, states[name], e)
	}
	return err
}

// skipped is the releases of a target that are passed over, as part of its fingerprint.
func (t Target) skipped() string {
	var text strings.Builder
	for _, release := range t.Skip {
		fmt.Fprintf(&text, " -%s", release)
	}
	return text.String()
}
