package syncer

import (
	"context"
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// objectIndex finds objects by a digest that is not their name. It is filled, at
// the first use in a sync, from the records on disk and from what unfinished
// syncs have proven.
type objectIndex struct {
	once     sync.Once
	byDigest map[string]string // `md5:9e10…` -> SHA-256
}

// known returns the lookup that a plan needs: the object with a file's promised
// content, if it is on disk.
func (r *run) known(ctx context.Context, j *job) func(manifest.File) (manifest.Object, bool) {
	if r.Algorithm == manifest.SHA256 {
		return func(f manifest.File) (manifest.Object, bool) { return r.Mirror.Object(f.Expected.Hex) }
	}
	r.objects.once.Do(r.indexObjects)
	return func(f manifest.File) (manifest.Object, bool) {
		if sha256, ok := r.objects.byDigest[f.Expected.String()]; ok {
			return r.Mirror.Object(sha256)
		}
		return r.rehash(ctx, j, f)
	}
}

func (r *run) indexObjects() {
	index := map[string]string{}
	generations, err := r.Mirror.Generations()
	if err != nil {
		r.Log.Warn().Err(err).Msg("cannot read generations: objects are fetched again")
	}
	for _, g := range generations {
		for _, record := range g.Records {
			for _, f := range record.Files {
				index[f.Promised] = f.SHA256
			}
		}
	}
	pending, err := r.Store.Pending()
	if err != nil {
		r.Log.Warn().Err(err).Msg("cannot read state: objects are fetched again")
	}
	for _, list := range pending {
		for _, p := range list {
			if p.SHA256 != "" {
				index[p.Digest] = p.SHA256
			}
		}
	}
	r.objects.byDigest = index
}

// rehash reads what is served at the file's path when its digest was recorded in
// another algorithm: reading the disk is cheaper than a download.
func (r *run) rehash(ctx context.Context, j *job, f manifest.File) (manifest.Object, bool) {
	for _, served := range j.active.Files {
		if served.Path != f.Path || served.Digest().Algorithm == r.Algorithm {
			continue
		}
		object, err := verify.File(ctx, r.Mirror.ObjectPath(served.SHA256), f.Expected)
		return object, err == nil
	}
	return manifest.Object{}, false
}
