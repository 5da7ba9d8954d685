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
	byDigest map[string]string // `md5:9e10…` -> SHA-256
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
func (r *run) onDisk(ctx context.Context, promised manifest.Digest) (manifest.Object, bool) {
	if r.Algorithm == manifest.SHA256 {
		return r.Mirror.Object(promised.Hex)
	}
	r.objects.once.Do(func() {
		index, err := r.indexObjects(ctx, r.Algorithm)
		if err != nil {
			r.Log.Warn().Err(err).Msg("not all objects are known: some are fetched again")
		}
		r.objects.byDigest = index
	})
	sha256, ok := r.objects.byDigest[promised.String()]
	if !ok {
		return manifest.Object{}, false
	}
	return r.Mirror.Object(sha256)
}

// indexObjects maps digests of one algorithm to the objects on disk: as the
// records and the state have them, and of the objects that neither names, which a
// sync that was killed has left, by reading them; one that cannot be read is as
// good as none. After an error the index is incomplete.
func (s *Syncer) indexObjects(ctx context.Context, algorithm manifest.Algorithm) (map[string]string, error) {
	index, named := map[string]string{}, map[string]bool{}
	note := func(promised, sha256 string) { index[promised], named[sha256] = sha256, true }
	records, err := s.Mirror.Records()
	for _, record := range records {
		for _, f := range record.Files {
			note(f.Promised, f.SHA256)
		}
	}
	pending, pendingErr := s.Store.Pending()
	for _, list := range pending {
		for _, p := range list {
			if p.SHA256 != "" {
				note(p.Digest, p.SHA256)
			}
		}
	}
	objects, objectsErr := s.Mirror.Objects()
	err = errors.Join(err, pendingErr, objectsErr)
	for _, sha256 := range objects {
		if named[sha256] {
			continue
		}
		digest, hashErr := s.digestOf(ctx, algorithm, sha256)
		if ctx.Err() != nil {
			return index, context.Cause(ctx)
		}
		if hashErr != nil {
			s.Log.Warn().Err(hashErr).Msg("an object that no record names cannot be read")
			continue
		}
		index[digest] = sha256
	}
	return index, err
}

// digestOf reads an object for its digest in another algorithm, once in this
// process's life. The digest is "" when the content is not what the name says.
func (s *Syncer) digestOf(ctx context.Context, algorithm manifest.Algorithm, sha256 string) (string, error) {
	key := string(algorithm) + " " + sha256
	if digest, known := s.digests[key]; known {
		return digest, nil
	}
	hasher, err := verify.HashFile(ctx, s.Mirror.ObjectPath(sha256), algorithm)
	if err != nil {
		return "", err
	}
	digest := ""
	if hasher.Object().SHA256 == sha256 {
		digest = hasher.Digest().String()
	}
	s.digests[key] = digest
	return digest, nil
}

// rehash reads what is served at the file's path when its digest was recorded in
// another algorithm: reading the disk is cheaper than a download.
func (r *run) rehash(ctx context.Context, j *job, f manifest.File) (manifest.Object, bool) {
	for _, served := range j.active.Files {
		if served.Path != f.Path || served.Digest().Algorithm == r.Algorithm {
			continue
		}
		info, there := r.Mirror.ObjectInfo(served.SHA256)
		object, err := verify.File(ctx, r.Mirror.ObjectPath(served.SHA256), f.Expected)
		if err == nil && there && object.SHA256 == served.SHA256 {
			r.trust.prove(object.SHA256, info)
		}
		return object, err == nil
	}
	return manifest.Object{}, false
}
