package syncer

import (
	"context"
	"errors"
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// objectIndex finds objects by a digest that is not their name. It is filled at
// the first use in a sync.
type objectIndex struct {
	once     sync.Once
	byDigest map[manifest.Digest]manifest.ObjectID
}

// known returns the lookup that a plan needs: the object with a file's promised
// content, if it is on disk.
func (r *run) known(ctx context.Context, j *job) func(manifest.File) (manifest.Object, bool) {
	return func(f manifest.File) (manifest.Object, bool) {
		if object, there := r.onDisk(ctx, f.Expected); there || r.Algorithm == manifest.SHA256 {
			return object, there
		}
		return r.rehash(ctx, j, f)
	}
}

// onDisk returns the object that should have a promised content, if there is one.
// Safe for concurrent use.
func (r *run) onDisk(ctx context.Context, expected manifest.Digest) (manifest.Object, bool) {
	if id, isID := expected.ObjectID(); isID {
		return r.Mirror.Object(id)
	}
	r.objects.once.Do(func() {
		index, err := r.indexObjects(ctx, r.Algorithm)
		if err != nil {
			r.Log.Warn().Err(err).Msg("not all objects are known: some are fetched again")
		}
		r.objects.byDigest = index
	})
	id, ok := r.objects.byDigest[expected]
	if !ok {
		return manifest.Object{}, false
	}
	return r.Mirror.Object(id)
}

// indexObjects maps digests of one algorithm to the objects on disk: as the
// records and the state have them, and of the objects that neither names, which a
// sync that was killed has left, by reading them; one that cannot be read is as
// good as none. After an error the index is incomplete.
func (s *Syncer) indexObjects(ctx context.Context, algorithm manifest.Algorithm) (map[manifest.Digest]manifest.ObjectID, error) {
	index, named := map[manifest.Digest]manifest.ObjectID{}, map[manifest.ObjectID]bool{}
	note := func(expected manifest.Digest, id manifest.ObjectID) {
		if !expected.IsZero() && !id.IsZero() {
			index[expected], named[id] = id, true
		}
	}
	records, err := s.Mirror.Records()
	for _, record := range records {
		for _, f := range record.Files {
			note(f.Expected, f.Object)
		}
	}
	wanted, wantedErr := s.Store.Wanted()
	for _, list := range wanted {
		for _, w := range list {
			note(w.Expected, w.Object)
		}
	}
	objects, objectsErr := s.Mirror.Objects()
	err = errors.Join(err, wantedErr, objectsErr)
	for _, id := range objects {
		if named[id] {
			continue
		}
		digest, hashErr := s.digestOf(ctx, algorithm, id)
		if ctx.Err() != nil {
			return index, context.Cause(ctx)
		}
		if hashErr != nil {
			s.Log.Warn().Err(hashErr).Msg("an object that no record names cannot be read")
			continue
		}
		if !digest.IsZero() {
			index[digest] = id
		}
	}
	return index, err
}

// algorithmOf is the key of a digest that was read.
type algorithmOf struct {
	algorithm manifest.Algorithm
	object    manifest.ObjectID
}

// digestOf reads an object for its digest in another algorithm, once in this
// process's life. The digest is zero when the content is not what the name says.
func (s *Syncer) digestOf(ctx context.Context, algorithm manifest.Algorithm, id manifest.ObjectID) (manifest.Digest, error) {
	key := algorithmOf{algorithm, id}
	if digest, known := s.digests[key]; known {
		return digest, nil
	}
	hasher, err := verify.HashFile(ctx, s.Mirror.ObjectPath(id), algorithm)
	if err != nil {
		return manifest.Digest{}, err
	}
	var digest manifest.Digest
	if hasher.Object().ID == id {
		digest = hasher.Digest()
	}
	s.digests[key] = digest
	return digest, nil
}

// rehash reads what is served at the file's path when its digest was recorded in
// another algorithm: reading the disk is cheaper than a download.
func (r *run) rehash(ctx context.Context, j *job, f manifest.File) (manifest.Object, bool) {
	for _, served := range j.active.Files {
		if served.Path != f.Path || served.Expected.Algorithm == r.Algorithm {
			continue
		}
		info, there := r.Mirror.ObjectInfo(served.Object)
		object, err := verify.File(ctx, r.Mirror.ObjectPath(served.Object), f.Expected)
		if err == nil && there && object.ID == served.Object {
			r.trust.prove(object.ID, info)
		}
		return object, err == nil
	}
	return manifest.Object{}, false
}
