package fetcher

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/fsops"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// Pack is a text of the source with several small contents: a zstd stream of them.
type Pack struct {
	ID       manifest.ObjectID
	Contents []manifest.Object // in their order
}

// PackSource is a Source that has packs.
type PackSource interface {
	OpenPack(ctx context.Context, id manifest.ObjectID) (*transport.Response, error)
}

// packOverhead is how much a pack may be larger than its contents.
const packOverhead = 64 << 10

// maxPackWindow bounds the memory that a pack takes.
const maxPackWindow = 8 << 20

// decoders are idle ones: each takes some memory to begin with.
var decoders = sync.Pool{New: func() any {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxPackWindow))
	if err != nil {
		panic(err) // only for options that do not exist
	}
	return decoder
}}

// packAttempts is how often a pack is asked for that brings nothing new. Its contents come one
// by one then, each with a retry budget of its own: a server that refuses packs because others
// hold all places for them still has the contents.
const packAttempts = 3

// errPack says that a pack is not one of the contents that its record names.
var errPack = errors.New("the pack has other contents than its record says")

// errNoPack says that a pack could not be had.
var errNoPack = errors.New("the pack does not come")

// FetchPack calls use with each content of a pack that has its digest, and with how many
// bytes came over the network for it. A content may come again after an interruption. The
// memory belongs to use until it returns. An error of use ends the pack, and so do a few attempts
// that bring nothing new.
func (f *Fetcher) FetchPack(ctx context.Context, p Pack, use func(content manifest.Object, bytes []byte, received int64) error) error {
	source, has := f.source.(PackSource)
	if !has {
		return errPack
	}
	furthest, futile := 0, 0
	return f.source.Retry(ctx, func(progress func()) error {
		come, err := f.readPack(ctx, source, p, use)
		if come > furthest {
			furthest, futile = come, 0
			progress()
		}
		if futile++; err != nil && futile >= packAttempts {
			return fmt.Errorf("%w: %v", errNoPack, err) //nolint:errorlint // nobody may take it for a passing fault
		}
		return err
	})
}

// readPack makes one attempt. It returns how many contents came.
func (f *Fetcher) readPack(ctx context.Context, source PackSource, p Pack, use func(manifest.Object, []byte, int64) error) (come int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := source.OpenPack(ctx, p.ID)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body := &packBody{ctx: ctx, body: res.Body, bandwidth: f.bandwidth, pace: transport.Pace{Least: f.minRate, Endpoint: "Pack"}, left: packOverhead}
	largest := int64(0)
	for _, c := range p.Contents {
		body.left += c.Size
		largest = max(largest, c.Size)
	}
	decoder := decoders.Get().(*zstd.Decoder)
	defer func() {
		_ = decoder.Reset(nil) // lets go of the body
		decoders.Put(decoder)
	}()
	if err := decoder.Reset(body); err != nil {
		return 0, body.explain(err)
	}
	buffer := make([]byte, largest)
	for _, c := range p.Contents {
		content := buffer[:c.Size]
		if _, err := io.ReadFull(decoder, content); err != nil {
			return come, body.explain(err)
		}
		come++
		if sha256.Sum256(content) != c.ID {
			continue // it comes by itself
		}
		received := body.received
		body.received = 0
		if err := use(c, content, received); err != nil {
			return come, err
		}
	}
	return come, nil
}

// Keep makes a file of a content in memory that has its digest.
func (f *Fetcher) Keep(ctx context.Context, content manifest.Object, bytes []byte) (verify.Proven, error) {
	kept := verify.Proven{Name: Name(content.ID.Digest()), Object: content, IsNew: true}
	err := f.keepNew(ctx, kept.Name, bytes)
	if errors.Is(err, fs.ErrExist) {
		err = f.keepAgain(ctx, content, bytes)
	}
	if err != nil {
		return verify.Proven{}, refuseFullDisk(err)
	}
	return kept, nil
}

// keepNew makes a file that was not there. It is for thousands of small contents, which need
// nothing of a download.
func (f *Fetcher) keepNew(ctx context.Context, name string, bytes []byte) error {
	if err := f.creating.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	file, err := fsops.Create(f.dir, name, finalPerm)
	f.creating.Release(1)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(bytes, 0)
	if err == nil && !file.HasPerm(finalPerm) {
		err = fsops.Fchmod(file.OS(), finalPerm)
	}
	if err != nil { // bytes that the disk refused can still be in the page cache
		return errors.Join(err, f.dir.RemoveAll(name))
	}
	return nil
}

// keepAgain makes the file of what an earlier call left.
func (f *Fetcher) keepAgain(ctx context.Context, content manifest.Object, bytes []byte) error {
	p, err := f.openPartial(ctx, content.ID.Digest(), true)
	if err != nil {
		return err
	}
	defer p.close()
	if p.hasOldBytes {
		err = p.restart()
	}
	if err == nil {
		err = p.file.writeAt(bytes, 0)
	}
	if err == nil {
		err = p.file.makeReadOnly()
	}
	if err != nil {
		return p.discardIfUseless(err)
	}
	return nil
}

// packBody is the body of a pack. It keeps within the bandwidth limit and the pace, and ends
// where no pack of such contents does.
type packBody struct {
	ctx       context.Context //nolint:containedctx // it lives as long as its request
	body      io.Reader
	bandwidth *rate.Budget
	pace      transport.Pace
	left      int64
	received  int64 // since a content was taken last
	err       error // of the body
}

func (b *packBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errPack
	}
	asked := time.Now()
	n, err := b.body.Read(p[:min(int64(len(p)), b.left, int64(b.bandwidth.Most()))])
	b.left, b.received = b.left-int64(n), b.received+int64(n)
	if slow := b.pace.Add(n, time.Since(asked)); err == nil {
		err = slow
	}
	if limit := b.bandwidth.Wait(b.ctx, n); err == nil {
		err = limit
	}
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped one is a failure
		b.err = err
	}
	return n, err
}

// explain returns the error of the body that a decoder's error follows from, or says that
// the pack cannot be used.
func (b *packBody) explain(err error) error {
	if b.err != nil {
		return b.err
	}
	return fmt.Errorf("%w: %w", errPack, err)
}
