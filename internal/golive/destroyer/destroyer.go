package destroyer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"syncd/internal/fetcher"
	"syncd/internal/golive"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/mirror/export"
	"syncd/internal/store"
)

// Destroyer destroys revisions of a tree. It changes nothing that is served. Safe for
// concurrent use.
type Destroyer struct {
	*golive.Tree

	Schedule *Schedule // nil for one that destroys only what it is told to
}

// IsWayBack is true for a revision that a probe without a verdict may go back to. Only an
// operator's command destroys it: else a publisher that replaces a release with a broken one
// could take away what to go back to.
func (d Destroyer) IsWayBack(o destroy.Order) bool {
	return slices.ContainsFunc(golive.WaysBack(d.Tree), func(r mirror.Record) bool { return r.Manifest == o.Manifest && r.ID() == o.ID() })
}

// Destroy destroys one revision, or the fragments of a release that was never complete, and
// returns its record. The error is *destroy.ServedError for what readers see. After another
// error, a destruction that has begun goes on at the next start, or in the next call of
// Continue.
func (d Destroyer) Destroy(ctx context.Context, o destroy.Order) (done destroy.Destruction, err error) {
	d.Exporter().Follow(ctx, export.Options{}, nil) // so that no folder shows the revision
	var note destroy.Note
	err = d.Change(ctx, func() error {
		if err := d.RefreshLocked(); err != nil {
			return err
		}
		if err := destroy.CheckServed(d.Mirror.Current(), o); err != nil {
			return err
		}
		found, err := d.look(o)
		if err == nil {
			err = d.checkExports(found)
		}
		if err == nil {
			note, err = d.Destroyed.Begin(found)
		}
		return err
	})
	if err != nil {
		return done, err
	}
	return d.finish(ctx, note)
}

// Continue finishes the destructions that have begun.
func (d Destroyer) Continue(ctx context.Context) error {
	pending, err := d.Destroyed.Pending()
	for _, note := range pending {
		if _, failed := d.finish(ctx, note); failed != nil {
			err = errors.Join(err, fmt.Errorf("destroying %s %s goes on later: %w", note.Manifest, note.Order().ID(), failed))
		}
	}
	return err
}

// errNothing says that nothing of a revision is on disk.
var errNothing = errors.New("nothing of it is on disk")

// look finds what is on disk of a revision or of a release that was never complete.
func (d Destroyer) look(o destroy.Order) (note destroy.Note, err error) {
	if o.Revision == "" {
		return d.fragments(o)
	}
	record, err := d.Mirror.Records.Revision(o.Manifest, o.ID())
	if e := d.Staging.Get(o.Manifest); err != nil && e.ID() == o.ID() {
		record, err = d.Mirror.Records.Staged(o.Manifest, o.ID())
	}
	switch isLost := mirror.IsLost(err); {
	case isLost && slices.Contains(d.Mirror.Records.RevisionIDs(o.Manifest), o.ID()):
		record, err = destroy.Unrecorded(d.Mirror, o)
	case isLost && d.Staging.Get(o.Manifest).ID() == o.ID(): // it was discarded and pruned
		err = nil
	case isLost:
		err = fmt.Errorf("%s %s: %w", o.Manifest, o.ID(), errNothing)
	}
	if err != nil {
		return note, err
	}
	note = destroy.NewNote(o, record, time.Now())
	note.Readers = readersOf(d.Mirror, record)
	return note, err
}

// fragments finds what an unfinished sync has brought of a release.
func (d Destroyer) fragments(o destroy.Order) (note destroy.Note, err error) {
	planned, err := d.Store.Planned()
	if err != nil {
		return note, err
	}
	d.Running().Planned(planned)
	note = destroy.NewNote(o, mirror.Record{}, time.Now())
	isPlanned := false
	for _, w := range planned[o.Manifest] {
		if w.Release != o.Release || w.Expected.IsZero() {
			continue
		}
		isPlanned = true
		id, size := d.fragment(w)
		note.Add(id, size, w.Expected)
	}
	if !isPlanned {
		return note, fmt.Errorf("release %s of %s: %w", o.Release, o.Manifest, errNothing)
	}
	return note.Sorted(), nil
}

