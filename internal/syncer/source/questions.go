package source

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
	"syncd/internal/report/progress"
)

// maxRequests is how many small requests run at once, over all manifests. Their
// cost is latency: the digests of 60 files need one round trip with 64, and two with
// 32. Over HTTP/2 all of them share one connection, whose servers allow 100 at once.
const maxRequests = 64

// slowAfter is when a request counts as slow, and gives its slot back.
const slowAfter = 10 * time.Second

// questions asks the provider small questions for one sync. Safe for concurrent
// use.
type questions struct {
	provider  Provider
	bucket    Bucket // instead of provider
	algorithm manifest.Algorithm
	slots     *semaphore.Weighted // maxRequests of them
	log       zerolog.Logger
	progress  *progress.Tracker
	sizes     sizes
}

// ask runs one request for a manifest when a slot is free. A slow request gives its
// slot back before its end, so that it does not delay the questions of other manifests.
func (q *questions) ask(ctx context.Context, name string, request func(context.Context) error) error {
	if err := q.slots.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { q.slots.Release(1) })
	defer release()
	defer time.AfterFunc(slowAfter, release).Stop()
	defer q.progress.Ask(name)()
	return request(transport.About(ctx, name))
}

// releases asks for the releases of a manifest. notModified is true if since still
// matches them.
func (q *questions) releases(ctx context.Context, name string, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error) {
	err = q.ask(ctx, name, func(ctx context.Context) (err error) {
		ids, now, notModified, err = q.provider.ManifestReleases(ctx, name, since)
		return err
	})
	return ids, now, notModified, err
}

// fileReleases is releases for a file of a manifest.
func (q *questions) fileReleases(ctx context.Context, name string, ref manifest.Reference, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error) {
	err = q.ask(ctx, name, func(ctx context.Context) (err error) {
		ids, now, notModified, err = q.provider.FileReleases(ctx, ref, since)
		return err
	})
	return ids, now, notModified, err
}

// listOf asks for the files of a manifest's release. A list that does not fit beside the
// others waits for its turn, without a slot, and is asked for again.
func (q *questions) listOf(ctx context.Context, release manifest.Release, name string, share *releases.Share) (list *manifest.List, err error) {
	for {
		err = q.ask(ctx, name, func(ctx context.Context) (err error) {
			list, err = q.provider.Manifest(ctx, release, name, share)
			return err
		})
		var full *releases.NoRoomError
		if !errors.As(err, &full) {
			return list, err
		}
		q.log.Info().Str("manifest", name).Msg("the list of files waits until the lists of other manifests need less memory")
		if err := share.Wait(ctx, full.Size); err != nil {
			return nil, err
		}
	}
}

// generation asks for the generation of the bucket.
func (q *questions) generation(ctx context.Context, name string) (g bucket.Generation, err error) {
	err = q.ask(ctx, name, func(ctx context.Context) (err error) {
		g, err = q.bucket.Generation(ctx)
		return err
	})
	return g, err
}

// SmallList is a number of files that is never refused: a manifest with very many files
// must not keep small ones out.
const SmallList = 5_000

// recordMemory is about what a file of a record takes while it is read, in bytes.
const recordMemory = 1 << 10

// recordOf asks for the files of what the bucket has of a manifest. A long record first
// waits for memory, like other lists.
func (q *questions) recordOf(ctx context.Context, m bucket.Manifest, share *releases.Share) (files []record.File, err error) {
	if m.Files > SmallList {
		if err := share.Wait(ctx, m.Files*recordMemory); err != nil {
			return nil, err
		}
	}
	err = q.ask(ctx, m.Name, func(ctx context.Context) error {
		record, err := q.bucket.Record(ctx, m)
		files = record.Files
		return err
	})
	return files, err
}

// digest asks for the expected digest of a file of a manifest.
func (q *questions) digest(ctx context.Context, name string, ref manifest.Reference) (digest manifest.Digest, err error) {
	err = q.ask(ctx, name, func(ctx context.Context) (err error) {
		digest, err = q.provider.Hash(ctx, q.algorithm, ref)
		return err
	})
	return digest, err
}

// metadataTimeout bounds one Metadata request. It is short because sizes only help to
// foresee a full disk: a sync continues without them.
const metadataTimeout = 10 * time.Second

func (q *questions) metadata(ctx context.Context, name string, ref manifest.Reference) (meta releases.Metadata, err error) {
	err = q.ask(ctx, name, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
		defer cancel()
		meta, err = q.provider.Metadata(ctx, ref)
		return err
	})
	return meta, err
}

// describe asks for the metadata of a file for other hosts. A file without usable metadata is
// not asked about again.
func (q *questions) describe(ctx context.Context, name string, told *Description, f manifest.File) error {
	meta, err := q.metadata(ctx, name, f.Reference)
	if err != nil && !isFinal(err) {
		return err
	}
	told.note(f, meta)
	return nil
}

// manifests asks for the manifests of a release, for one of them.
func (q *questions) manifests(ctx context.Context, name string, release manifest.Release) (entries []releases.ListedManifest, err error) {
	err = q.ask(ctx, name, func(ctx context.Context) (err error) {
		entries, err = q.provider.ManifestList(ctx, release)
		return err
	})
	return entries, err
}

// sizes are the sizes from Metadata. One request is made for each content, even if
// several files and manifests have it. Safe for concurrent use.
type sizes struct {
	mu   sync.Mutex
	of   map[manifest.Digest]int64 // unknownSize while the question is under way
	kept []*manifest.Table[int64]  // of plans; of has them no more
}

const unknownSize = -1

// begin is true for the first caller that wants to ask for a content's size.
func (s *sizes) begin(content manifest.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, claimed := s.findLocked(content); claimed {
		return false
	}
	if s.of == nil {
		s.of = map[manifest.Digest]int64{}
	}
	s.of[content] = unknownSize
	return true
}

// answer notes the size. After an error another caller may ask again.
func (s *sizes) answer(content manifest.Digest, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.of, content)
		return
	}
	s.of[content] = size
}

// known returns a size that Metadata has given.
func (s *sizes) known(content manifest.Digest) (size int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, claimed := s.findLocked(content)
	return size, claimed && size != unknownSize
}

func (s *sizes) findLocked(content manifest.Digest) (size int64, claimed bool) {
	if size, claimed = s.of[content]; claimed {
		return size, true
	}
	for _, table := range s.kept {
		if size, claimed = table.Get(content); claimed {
			return size, true
		}
	}
	return 0, false
}

// keep takes the sizes of a plan from its table from now on, which takes less memory. The
// table must not change any more.
func (s *sizes) keep(plan *manifest.Table[int64]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for content := range plan.All() {
		delete(s.of, content)
	}
	if len(s.of) == 0 {
		s.of = nil // an empty map keeps its memory
	}
	s.kept = append(s.kept, plan)
}
