package golive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/store"
)

// Commit saves a record with the events that follow from what is served and staged now.
func (t *Tree) Commit(r Commit) error {
	r.News.Staged = t.waitingToGoLive()
	steps, err := steps{t}.toTell(r)
	if err != nil {
		return err
	}
	r.News.Changes = steps
	return t.Outbox.Commit(r.Changes, t.Mirror.Current(), r.News)
}

// CatchUp saves the events that a crash or a lost state prevented.
func (t *Tree) CatchUp() error {
	states, err := t.Store.Manifests()
	if err != nil {
		return err
	}
	return t.Outbox.CatchUp(t.Mirror.Current(), t.waitingToGoLive(), func(before string, now mirror.Record) bool {
		records, err := t.Mirror.Records.Revisions(now.Manifest)
		i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.Release == now.Release && r.Revision == before })
		// The earlier record is gone: report a republication. A duplicate event is harmless, a
		// missing one is not.
		if err != nil || i < 0 {
			return true
		}
		return t.IsRepublished(t.target(now.Manifest), states[now.Manifest], records[i], now)
	})
}

// waitingToGoLive returns the staged revisions that their gates, if any, have passed.
func (t *Tree) waitingToGoLive() map[string]mirror.Record {
	staged, current := map[string]mirror.Record{}, t.Mirror.Current()
	for name, e := range t.Staging.All() {
		served, expired := current.Records[name].ID(), aging{t}.refusal(headOf(e), current.Records[name])
		if e.IsStaged() && expired == nil && e.ID() != served && e.Passes(t.target(name).Gate.Identity(), served) {
			staged[name] = headOf(e)
		}
	}
	return staged
}

// Problem is the event for a release that failed or was refused.
func (t *Tree) Problem(kind event.Kind, name string, release manifest.Release, err error) event.Event {
	current, reason := t.Mirror.Current(), refusal.ReasonOf(err)
	about, text := mirror.Record{Manifest: name, Release: release}, report.OneLine(err.Error())
	if e := t.Staging.Get(name); reason == refusal.Gate && e.IsQuarantined() && e.Release == release {
		about.Revision = e.Revision
		if len(e.Verdict.Differences) > 0 {
			text += ": " + strings.Join(e.Verdict.Differences, " | ")
		}
	}
	return t.Outbox.Problem(kind, about, current.Records[name], current.Number, text, string(reason))
}

// IsRepublished is true when the provider changed the bytes of a release. Another
// selection of its files is no such change, but it only adds and removes files.
func (t *Tree) IsRepublished(of Target, state store.Manifest, before, after mirror.Record) bool {
	sameRelease := before.Release == after.Release && before.Revision != after.Revision
	return sameRelease && state.Config == t.Fingerprint(of) || hasNewBytes(before, after)
}

// republished names the manifests of records whose served release has other bytes.
func republished(served mirror.Generation, records []mirror.Record) (names []string) {
	for _, after := range records {
		if hasNewBytes(served.Records[after.Manifest], after) {
			names = append(names, after.Manifest)
		}
	}
	return names
}

// hasNewBytes is true when a file has another content than before in the same release.
func hasNewBytes(before, after mirror.Record) bool {
	if before.Release != after.Release || before.Revision == after.Revision {
		return false
	}
	objects := make(map[string]manifest.ObjectID, len(before.Files))
	for _, f := range before.Files {
		objects[f.Path] = f.Object
	}
	return slices.ContainsFunc(after.Files, func(f mirror.File) bool {
		object, was := objects[f.Path]
		return was && object != f.Object
	})
}

// NotifyDamage saves the event for each manifest with damaged files. It comes before the
// repair, so that a crash during the repair does not lose it.
func (t *Tree) NotifyDamage(ctx context.Context, damage []mirror.Damage) error {
	byManifest := map[string][]mirror.Damage{}
	for _, d := range damage {
		byManifest[d.Manifest] = append(byManifest[d.Manifest], d)
	}
	if len(byManifest) == 0 {
		return nil
	}
	return t.Change(ctx, func() error {
		var news outbox.News
		for _, name := range slices.Sorted(maps.Keys(byManifest)) {
			news.Events = append(news.Events, t.damageEvent(name, byManifest[name]))
		}
		return t.Commit(Commit{News: news})
	})
}

// damageEvent is the event for damaged files of a manifest. They may be those of a revision
// that is not served.
func (t *Tree) damageEvent(name string, files []mirror.Damage) event.Event {
	current, first := t.Mirror.Current(), files[0]
	record := current.Records[name]
	isServed := slices.ContainsFunc(record.Files, func(f mirror.File) bool { return f.Object == first.File.Object })
	if isServed {
		path := filepath.Join(t.Mirror.Dir(), "current", cmp.Or(first.View, name), first.Path())
		return t.Outbox.Damaged(record, current.Number, path, describeDamage(files))
	}
	path := t.Mirror.Objects.Path(first.File.Object)
	return t.Outbox.Damaged(mirror.Record{Manifest: name}, current.Number, path, describeDamage(files))
}

// maxNamed is how many damaged files an event names.
const maxNamed = 10

func describeDamage(files []mirror.Damage) string {
	var paths []string
	for _, d := range files[:min(len(files), maxNamed)] {
		paths = append(paths, d.Path())
	}
	text := fmt.Sprintf("%s: %v", strings.Join(paths, ", "), files[0].Err)
	if more := len(files) - len(paths); more > 0 {
		text = fmt.Sprintf("%s and %d more: %v", strings.Join(paths, ", "), more, files[0].Err)
	}
	return report.OneLine(text)
}
