package destroyer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"syncd/internal/golive"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/report"
	"syncd/internal/store"
)

// A clock that was set ahead makes everything look old. Data is destroyed only if a second
// witness agrees, see expiry.Present.

// Due is a revision that is to be destroyed at a time.
type Due struct {
	destroy.Order
	At time.Time
}

// Schedule is what is known of the next destruction by `destroy_after`. All Destroyers of a
// data directory share it. The zero value is ready; safe for concurrent use.
type Schedule struct {
	mu      sync.Mutex // guards what follows
	next    time.Time  // when to look again; zero for now
	seen    string     // what was served and staged at the last look
	tree    *golive.Tree
	waiting map[string]string
}

// unprovenPause is how long to wait for a Date header, or after a destruction that failed. A
// sync brings a header, and looks by itself.
const unprovenPause = time.Minute

// Waiting says of manifests why what is due is not destroyed.
func (s *Schedule) Waiting() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// NextDue is when DestroyDue may find something: when the next revision falls due, and at once
// (the zero time) after a change of what is served, staged or configured.
func (d Destroyer) NextDue() time.Time {
	seen := d.state()
	d.Schedule.mu.Lock()
	defer d.Schedule.mu.Unlock()
	if d.Schedule.seen != seen || d.Schedule.tree != d.Tree {
		return time.Time{}
	}
	return d.Schedule.next
}

// state is equal as long as the same is served and staged.
func (d Destroyer) state() string {
	text := fmt.Sprint(d.Mirror.Current().Number)
	entries := d.Staging.All()
	for _, t := range d.Targets {
		text += " " + entries[t.Name].ID()
	}
	return text
}

// DestroyDue finishes destructions that have begun, and destroys what is due.
func (d Destroyer) DestroyDue(ctx context.Context) error {
	seen := d.state()
	failed := d.Continue(ctx)
	all, err := d.Dues(ctx)
	if err != nil {
		return errors.Join(failed, err)
	}
	now, waiting := d.Present().Clock, map[string]string{}
	next := now.Add(24 * time.Hour)
	for _, due := range all {
		switch doubt := d.doubt(due); {
		case now.Before(due.At):
			next = earlier(next, due.At)
			continue
		case doubt != "":
			waiting[due.Manifest] = fmt.Sprintf("%s was to be destroyed at %s, and stays because %s", due.ID(), report.Moment(due.At.Local()), doubt)
		default:
			_, err := d.Destroy(ctx, due.Order)
			if err == nil {
				continue
			}
			failed = errors.Join(failed, err)
			waiting[due.Manifest] = fmt.Sprintf("%s was to be destroyed at %s: %v", due.ID(), report.Moment(due.At.Local()), err)
		}
		next = earlier(next, now.Add(unprovenPause))
	}
	d.Schedule.mu.Lock()
	defer d.Schedule.mu.Unlock()
	for name, text := range waiting {
		if d.Schedule.waiting[name] == "" {
			d.Log.Warn().Ctx(ctx).Str("manifest", name).Msg("a destruction is overdue: " + text)
		}
	}
	d.Schedule.next, d.Schedule.seen, d.Schedule.tree, d.Schedule.waiting = next, seen, d.Tree, waiting
	return failed
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// doubt says why what is due by the clock must wait: its time is not proven to have come, or
// a probe may go back to it. It is "" if nothing speaks against it.
func (d Destroyer) doubt(due Due) string {
	now := d.Present()
	switch {
	case d.IsWayBack(due.Order):
		return "a probe that has no verdict yet may go back to it"
	case now.HasCome(due.At):
		return ""
	case now.IsCarried():
		return fmt.Sprintf("this machine's clock stepped ahead, or it was off: by the bundles and the time that syncd saw pass it is %s; set the clock if it is wrong, or import a newer bundle (`syncd destroy` does not look at the clock)", report.Moment(now.Steady.Local()))
	case !now.HasHeader():
		return "no Date header of the provider from the last 48 hours confirms this machine's clock"
	}
	return fmt.Sprintf("the last Date header of the provider says %s: the next poll brings another, unless the clock is wrong", report.Moment(now.Header.Local()))
}

// Dues lists what is to be destroyed by itself, now or later.
func (d Destroyer) Dues(ctx context.Context) (all []Due, err error) {
	states, err := d.Store.Manifests()
	if err != nil {
		return nil, err
	}
	for _, t := range d.Targets {
		err := d.Change(ctx, func() error { // no pruning meanwhile
			found, err := d.duesOf(t, states[t.Name])
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (d Destroyer) duesOf(t golive.Target, state store.Manifest) (all []Due, err error) {
	state.Destruction = state.Told(append(slices.Clip(d.Sources), d.Source)...)
	if t.DestroyAfter == 0 && (state.Destruction == nil || state.Destruction.Seconds == 0) {
		return nil, nil
	}
	records, err := d.Mirror.Records.Revisions(t.Name)
	if err != nil {
		return nil, err
	}
	e := d.Staging.Get(t.Name)
	if staged, err := d.Mirror.Records.Staged(t.Name, e.ID()); err == nil && e.Manifest != "" && !slices.ContainsFunc(records, func(r mirror.Record) bool { return r.ID() == e.ID() }) {
		records = append(records, staged)
	}
	for _, r := range records {
		after, cause := destroyAfter(t, state, r)
		o := destroy.Order{Manifest: t.Name, Release: r.Release, Revision: r.Revision, Cause: cause}
		if after > 0 && destroy.CheckServed(d.Mirror.Current(), o) == nil {
			all = append(all, Due{o, d.leftAt(r, records).Add(after)})
		}
	}
	return all, nil
}

// destroyAfter is how long after it was served a revision goes: the shorter of what the
// configuration and the upstream that it came from say.
func destroyAfter(t golive.Target, state store.Manifest, r mirror.Record) (after time.Duration, cause destroy.Cause) {
	after, cause = t.DestroyAfter, destroy.DestroyAfter
	if told := state.Destruction; told != nil && destroy.Obeys(*told, r) && told.Seconds > 0 && (after == 0 || told.After() < after) {
		after, cause = told.After(), destroy.Publisher
	}
	return after, cause
}

// leftAt is when a revision was last served, or when it was complete if it never was, or was
// fetched again since. Without
// the events of the audit it is when another one came into service. A time in the future is
// that of a wrong clock, and the next best one counts.
func (d Destroyer) leftAt(r mirror.Record, all []mirror.Record) time.Time {
	now := d.Present().Clock.Add(time.Minute)
	var staged time.Time
	if e := d.Staging.Get(r.Manifest); e.ID() == r.ID() && e.Since.Before(now) {
		staged = e.Since
	}
	if at, known := d.Audit.LeftAt(r.Manifest, r.ID()); known && at.Before(now) && at.After(staged) {
		return at
	}
	if !staged.IsZero() {
		return staged
	}
	best := now
	for _, other := range all {
		if other.PublishedAt.After(r.PublishedAt) && other.PublishedAt.Before(best) {
			best = other.PublishedAt
		}
	}
	switch {
	case best.Before(now):
		return best
	case r.PublishedAt.Before(now):
		return r.PublishedAt
	}
	return now
}
