// Package fetcher brings files from the provider into a folder of unfinished
// downloads. A file is hashed while it arrives, in one pass and constant memory;
// an interrupted one continues where it stopped, in this process or the next. It
// is handed on only when its digest is the promised one; the bytes of a large one
// are durable then, those of small ones become so together, see verify.Proven.
package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"syncd/internal/clients/transport"
	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
	"syncd/internal/verify"
)

// bufferSize is read, written and hashed at a time.
const bufferSize = 256 << 10

// Source opens downloads. Download makes one attempt; Retry repeats op while its
// errors are passing and gives up some time after the last call of progress.
type Source interface {
	Download(ctx context.Context, ref manifest.Reference, header http.Header) (*transport.Response, error)
	Retry(ctx context.Context, op func(progress func()) error) error
}

// Watcher is told what happens to one file, by one goroutine at a time.
type Watcher interface {
	// Announced tells the size in the response when it is known; an error ends
	// the fetch for good.
	Announced(size int64) error
	// Moved tells how many bytes arrived, and how many of the file there are now;
	// an error ends the fetch for good.
	Moved(bytes, done int64) error
	// Resumed tells how many bytes are not asked for again, each time that the
	// file is continued where it had stopped.
	Resumed(bytes int64)
	// Mismatch tells that a whole file had another digest than the promised one.
	Mismatch(err error)
}

// Fetcher downloads files. Safe for concurrent use, by one process, as long as
// no two calls want the same digest at once.
type Fetcher struct {
	source      Source
	dir         string
	segments    int // connections of one file
	connections *semaphore.Weighted
	running     atomic.Int32 // files on their way
	limiter     *rate.Limiter
	buffers     sync.Pool
}

// Config says how much a Fetcher does at once.
type Config struct {
	Files     int   // large files at once; below 1 counts as 1
	Segments  int   // connections of one large file at most; below 1 counts as 1
	Bandwidth int64 // bytes per second over all downloads together; below 1 is unlimited
}

// New returns a Fetcher that keeps unfinished downloads in dir, which must exist.
// Files and their segments share one budget of connections: the greater of
// c.Files and c.Segments.
func New(source Source, dir string, c Config) *Fetcher {
	c.Files, c.Segments = max(c.Files, 1), max(c.Segments, 1)
	f := &Fetcher{
		source: source, dir: dir, segments: c.Segments,
		connections: semaphore.NewWeighted(int64(max(c.Files, c.Segments))),
		limiter:     rate.NewLimiter(rate.Inf, 0),
	}
	if c.Bandwidth > 0 {
		f.limiter = rate.NewLimiter(rate.Limit(c.Bandwidth), bufferSize)
	}
	f.buffers.New = func() any { return new([bufferSize]byte) }
	return f
}

// Fetch downloads a file until its digest is the promised one. One mismatch is
// answered by a clean start from zero; the second is a refusal. Bytes of an
// earlier call are not held against the provider. Other errors are those of the
// source, after which what arrived so far is kept for the next call, and of the
// disk, after which it is not.
func (f *Fetcher) Fetch(ctx context.Context, file manifest.File, watch Watcher) (verify.Proven, error) {
	p, err := openPartial(ctx, f.dir, file.Expected, &f.buffers)
	if err != nil {
		return verify.Proven{}, noSpace(err)
	}
	defer p.close()
	if err := watch.Moved(0, p.size()); err != nil {
		return verify.Proven{}, p.giveUp(err)
	}
	object, err := f.complete(ctx, p, file, watch)
	if err != nil {
		return verify.Proven{}, p.giveUp(err)
	}
	if err := p.finish(); err != nil {
		return verify.Proven{}, p.giveUp(err)
	}
	return verify.Proven{Path: p.path, Object: object, Durable: !p.isSmall()}, nil
}

// giveUp removes a file that its disk failed, and one without an end, which the
// next call would only refuse again. On a full disk that frees the space.
func (p *partial) giveUp(err error) error {
	if p.isUnsure || refusal.ReasonOf(err) == refusal.TooLarge {
		if removeErr := remove(p.path); removeErr != nil {
			err = fmt.Errorf("%w: it cannot be removed: %w", err, removeErr)
		}
		p.isNoted = false // or close would note once more what was there
	}
	return noSpace(err)
}

// noSpace makes a full disk a refusal.
func noSpace(err error) error {
	if fsops.IsFull(err) {
		return refusal.New(refusal.NoSpace, "disk full while downloading: %w: free space there", err)
	}
	return err
}

func (f *Fetcher) complete(ctx context.Context, p *partial, file manifest.File, watch Watcher) (manifest.Object, error) {
	if p.isOld && p.hasNoGaps() {
		if object, err := p.check(file.Expected); err == nil {
			watch.Resumed(object.Size)
			return object, nil // the last process was stopped after the last byte
		}
		if p.isWhole() {
			if err := p.restart(); err != nil {
				return manifest.Object{}, err
			}
		}
	}
	for clean, isAlone := false, false; ; isAlone = true { // after a mismatch, for the segments may be what is wrong
		t := &transfer{Fetcher: f, partial: p, ref: file.Reference, watch: watch, isAlone: isAlone}
		if err := t.run(ctx); err != nil {
			return manifest.Object{}, err
		}
		object, err := p.check(file.Expected)
		var mismatch *verify.Mismatch
		if !errors.As(err, &mismatch) {
			return object, err
		}
		watch.Mismatch(err)
		isOld := p.isOld // what an earlier call left may be all that is wrong
		if err := p.restart(); err != nil {
			return manifest.Object{}, err
		}
		if clean {
			return manifest.Object{}, refusal.New(refusal.HashMismatch, "%w, also after a clean retry", err)
		}
		clean = !isOld
	}
}