// fragment says what is on disk of a content: its SHA-256 if that is known, and its size or
// that of the unfinished download, negative for nothing.
func (d Destroyer) fragment(w store.Planned) (id string, size int64) {
	object, named := objectOf(w)
	if named {
		id = object.String()
		if found, there := d.Mirror.Objects.Find(object); there {
			return id, found.Size
		}
	}
	if info, err := d.Mirror.Objects.Partial().Info(fetcher.Name(w.Expected)); err == nil {
		return id, info.Size()
	}
	return id, -1
}

// objectOf is the object of a planned content, if its name is known.
func objectOf(w store.Planned) (id manifest.ObjectID, named bool) {
	if !w.Object.IsZero() {
		return w.Object, true
	}
	return w.Expected.ObjectID()
}

// finish takes the steps after the note is durable. Each of them can be repeated.
func (d Destroyer) finish(ctx context.Context, n destroy.Note) (done destroy.Destruction, err error) {
	if err := d.Running().Abandon(ctx, n.Manifest, n.Release, n.Expected); err != nil {
		return done, err
	}
	release, err := d.Folders().Hold(ctx) // first: copies to another file system take long
	if err != nil {
		return done, err
	}
	defer release()
	err = d.Change(ctx, func() error {
		if err := destroy.CheckServed(d.Mirror.Current(), n.Order()); err != nil {
			return err
		}
		if err := d.checkExports(n); err != nil {
			return err
		}
		would, err := d.predictOne(n)
		if err != nil {
			return err
		}
		links := destroy.WatchLinks(d.Mirror, would)
		defer links.Close()
		if n, err = d.remove(ctx, n); err != nil {
			return err
		}
		if err := d.purgeExports(ctx, n); err != nil {
			return err
		}
		if n.Patches, err = d.purgePatches(n); err != nil {
			return err
		}
		n = links.Note(n)
		if err := d.tell(n); err != nil {
			return err
		}
		n, err = d.Destroyed.Finish(n, time.Now())
		return err
	})
	if err == nil {
		d.Metrics.Destroyed(n.Manifest, n.GoneBytes())
		d.Log.Info().Ctx(ctx).Str("manifest", n.Manifest).Str("release", string(n.Release)).Str("revision", n.Revision).Str("cause", string(n.Cause)).
			Int("contents", n.Gone()).Int64("bytes", n.GoneBytes()).Int("patches", n.Patches).Msg("destroyed")
		if linked := n.Linked(); linked > 0 {
			d.Log.Warn().Ctx(ctx).Str("manifest", n.Manifest).Str("release", string(n.Release)).Int("contents", linked).
				Msg("another program has made hard links of destroyed contents: `syncd destroyed --json` has their inodes, `find DIR -xdev -inum N` finds them")
		}
	}
	return n.Destruction, err
}

// tell saves the event. It comes before the end of the note, so that a crash between them
// tells it twice and not never.
func (d Destroyer) tell(n destroy.Note) error {
	gone := mirror.Record{Manifest: n.Manifest, Release: n.Release, Revision: n.Revision}
	return d.Tree.Commit(golive.Commit{News: outbox.News{Events: []event.Event{d.Outbox.Destroyed(gone, d.Mirror.Current().Number, string(n.Cause))}}})
}

