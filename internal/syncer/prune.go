package syncer

import (
	"time"

	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// prune removes what nothing keeps, when there may be something.
func (r *run) prune() {
	if now := time.Now(); r.pruneAt.IsZero() || now.Before(r.pruneAt) {
		return
	}
	if err := r.pruneNow(); err != nil {
		r.Log.Warn().Err(err).Msg("pruning left something behind: tried again at the next sync")
	}
}

func (s *Syncer) pruneNow() error {
	objects, partials, err := s.stillWanted()
	if err != nil {
		return err
	}
	s.pruneAt, err = s.Mirror.Prune(mirror.Retention{Revisions: s.Retain, For: s.RetainFor, Objects: objects}, time.Now())
	if err != nil {
		return err
	}
	return fetcher.Sweep(s.Mirror.Partial(), partials)
}

// stillWanted is what unfinished syncs of configured manifests want: the SHA-256
// of objects, and the names of unfinished downloads.
func (s *Syncer) stillWanted() (objects, partials map[string]bool, err error) {
	pending, err := s.Store.Pending()
	if err != nil {
		return nil, nil, err
	}
	objects, partials = map[string]bool{}, map[string]bool{}
	for _, t := range s.Targets {
		for _, p := range pending[t.Name] {
			digest, err := manifest.ReadDigest(p.Digest)
			if err != nil {
				continue
			}
			objects[p.SHA256] = true
			partials[fetcher.Name(digest)] = true
			if digest.Algorithm == manifest.SHA256 {
				objects[digest.Hex] = true
			}
		}
	}
	return objects, partials, nil
}
