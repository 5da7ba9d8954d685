package syncer

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

// commit saves changes with the events that follow from what is served and staged now.
func (c *Config) commit(changes store.Changes, news outbox.News) error {
	news.Staged = c.waitingToGoLive()
	return c.Outbox.Commit(changes, c.Mirror.Current(), news)
}

// CatchUp saves the events that a crash or a lost state prevented.
func (s *Syncer) CatchUp() error {
	states, err := s.cfg.Store.Manifests()
	if err != nil {
		return err
	}
	return s.cfg.Outbox.CatchUp(s.cfg.Mirror.Current(), s.cfg.waitingToGoLive(), func(before string, now mirror.Record) bool {
		records, err := s.cfg.Mirror.Revisions(now.Manifest)
		i := slices.IndexFunc(records, func(r mirror.Record) bool { return r.Release == now.Release && r.Revision == before })
		if err != nil || i < 0 { // not known: hooks rather hear too much
			return true
		}
		return s.cfg.isRepublished(s.cfg.target(now.Manifest), states[now.Manifest], records[i], now)
	})
}

// waitingToGoLive returns the staged revisions that their gates, if any, have passed.
func (c *Config) waitingToGoLive() map[string]mirror.Record {
	staged, current := map[string]mirror.Record{}, c.Mirror.Current()
	for name, e := range c.Staging.All() {
		served := current.Records[name].ID()
		if e.IsStaged() && e.ID() != served && e.Passes(c.target(name).gate(), served) {
			staged[name] = mirror.Record{Manifest: name, Release: e.Release, Revision: e.Revision}
		}
	}
	return staged
}

// problem is the event for a release that failed or was refused.
func (c *Config) problem(kind event.Kind, name string, release manifest.Release, err error) event.Event {
	current, reason := c.Mirror.Current(), refusal.ReasonOf(err)
	about, text := mirror.Record{Manifest: name, Release: release}, report.OneLine(err.Error())
	if e := c.Staging.Get(name); reason == refusal.Gate && e.IsQuarantined() && e.Release == release {
		about.Revision = e.Revision
		if len(e.Verdict.Differences) > 0 {
			text += ": " + strings.Join(e.Verdict.Differences, " | ")
		}
	}
	return c.Outbox.Problem(kind, about, current.Records[name], current.Number, text, string(reason))
}

// tell adds the events of a job except those of going live. It must run before
// the job's failure or success is noted in its state.
func (r *run) tell(j *job, news *outbox.News) {
	name, before := j.target.Name, j.state.Failure
	switch j.result {
	case report.Failed, report.Refused:
		kind, reason := event.Failed, string(refusal.ReasonOf(j.err))
		if j.result == report.Refused {
			kind = event.Refused
		}
		same := before != nil && before.Release == string(j.release) && before.Result == string(j.result) && before.Reason == reason
		if j.repeated || same { // it was told
			return
		}
		news.Events = append(news.Events, r.cfg.problem(kind, name, j.release, j.err))
	default:
		news.Confirmed = append(news.Confirmed, name)
		if before != nil {
			news.Failing = append(news.Failing, name)
		}
		if j.republished {
			news.Republished = append(news.Republished, name)
		}
	}
}

// isRepublished is true when the provider changed the bytes of a release. Another
// selection of its files is no such change, but it only adds and removes files.
func (c *Config) isRepublished(t Target, state store.Manifest, before, after mirror.Record) bool {
	sameRelease := before.Release == after.Release && before.Revision != after.Revision
	return sameRelease && state.Config == c.fingerprint(t) || hasNewBytes(before, after)
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

// tellDamage saves the event for each manifest with damaged files. It comes before the
// repair, so that a crash during the repair does not lose it.
func (s *Syncer) tellDamage(ctx context.Context, damage []mirror.Damage) error {
	byManifest := map[string][]mirror.Damage{}
	for _, d := range damage {
		byManifest[d.Manifest] = append(byManifest[d.Manifest], d)
	}
	if len(byManifest) == 0 {
		return nil
	}
	return s.cfg.Shared.change(ctx, func() error {
		var news outbox.News
		for _, name := range slices.Sorted(maps.Keys(byManifest)) {
			news.Events = append(news.Events, s.damageEvent(name, byManifest[name]))
		}
		return s.cfg.commit(store.Changes{}, news)
	})
}

// damageEvent is the event for damaged files of a manifest. They may be those of a revision
// that is not served.
func (s *Syncer) damageEvent(name string, files []mirror.Damage) event.Event {
	current, first := s.cfg.Mirror.Current(), files[0]
	record := current.Records[name]
	isServed := slices.ContainsFunc(record.Files, func(f mirror.File) bool { return f.Object == first.File.Object })
	if isServed {
		path := filepath.Join(s.cfg.Mirror.Dir(), "current", cmp.Or(first.View, name), first.Path())
		return s.cfg.Outbox.Damaged(record, current.Number, path, describeDamage(files))
	}
	path := s.cfg.Mirror.ObjectPath(first.File.Object)
	return s.cfg.Outbox.Damaged(mirror.Record{Manifest: name}, current.Number, path, describeDamage(files))
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
