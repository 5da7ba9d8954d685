package destroyer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Command destroys everything of the named releases that is not served. It begins only if
// there is something to do for each of them.
func (d Destroyer) Command(ctx context.Context, req request.Destroy) (result report.DestroyResult, err error) {
	result = report.DestroyResult{DryRun: req.DryRun, Destroyed: []destroy.Destruction{}, Notes: []string{}}
	var orders []destroy.Order
	err = d.Change(ctx, func() error {
		if err := d.RefreshLocked(); err != nil {
			return err
		}
		for _, release := range slices.Compact(slices.Sorted(slices.Values(req.Releases))) {
			found, note, err := d.ordersOf(req.Manifest, manifest.Release(release))
			if err != nil {
				return err
			}
			orders = append(orders, found...)
			if note != "" {
				result.Notes = append(result.Notes, note)
			}
		}
		if req.DryRun {
			result.Destroyed, err = d.predict(orders)
		}
		return err
	})
	if err != nil || req.DryRun {
		return result, err
	}
	for _, o := range orders {
		done, err := d.Destroy(ctx, o)
		if err != nil {
			return result, errors.Join(err, ctx.Err())
		}
		result.Destroyed = append(result.Destroyed, done)
	}
	return result, nil
}

// ordersOf returns what there is to destroy of a release, and what is to be said about the
// rest. It is an error if there is nothing. The caller has the turn.
func (d Destroyer) ordersOf(name string, release manifest.Release) (orders []destroy.Order, note string, err error) {
	records, err := d.Mirror.Records.Revisions(name)
	if err != nil {
		return nil, "", err
	}
	for _, id := range d.Mirror.Records.RevisionIDs(name) { // staged ones, and those without a record
		if revision, isOf := strings.CutPrefix(id, string(release)+"-"); isOf {
			records = append(records, mirror.Record{Manifest: name, Release: release, Revision: revision})
		}
	}
	if e := d.Staging.Get(name); e.Dropped { // it has what the gate has said
		records = append(records, mirror.Record{Manifest: name, Release: e.Release, Revision: e.Revision})
	}
	var served error
	seen := map[string]bool{}
	for _, r := range records {
		o := destroy.Order{Manifest: name, Release: r.Release, Revision: r.Revision, Cause: destroy.Command}
		if r.Release != release || seen[o.ID()] {
			continue
		}
		seen[o.ID()] = true
		if err := destroy.CheckServed(d.Mirror.Current(), o); err != nil {
			served = err
			continue
		}
		orders = append(orders, o)
	}
	if fragments := (destroy.Order{Manifest: name, Release: release, Cause: destroy.Command}); len(seen) == 0 && d.hasFragments(fragments) {
		orders = append(orders, fragments)
	}
	switch {
	case len(orders) > 0 && served != nil:
		return orders, fmt.Sprint(served), nil
	case len(orders) > 0:
		return orders, "", nil
	case served != nil:
		return nil, "", served
	}
	note, err = d.nothingOf(name, release, len(records) > 0)
	return nil, note, err
}

func (d Destroyer) hasFragments(o destroy.Order) bool {
	_, err := d.fragments(o)
	return err == nil
}

// nothingOf says why there is nothing to destroy: it is no error if it was destroyed before.
func (d Destroyer) nothingOf(name string, release manifest.Release, isKnown bool) (note string, err error) {
	done, err := d.Destroyed.Heads(name)
	if err != nil {
		return "", err
	}
	for _, one := range slices.Backward(done) {
		if one.Release == release {
			return fmt.Sprintf("%s %s was destroyed at %s, and nothing of it is on disk", name, release, report.Moment(one.At.Local())), nil
		}
	}
	if !isKnown && !d.Targets.Has(name) && len(done) == 0 {
		return "", &request.UnknownManifestError{Name: name}
	}
	return "", fmt.Errorf("nothing of release %s of %s is on disk: `syncd status` and `syncd history` show what is", release, name)
}

// keptWithout lists the contents of all that stays without some revisions.
func (d Destroyer) keptWithout(orders ...destroy.Order) (map[string][]manifest.ObjectID, error) {
	kept, err := d.kept()
	for _, o := range orders {
		delete(kept, mirror.Record{Manifest: o.Manifest, Release: o.Release, Revision: o.Revision}.Key())
		delete(kept, o.Manifest+"/"+string(o.Release)) // an unfinished sync of it
	}
	return kept, err
}

// predictOne says what would become of the contents of a note.
func (d Destroyer) predictOne(n destroy.Note) (destroy.Note, error) {
	kept, err := d.keptWithout(n.Order())
	return destroy.Predict(n, kept), err
}

// predict says what a destruction would do. The caller has the turn.
func (d Destroyer) predict(orders []destroy.Order) ([]destroy.Destruction, error) {
	kept, err := d.keptWithout(orders...)
	if err != nil {
		return nil, err
	}
	would := []destroy.Destruction{}
	for _, o := range orders {
		note, err := d.look(o)
		if err != nil {
			return nil, err
		}
		would = append(would, destroy.Predict(note, kept).Destruction)
	}
	return would, nil
}
