package download

import (
	"context"
	"fmt"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/metrics/tracing"
	"syncd/internal/report/progress"
	"syncd/internal/verify"
)

// Pool is what all downloads of a data directory share: the contents that are being
// fetched, and the slots. It outlives a reload of the configuration. The zero value is
// ready to use. Safe for concurrent use.
type Pool struct {
	flights flights
	large   slots
	small   slots
}

// Take is true when a content is the caller's, who has it in a folder and must call End or
// Adopt. A download of the content gives way, unless it is complete.
func (p *Pool) Take(content manifest.Digest) bool { return p.flights.take(content) }

// End gives a content back that did not become an object.
func (p *Pool) End(content manifest.Digest) { p.flights.end(content, manifest.Object{}) }

// Adopt ends what Take began with an object that was not downloaded. Syncs that planned
// to download it use it instead, until Forget.
func (p *Pool) Adopt(content manifest.Digest, object manifest.Object) {
	p.flights.adopt(content, object)
}

// HasAdopted is true for a content that Adopt ended with, until Forget.
func (p *Pool) HasAdopted(content manifest.Digest) bool { return p.flights.hasAdopted(content) }

// Forget drops what was adopted. Call it when no sync runs that planned before.
func (p *Pool) Forget() { p.flights.forget() }

// Wait waits until none of the contents is being fetched. The error is the context's.
func (p *Pool) Wait(ctx context.Context, contents []manifest.Digest) error {
	for _, content := range contents {
		if err := p.flights.wait(ctx, content); err != nil {
			return err
		}
	}
	return nil
}

// Fetcher downloads one file and proves it. Safe for concurrent use for different
// digests.
type Fetcher interface {
	Fetch(ctx context.Context, file manifest.File, size int64, watch fetcher.Watcher) (verify.Proven, error)
	FetchPack(ctx context.Context, p fetcher.Pack, use func(content manifest.Object, bytes []byte, received int64) error) error
	Keep(ctx context.Context, content manifest.Object, bytes []byte) (verify.Proven, error)
}

// Downloader downloads for the syncs and repairs of one configuration. Safe for
// concurrent use.
type Downloader struct {
	Pool      *Pool
	Fetcher   Fetcher
	Free      func() (space.Amount, error)
	Metrics   *metrics.Metrics
	Progress  *progress.Tracker
	Transfers int // large files at once
}

// Obtain makes the content of one file an object by add, unless somebody else does it at
// the same time.
func (d *Downloader) Obtain(ctx context.Context, name string, file manifest.File, size int64, add func(verify.Proven) error) error {
	_, fetched, err := d.Pool.flights.begin(ctx, file.Expected)
	if err != nil || fetched {
		return err
	}
	var object manifest.Object
	defer func() { d.Pool.flights.end(file.Expected, object) }()
	proven, err := d.fetch(ctx, name, file, size, false, func(int64) {})
	if err != nil {
		return err
	}
	if err := add(proven); err != nil {
		return err
	}
	object = proven.Object
	return nil
}

// fetch downloads one file for a manifest. size is the expected one, -1 when
// unknown. If it is assumed, a larger file is not downloaded. arrived is called with the number of bytes of each part that arrives.
func (d *Downloader) fetch(ctx context.Context, name string, file manifest.File, size int64, assumed bool, arrived func(int64)) (verify.Proven, error) {
	told := size
	if assumed {
		told = -1
	}
	w := &watcher{
		manifest: name, assumed: assumed, metrics: d.Metrics, arrived: arrived, download: d.Progress.StartDownload(name, file.Path, size),
		growth: fetcher.Growth{Told: told, IsExact: file.InRecord, Expected: size, Free: d.Free, MakeRoom: "make room on the disk of data_dir"},
	}
	defer w.download.Finish()
	ctx, span := tracing.Start(transport.About(ctx, name), "file", name)
	span.Set(tracing.Path, file.Path)
	fetched, err := d.Fetcher.Fetch(ctx, file, size, w)
	span.SetNumber(tracing.Bytes, fetched.Object.Size)
	span.End(err)
	if err != nil {
		return verify.Proven{}, fmt.Errorf("fetch %s: %w", file.Path, space.RefuseIfFull(err))
	}
	return fetched, nil
}
