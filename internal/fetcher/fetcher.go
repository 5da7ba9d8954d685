// Package fetcher brings files from the provider into a folder of unfinished
// downloads. A file is hashed while it arrives, in one pass and constant memory;
// an interrupted one continues where it stopped, in this process or the next. It
// is handed on only when its digest is the promised one and its bytes are durable.
package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"

	"golang.org/x/time/rate"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
)

// bufferSize is read, hashed and written at a time, once for each running transfer.
const bufferSize = 256 << 10

// Source opens downloads. Download makes one attempt; Retry repeats op while its
// errors are passing and gives up some time after the last call of progress.
type Source interface {
	Download(ctx context.Context, ref manifest.Reference, header http.Header) (*transport.Response, error)
	Retry(ctx context.Context, op func(progress func()) error) error
}

// Watcher is told what happens to one file, from the goroutine of its Fetch.
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
	source  Source
	dir     string
	limiter *rate.Limiter
	buffers sync.Pool
}

// New returns a Fetcher that keeps unfinished downloads in dir, which exists.
// bandwidth is the limit for all transfers together in bytes per second, 0 for none.
func New(source Source, dir string, bandwidth int64) *Fetcher {
	f := &Fetcher{source: source, dir: dir, limiter: rate.NewLimiter(rate.Inf, 0)}
	if bandwidth > 0 {
		f.limiter = rate.NewLimiter(rate.Limit(bandwidth), bufferSize)
	}
	f.buffers.New = func() any { return new([bufferSize]byte) }
	return f
}

// Fetched is a proven file, read-only and durable: its name among the unfinished
// downloads, from where the caller moves it, and its content.
type Fetched struct {
	Path   string
	Object manifest.Object
}

// Fetch downloads a file until its digest is the promised one. One mismatch is
// answered by a clean start from zero; the second is a refusal. Bytes of an
// earlier call are not held against the provider. Other errors are those of the
// source, after which what arrived so far is kept for the next call, and of the
// disk, after which it is not.
func (f *Fetcher) Fetch(ctx context.Context, file manifest.File, watch Watcher) (Fetched, error) {
	p, err := openPartial(ctx, f.dir, file.Expected)
	if err != nil {
		return Fetched{}, noSpace(err)
	}
	defer p.close()
	if err := watch.Moved(0, p.size()); err != nil {
		return Fetched{}, f.giveUp(p, err)
	}
	object, err := f.complete(ctx, p, file, watch)
	if err != nil {
		return Fetched{}, f.giveUp(p, err)
	}
	if err := p.finish(); err != nil {
		return Fetched{}, f.giveUp(p, err)
	}
	return Fetched{Path: p.path, Object: object}, nil
}

// giveUp removes a file that its disk failed, and one without an end, which the
// next call would only refuse again. On a full disk that frees the space.
func (f *Fetcher) giveUp(p *partial, err error) error {
	if p.isUnsure || refusal.ReasonOf(err) == refusal.TooLarge {
		if removeErr := remove(p.path); removeErr != nil {
			err = fmt.Errorf("%w: it cannot be removed: %w", err, removeErr)
		}
	}
	return noSpace(err)
}

func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// noSpace makes a full disk a refusal.
func noSpace(err error) error {
	if isNoSpace(err) {
		return refusal.New(refusal.NoSpace, "disk full while downloading: %w: free space there", err)
	}
	return err
}

func (f *Fetcher) complete(ctx context.Context, p *partial, file manifest.File, watch Watcher) (manifest.Object, error) {
	if object, err := p.hasher.Check(file.Expected); err == nil && p.size() > 0 {
		watch.Resumed(p.size())
		return object, nil // the last process was stopped after the last byte
	}
	for clean := false; ; {
		if err := f.transfer(ctx, p, file.Reference, watch); err != nil {
			return manifest.Object{}, err
		}
		object, err := p.hasher.Check(file.Expected)
		if err == nil {
			return object, nil
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

// transfer moves the rest of the file, over as many connections as it takes.
func (f *Fetcher) transfer(ctx context.Context, p *partial, ref manifest.Reference, watch Watcher) error {
	var furthest int64 // of this call, so that starting over again and again is no progress
	return f.source.Retry(ctx, func(progress func()) error {
		before := p.size()
		err := f.transferOnce(ctx, p, ref, watch)
		if p.size() > furthest && p.size() != before { // bytes that were here before are none either
			furthest = p.size()
			progress()
		}
		return err
	})
}

func (f *Fetcher) transferOnce(ctx context.Context, p *partial, ref manifest.Reference, watch Watcher) error {
	res, err := f.open(ctx, p, ref)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := p.begin(res); err != nil {
		return err
	}
	if p.size() > 0 {
		watch.Resumed(p.size())
	}
	if res.Length >= 0 {
		if err := watch.Announced(p.size() + res.Length); err != nil {
			return err
		}
	}
	if err := watch.Moved(0, p.size()); err != nil {
		return err
	}
	return f.copy(ctx, p, res.Body, watch)
}

// open asks for what is missing. A server that does not know the range any more
// (416) is asked for everything.
func (f *Fetcher) open(ctx context.Context, p *partial, ref manifest.Reference) (*transport.Response, error) {
	res, err := f.source.Download(ctx, ref, p.header())
	var failed *transport.Error
	if errors.As(err, &failed) && failed.Status == http.StatusRequestedRangeNotSatisfiable && p.size() > 0 {
		if err := p.restart(); err != nil {
			return nil, err
		}
		return f.source.Download(ctx, ref, p.header())
	}
	return res, err
}

func (f *Fetcher) copy(ctx context.Context, p *partial, body io.Reader, watch Watcher) error {
	buffer := f.buffers.Get().(*[bufferSize]byte)
	defer f.buffers.Put(buffer)
	for {
		n, err := body.Read(buffer[:])
		if n > 0 {
			if err := f.limiter.WaitN(ctx, n); err != nil {
				// WaitN also fails before the deadline when it would take longer.
				return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
			}
			if err := p.write(buffer[:n]); err != nil {
				return err
			}
			if err := watch.Moved(int64(n), p.size()); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
