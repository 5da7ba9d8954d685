package golive

import (
	"maps"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report/status"
)

// aging decides by the age of data what may go live and what stays.
type aging struct{ *Tree }

// day is the last day on which a revision may be used, "" for none.
func (t aging) day(r mirror.Record) expiry.Day {
	return t.Targets.Find(r.Manifest).Expires.Day(r.Release, t.Lifespans.Get(r.Manifest).Told[r.ID()])
}

// isForced is true for a revision that the operator lets go live although it has expired: by
// a pin, or by a forced sync that staged it.
func (t aging) isForced(r, served mirror.Record) bool {
	orders, e := t.orders(r.Manifest), t.Staging.Get(r.Manifest)
	return orders.PinForced && orders.Pin == r.Release || e.ID() == r.ID() && e.Forced == served.ID()
}

// refusal is why a revision must not go live in place of the served one, nil if it may.
func (t aging) refusal(r, served mirror.Record) error {
	day := t.day(r)
	if r.ID() == served.ID() || !t.Present().IsPast(day) || t.isForced(r, served) {
		return nil
	}
	return expiredError(r.Manifest, string(r.Release), day)
}

func expiredError(name, release string, day expiry.Day) error {
	return refusal.New(refusal.Expired, "release %s of %s expired on %s, so it does not go live: a newer release does, or this one with --force", release, name, day)
}

// orders are what the operator said about a manifest, also while it is withdrawn.
func (t aging) orders(name string) mirror.Orders {
	if served, isServed := t.Mirror.Current().Records[name]; isServed {
		return served.Orders
	}
	if gone := t.Lifespans.Get(name).Withdrawn; gone != nil {
		return gone.Orders
	}
	return mirror.Orders{}
}

func ageOf(t *Tree, name string) status.Age {
	return status.AgeOf(t.Targets.Find(name).Expires, t.Mirror.Current().Records[name], t.Lifespans.Get(name), t.Present())
}

// Served is what is served of a manifest. Of a withdrawn one it has the operator's orders.
func Served(t *Tree, name string) (record mirror.Record, isServed bool) {
	record, isServed = t.Mirror.Current().Records[name]
	if !isServed {
		record.Orders = aging{t}.orders(name)
	}
	return record, isServed
}

// CheckRelease refuses a release of a manifest that has expired, before anything of it is
// downloaded. A gate may have told its day before: fingerprint is that of the expected
// digests.
func CheckRelease(t *Tree, name string, release manifest.Release, fingerprint string) error {
	orders, facts, told := aging{t}.orders(name), t.Lifespans.Get(name), expiry.Day("")
	if gone := facts.Withdrawn; gone != nil && gone.Release == release && gone.Fingerprint == fingerprint {
		told = facts.Told[gone.ID()]
	}
	day := t.Targets.Find(name).Expires.Day(release, told)
	if !t.Present().IsPast(day) || orders.PinForced && orders.Pin == release {
		return nil
	}
	return expiredError(name, string(release), day)
}

// CheckRevision refuses a revision that has expired, in place of the served one.
func CheckRevision(t *Tree, r, served mirror.Record) error { return aging{t}.refusal(r, served) }

// checkPin refuses to pin a release that has expired. One with several revisions has expired
// when all of them have.
func (t aging) checkPin(name string, release manifest.Release) error {
	day := t.Targets.Find(name).Expires.Day(release, "")
	var told expiry.Day
	for id, d := range t.Lifespans.Get(name).Told {
		if strings.HasPrefix(id, string(release)+"-") {
			told = max(told, d)
		}
	}
	if day = expiry.Earlier(day, told); !t.Present().IsPast(day) {
		return nil
	}
	return expiredError(name, string(release), day)
}

// refuseExpired leaves expired revisions out of the change. It is an error if the change
// cannot be published without them.
func (a *application) refuseExpired() error {
	t := aging{a.tree}
	for _, record := range a.outcome.Change.Set {
		served := a.outcome.Before.Records[record.Manifest]
		why := t.refusal(record, served)
		if why == nil || slices.Contains(a.proposal.Forced, record.Manifest) {
			continue
		}
		if !a.leave([]string{record.Manifest}, why) {
			return why
		}
		return a.refuseExpired() // its group left with it
	}
	return nil
}

// noteForced notes which of the revisions that go live had expired, before they do: they are
// not withdrawn. Manifests that come back get the operator's orders back.
func (a *application) noteForced() error {
	t, change := aging{a.tree}, &a.outcome.Change
	change.Orders = maps.Clone(change.Orders)
	for _, record := range change.Set {
		name := record.Manifest
		served, isServed := a.outcome.Before.Records[name]
		if record.ID() != served.ID() && t.Present().IsPast(t.day(record)) {
			if err := t.Lifespans.Force(name, record.ID()); err != nil {
				return err
			}
		}
		if orders := t.orders(name); !isServed && !orders.IsZero() {
			if change.Orders == nil {
				change.Orders = map[string]mirror.Orders{}
			}
			if _, changes := change.Orders[name]; !changes {
				change.Orders[name] = orders
			}
		}
	}
	return nil
}

// keepExpired notes that a forced sync keeps served revisions that have expired: they are not
// withdrawn any more.
func (p *Publication) keepExpired(current mirror.Generation) error {
	t := aging{p.tree}
	for _, c := range p.Candidates {
		served, isServed := current.Records[c.Target().Name]
		if !isServed || c.HasFailed() || !t.Present().IsPast(t.day(served)) {
			continue
		}
		if err := t.Lifespans.Force(served.Manifest, served.ID()); err != nil {
			return err
		}
	}
	return nil
}

// noteServed forgets what is known of earlier revisions, once the change is served.
func (a *application) noteServed() {
	for _, record := range a.outcome.Change.Set {
		if err := a.tree.Lifespans.Served(record.Manifest, record.ID()); err != nil {
			a.tree.Log.Warn().Err(err).Str("manifest", record.Manifest).Msg("forgetting that the manifest was withdrawn failed; the next release tries again")
		}
	}
	if a.proposal.Withdraws {
		return
	}
	for _, name := range a.outcome.Change.Remove {
		if err := a.tree.Lifespans.Forget(name); err != nil {
			a.tree.Log.Warn().Err(err).Str("manifest", name).Msg("what the operator forced of the manifest is not forgotten; the next release tries again")
		}
	}
}

// fresh returns those of the names whose groups have nothing staged that has expired.
func (t aging) fresh(names []string, entries map[string]staging.Revision) []string {
	current := t.Mirror.Current()
	hasExpired := func(name string) bool {
		e := entries[name]
		return e.IsStaged() && t.refusal(headOf(e), current.Records[name]) != nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.ContainsFunc(t.Groups.Of(name), hasExpired) })
}

// headOf is the record of a staged revision without its files.
func headOf(e staging.Revision) mirror.Record {
	return mirror.Record{Manifest: e.Manifest, Release: e.Release, Revision: e.Revision}
}
