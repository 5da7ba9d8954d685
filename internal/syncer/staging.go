package syncer

import (
	"context"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/syncer/source"
)

// Group is a set of manifests that go live together.
type Group struct {
	Name      string
	Manifests []string
}

// groupOf lists the manifests that go live together with one, itself included.
func (c *Config) groupOf(name string) []string {
	for _, g := range c.Groups {
		if slices.Contains(g.Manifests, name) {
			return g.Manifests
		}
	}
	return []string{name}
}

// target returns the target of a manifest with the orders for it, the zero value if it left the configuration.
func (c *Config) target(name string) Target {
	i := slices.IndexFunc(c.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{Target: source.Target{Name: name}}
	}
	return withOrders(c.Targets[i], c.Mirror.Current().Records[name].Orders)
}

func (t Target) gate() staging.Gate {
	return staging.Gate{ID: t.Gate.ID(), Compares: t.Gate.Compare}
}

// goesDirectly is true if a new revision of a manifest needs no staging.
func (r *run) goesDirectly(t Target, now time.Time) bool {
	isAlone := len(r.cfg.groupOf(t.Name)) == 1
	return t.gate().ID == "" && (r.source.AllOrNothing() || isAlone && t.Activate.Open(now))
}

// isKnown is true if a poll that finds the job's release can end at once: it is the
// served one, or staged with nothing left to do.
func (r *run) isKnown(j *job) bool {
	e := j.staged
	if e.Manifest == "" {
		return j.release == j.active.Release
	}
	return j.release == e.Release && (e.Dropped || e.Passes(j.target.gate(), j.active.ID()))
}

// settleIfStaged settles the job when the staged revision has the expected digests, and
// no gate must run.
func (r *run) settleIfStaged(j *job) {
	e := r.cfg.Staging.Get(j.target.Name)
	if e.Release != j.release || e.Expected != manifest.Fingerprint(j.files) {
		return
	}
	switch verdict := e.Judged(j.target.gate(), j.active.ID()); {
	case e.Dropped && r.req.Demand && !e.IsQuarantined(): // asked for again
	case e.Dropped, e.Passes(j.target.gate(), j.active.ID()):
		j.settle(report.Unchanged)
	case verdict != nil:
		j.repeat(report.Refused, refusal.New(refusal.Gate, "%s", verdict.Error))
	}
}

// stage makes a revision durable that does not go live directly.
func (c *Config) stage(ctx context.Context, record mirror.Record, views []mirror.View) (e staging.Entry, isNew bool, err error) {
	e = staging.Of(record, views, time.Now())
	before := c.Staging.Get(record.Manifest)
	if isNew = before.ID() != e.ID() || before.Dropped; !isNew {
		if views == nil {
			e.Views = before.Views
		}
		if before.Expected == e.Expected && views == nil {
			return before, false, nil
		}
	}
	if err := c.Mirror.Stage(ctx, record, views); err != nil {
		return e, isNew, space.RefuseIfFull(err)
	}
	if err := c.Staging.Put(e); err != nil {
		return e, isNew, space.RefuseIfFull(err)
	}
	c.Shared.room.RequestPrune() // an older one was replaced
	return c.Staging.Get(record.Manifest), isNew, nil
}

// ready returns the records of the staged revisions that may go live now, of those manifests
// and of their groups. A revision whose record cannot be read stays staged.
func (c *Config) ready(names []string, now time.Time, asked bool) (records []mirror.Record) {
	entries := c.Staging.All()
	for _, group := range c.readyGroups(names, entries, now, asked) {
		together, err := c.recordsOf(group, entries, now)
		if err != nil {
			c.Log.Error().Err(err).Strs("manifests", group).Msg("a staged revision cannot go live; the next sync stages it again")
			continue
		}
		records = append(records, together...)
	}
	return records
}

// readyGroups returns the groups of manifests that may go live now.
func (c *Config) readyGroups(names []string, entries map[string]staging.Entry, now time.Time, asked bool) (groups [][]string) {
	done := map[string]bool{}
	for _, name := range names {
		group := c.groupOf(name)
		if !done[group[0]] && staging.Waits(c.members(group, entries, now), now, asked) == "" {
			groups = append(groups, group)
		}
		done[group[0]] = true
	}
	return groups
}

func (c *Config) recordsOf(group []string, entries map[string]staging.Entry, now time.Time) (records []mirror.Record, err error) {
	for _, name := range group {
		if !entries[name].IsStaged() {
			continue
		}
		record, err := c.Staging.Record(entries[name])
		if err != nil {
			return nil, err
		}
		record.PublishedAt = now.UTC()
		records = append(records, record)
	}
	return records, nil
}

// members describes a group to package staging.
func (c *Config) members(group []string, entries map[string]staging.Entry, now time.Time) []staging.Member {
	members := make([]staging.Member, len(group))
	current := c.Mirror.Current()
	for i, name := range group {
		t, served := c.target(name), current.Records[name]
		if entries[name].ID() == served.ID() { // it went live, and is not forgotten yet
			entries[name] = staging.Entry{}
		}
		members[i] = staging.Member{
			Name: name, Policy: t.Activate, Gate: t.gate(), Setting: t.Release, Entry: entries[name],
			Served: served.Release, ServedID: served.ID(), Held: heldBack(served, entries[name], now),
		}
	}
	return members
}

// heldBack says why a staged revision must not replace the served one.
func heldBack(served mirror.Record, e staging.Entry, now time.Time) string {
	if served.Orders.Holds(now) {
		return "is held until " + served.Orders.HoldUntil.Format(time.RFC3339) + ": `syncd sync --force` ends that"
	}
	if hold := served.Held; hold != nil && !e.Release.Newer(hold.Release) && e.Expected == hold.Fingerprint {
		return "is held after a rollback"
	}
	return ""
}

// wholeGroups leaves those records out whose group would go live in part. together has
// the groups that were to go live.
func wholeGroups(set []mirror.Record, together [][]string) []mirror.Record {
	has := func(name string) bool {
		return slices.ContainsFunc(set, func(r mirror.Record) bool { return r.Manifest == name })
	}
	for _, group := range together {
		if !slices.ContainsFunc(group, func(name string) bool { return !has(name) }) {
			continue
		}
		set = slices.DeleteFunc(slices.Clone(set), func(r mirror.Record) bool { return slices.Contains(group, r.Manifest) })
	}
	return set
}

// groupsOf returns the names of records by group.
func (c *Config) groupsOf(records []mirror.Record) (groups [][]string) {
	byGroup := map[string][]string{}
	for _, record := range records {
		first := c.groupOf(record.Manifest)[0]
		byGroup[first] = append(byGroup[first], record.Manifest)
	}
	for _, group := range byGroup {
		groups = append(groups, group)
	}
	return groups
}