// remove takes a revision off the disk. The caller has the turn.
func (d Destroyer) remove(ctx context.Context, n destroy.Note) (destroy.Note, error) {
	o := n.Order()
	if err := d.forgetWanted(o); err != nil {
		return n, err
	}
	if e := d.Staging.Get(n.Manifest); e.ID() == o.ID() {
		if err := d.Staging.Remove(n.Manifest); err != nil {
			return n, err
		}
	}
	if err := d.Probes.Destroy(n.Manifest, o.ID()); err != nil {
		return n, err
	}
	if err := destroy.Hide(d.Mirror, o); err != nil {
		return n, err
	}
	if err := d.Room().PruneAll(ctx, mirror.Record{Manifest: o.Manifest, Release: o.Release, Revision: o.Revision}.Key()); err != nil {
		return n, err
	}
	if err := destroy.Sync(d.Mirror, d.Disk(), n); err != nil {
		return n, err
	}
	kept, err := d.kept()
	if err != nil {
		return n, err
	}
	return destroy.Share(d.Mirror, n, kept)
}

// checkExports fails if an exported folder shows what would go. The caller has the turn.
func (d Destroyer) checkExports(n destroy.Note) error {
	if len(d.Exports) == 0 {
		return nil
	}
	would, err := d.predictOne(n)
	for _, target := range d.Exports {
		err = errors.Join(err, export.CheckShows(target, gone(would)))
	}
	return err
}

// purgeExports removes what has gone from work folders, and from folders that left the
// configuration. One of these that is not mounted cannot be reached any more.
func (d Destroyer) purgeExports(ctx context.Context, n destroy.Note) (err error) {
	for _, target := range d.Exports {
		err = errors.Join(err, export.CheckShows(target, gone(n)), export.Purge(ctx, d.Disk(), target, gone(n), false))
	}
	for _, target := range export.Former(d.Mirror.Dir(), d.Exports) {
		if failed := export.Purge(ctx, d.Disk(), target, gone(n), true); failed != nil {
			d.Log.Warn().Err(failed).Str("export", target.Path).Msg("a folder that left the configuration may still have what was destroyed")
		}
	}
	return err
}

// purgePatches removes the patches from what has gone and to it.
func (d Destroyer) purgePatches(n destroy.Note) (removed int, err error) {
	if d.Patches == nil {
		return 0, nil
	}
	return d.Patches.Destroy(slices.Collect(maps.Keys(gone(n))))
}

// gone are the contents of a note that nothing shares.
func gone(n destroy.Note) export.Contents {
	contents := export.Contents{}
	for _, c := range n.Contents {
		if id, err := manifest.ParseObjectID(c.SHA256); err == nil && len(c.SharedWith) == 0 {
			contents[id] = c.Size
		}
	}
	return contents
}

// forgetWanted drops what the state has of an unfinished sync of the release.
func (d Destroyer) forgetWanted(o destroy.Order) error {
	planned, err := d.Store.Planned()
	if err != nil {
		return err
	}
	states, err := d.Store.Manifests()
	if err != nil {
		return err
	}
	changes := store.Changes{Planned: map[string]iter.Seq[store.Planned]{}, Manifests: map[string]store.Manifest{}}
	if slices.ContainsFunc(planned[o.Manifest], func(w store.Planned) bool { return w.Release == o.Release }) {
		changes.Planned[o.Manifest] = nil
	}
	if state := states[o.Manifest]; state.Failure != nil && state.Failure.Release == string(o.Release) {
		state.Failure = nil
		changes.Manifests[o.Manifest] = state
	}
	if len(changes.Planned)+len(changes.Manifests) == 0 {
		return nil
	}
	return d.Store.Commit(changes)
}

// kept lists the contents of all that stays, by what keeps it.
func (d Destroyer) kept() (map[string][]manifest.ObjectID, error) {
	var staged []mirror.Record
	for _, e := range d.Staging.All() {
		if record, err := d.Staging.Record(e); err == nil && !e.Dropped {
			staged = append(staged, record)
		}
	}
	kept, err := destroy.Kept(d.Mirror, staged)
	if err != nil {
		return nil, err
	}
	planned, err := d.Store.Planned()
	if err != nil {
		return nil, err
	}
	d.Running().Planned(planned)
	for name, wanted := range planned {
		for _, w := range wanted {
			id, named := objectOf(w)
			if key := name + "/" + string(w.Release); named && name != "" {
				kept[key] = append(kept[key], id)
			}
		}
	}
	return kept, nil
}
