package golive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// stage makes a revision durable that does not go live directly. forced is the ID of the
// served revision that the operator lets it replace, "" for none.
func (t *Tree) stage(ctx context.Context, record mirror.Record, views []mirror.View, forced string) (e staging.Revision, isNew bool, err error) {
	e = staging.Of(record, views, time.Now())
	e.Forced = forced
	before := t.Staging.Get(record.Manifest)
	if isNew = before.ID() != e.ID() || before.Dropped; !isNew {
		e.Forced, e.Again = cmp.Or(e.Forced, before.Forced), before.Again
		if views == nil {
			e.Views = before.Views
		}
		if before.Expected == e.Expected && before.Forced == e.Forced && views == nil {
			return before, false, nil
		}
	}
	if err := t.Mirror.Stage(ctx, record, views); err != nil {
		return e, isNew, space.RefuseIfFull(err)
	}
	if err := t.Staging.Put(e); err != nil {
		return e, isNew, space.RefuseIfFull(err)
	}
	t.room.RequestPrune() // an older one was replaced
	return t.Staging.Get(record.Manifest), isNew, nil
}

// queue is what is staged, by the groups that go live together.
type queue struct {
	*Tree
	ended map[string]mirror.Orders // of manifests whose hold ends with the operation
}

// ready returns the records of the staged revisions that may go live now, of those manifests
// and of their groups. A revision whose record cannot be read stays, and its group with it.
func (q queue) ready(names []string, now time.Time, asked bool) (records []mirror.Record, broken reasons) {
	entries := q.Staging.All()
	for _, group := range q.readyGroups(names, entries, now, asked) {
		together, err := q.recordsOf(group, entries, now)
		if err != nil {
			q.Log.Error().Err(err).Strs("manifests", group).Msg("a staged revision cannot go live; the next sync stages it again")
			for _, name := range group {
				broken = broken.with(name, fmt.Errorf("a staged revision cannot go live, and the next sync stages it again: %w", err))
			}
			continue
		}
		records = append(records, together...)
	}
	return records, broken
}

// readyGroups returns the groups of manifests that may go live now.
func (q queue) readyGroups(names []string, entries map[string]staging.Revision, now time.Time, asked bool) (groups [][]string) {
	done := map[string]bool{}
	for _, name := range names {
		group := q.Groups.Of(name)
		if !done[group[0]] && staging.Waits(q.members(group, entries, now), now, asked) == "" {
			groups = append(groups, group)
		}
		done[group[0]] = true
	}
	return groups
}

func (q queue) recordsOf(group []string, entries map[string]staging.Revision, now time.Time) (records []mirror.Record, err error) {
	for _, name := range group {
		if !entries[name].IsStaged() {
			continue
		}
		record, err := q.Staging.Record(entries[name])
		if err != nil {
			return nil, err
		}
		record.PublishedAt = now.UTC()
		records = append(records, record)
	}
	return records, nil
}

// pins returns the orders by which pins follow records that go live. A revision whose probe
// failed took its pin back with it: when it is tried again, the next sync would go back.
func (q queue) pins(records []mirror.Record, isForced bool) map[string]mirror.Orders {
	moved := map[string]mirror.Orders{}
	for _, r := range records {
		orders := aging{q.Tree}.orders(r.Manifest)
		if orders.Pin != "" && orders.Pin != r.Release {
			orders.Pin, orders.PinForced = r.Release, isForced
			moved[r.Manifest] = orders
		}
	}
	return moved
}

func (q queue) members(group []string, entries map[string]staging.Revision, now time.Time) []staging.Member {
	current := q.Mirror.Current()
	current.Records = maps.Clone(current.Records)
	for name, orders := range q.ended {
		served := current.Records[name]
		served.Orders = orders
		current.Records[name] = served
	}
	return membersOf(group, q.Targets, current, entries, now)
}

// Blocked says of each manifest with something staged why not even `syncd activate` gets it
// live, a gate aside.
func Blocked(targets Targets, groups Groups, current mirror.Generation, entries map[string]staging.Revision, now time.Time) map[string]string {
	blocked, left := map[string]string{}, map[string]staging.Revision{}
	maps.Copy(left, entries)
	for _, target := range targets {
		members := membersOf(groups.Of(target.Name), targets, current, left, now)
		for i := range members {
			members[i].Gate = staging.Gate{}
		}
		if left[target.Name].IsStaged() {
			blocked[target.Name] = staging.Waits(members, now, true)
		}
	}
	return blocked
}

// membersOf describes a group. It takes from the entries what went live and is not forgotten yet.
func membersOf(group []string, targets Targets, current mirror.Generation, entries map[string]staging.Revision, now time.Time) []staging.Member {
	members := make([]staging.Member, len(group))
	for i, name := range group {
		served := current.Records[name]
		of := targets.Find(name).With(served.Orders)
		if entries[name].ID() == served.ID() { // it went live, and is not forgotten yet
			entries[name] = staging.Revision{}
		}
		members[i] = staging.Member{
			Name: name, Policy: of.Activate, Gate: of.Gate.Identity(), Setting: of.Release, Staged: entries[name],
			Served: served.Release, ServedID: served.ID(), Held: heldBack(of, served, entries[name], now),
		}
	}
	return members
}

// heldBack says why a staged revision must not replace the served one. A hold after a rollback
// does not bind what the operator forced since, nor another release that is wanted now.
func heldBack(of Target, served mirror.Record, e staging.Revision, now time.Time) string {
	if served.Orders.Holds(now) {
		return "is held until " + report.Moment(served.Orders.HoldUntil.Local()) + ": `syncd hold " + of.Name + " --for 0s` ends that"
	}
	hold := served.Held
	if hold == nil || hold.Setting != of.Release || e.Forced == served.ID() || e.Again == served.ID() {
		return ""
	}
	if !e.Release.Newer(hold.Release) && e.Expected == hold.Fingerprint {
		return "is held after a rollback: `syncd sync --force " + of.Name + "` ends that"
	}
	return ""
}

// DueAt returns when the next window opens for a staged revision, the zero time for never. A
// revision whose window is open and that waits for something else is left to the next sync.
func (t *Tree) DueAt(now time.Time) (next time.Time) {
	for name, e := range t.Staging.All() {
		policy := t.target(name).Activate
		opens := policy.Opens(now)
		if !e.IsStaged() || opens.IsZero() || policy.Open(now) {
			continue
		}
		if next.IsZero() || opens.Before(next) {
			next = opens
		}
	}
	return next
}

// HasDue is true if something staged may go live now.
func (t *Tree) HasDue(now time.Time) bool {
	entries := t.Staging.All()
	names := aging{t}.fresh(slices.Collect(maps.Keys(entries)), entries)
	return len(queue{Tree: t}.readyGroups(names, entries, now, false)) > 0
}

// forgetStaged forgets what is staged of a manifest.
func (t *Tree) forgetStaged(name string) {
	if err := t.Staging.Remove(name); err != nil {
		t.Log.Warn().Err(err).Str("manifest", name).Msg("removing what was staged failed; the next start tries again")
	}
	t.room.RequestPrune()
}
