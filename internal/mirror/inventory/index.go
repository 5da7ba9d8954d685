package inventory

import (
	"context"
	"errors"

	"syncd/internal/manifest"
)

// index finds objects by digests in other algorithms than their names.
type index map[manifest.Digest]manifest.ObjectID

// Identify returns the objects on disk that have the given digests. After an
// error the result may lack some.
func (v *Inventory) Identify(ctx context.Context, digests []manifest.Digest) (map[manifest.Digest]manifest.ObjectID, error) {
	found := map[manifest.Digest]manifest.ObjectID{}
	indexes := map[manifest.Algorithm]index{}
	for _, digest := range digests {
		objects, built := indexes[digest.Algorithm]
		if !built {
			var err error
			if objects, err = v.index(ctx, digest.Algorithm); err != nil {
				return found, err
			}
			indexes[digest.Algorithm] = objects
		}
		if id, known := objects[digest]; known {
			found[digest] = id
		}
	}
	return found, nil
}

// index maps digests to objects. Most digests are in the records and the state. It
// reads the objects that neither names, such as a killed sync leaves, and skips those
// that cannot be read. After an error the index is incomplete.
func (v *Inventory) index(ctx context.Context, algorithm manifest.Algorithm) (index, error) {
	objects, named, err := v.namedObjects()
	all, listErr := v.cfg.Mirror.Objects.All()
	for _, id := range all {
		if named[id] {
			continue
		}
		digest, readErr := v.digestOf(ctx, algorithm, id)
		if ctx.Err() != nil {
			return objects, context.Cause(ctx)
		}
		if readErr != nil {
			v.cfg.Log.Warn().Ctx(ctx).Err(readErr).Stringer("object", id).Msg("reading an object failed; its content may be downloaded again")
			continue
		}
		if !digest.IsZero() {
			objects[digest] = id
		}
	}
	return objects, errors.Join(err, listErr)
}

// namedObjects are the objects whose digests the records and the state have.
func (v *Inventory) namedObjects() (objects index, named map[manifest.ObjectID]bool, err error) {
	objects, named = index{}, map[manifest.ObjectID]bool{}
	note := func(expected manifest.Digest, id manifest.ObjectID) {
		if !expected.IsZero() && !id.IsZero() {
			objects[expected], named[id] = id, true
		}
	}
	records, err := v.cfg.Mirror.Records.All()
	for _, record := range records {
		for _, f := range record.Files {
			note(f.Expected, f.Object)
		}
	}
	wanted, wantedErr := v.cfg.Store.Planned()
	for _, contents := range wanted {
		for _, w := range contents {
			note(w.Expected, w.Object)
		}
	}
	return objects, named, errors.Join(err, wantedErr)
}

// digestKey names a digest of an object.
type digestKey struct {
	algorithm manifest.Algorithm
	object    manifest.ObjectID
}

// digestOf reads an object for its digest, once in the life of the process. The
// digest is zero when the object is damaged.
func (v *Inventory) digestOf(ctx context.Context, algorithm manifest.Algorithm, id manifest.ObjectID) (manifest.Digest, error) {
	key := digestKey{algorithm, id}
	v.mu.Lock()
	digest, known := v.digests[key]
	v.mu.Unlock()
	if known {
		return digest, nil
	}
	hasher, err := v.cfg.Mirror.Objects.Hash(ctx, id, algorithm)
	if err != nil {
		return manifest.Digest{}, err
	}
	if hasher.Object().ID == id {
		digest = hasher.Digest()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.digests[key] = digest
	return digest, nil
}
