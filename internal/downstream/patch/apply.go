package patch

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Apply writes the new content from a segment on. The reader stands at Offset(first). It
// returns how many bytes it wrote, which are wrong if the patch is: their digest decides. While a
// segment is made and written, the next one is read.
func (p *Patch) Apply(ctx context.Context, before io.ReaderAt, from io.Reader, first int, to io.Writer) (written int64, err error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return 0, err
	}
	defer decoder.Close()
	within, stop := context.WithCancel(ctx)
	r := reading{Patch: p, before: before, from: from, idle: make(chan *part, readAhead), read: make(chan *part)}
	for range readAhead {
		r.idle <- &part{}
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { r.run(within, first) })
	segment := make([]byte, 0, p.SegmentSize)
	for part := range r.read {
		if part.err != nil {
			return written, part.err
		}
		made, err := part.decode(decoder, segment)
		if err != nil {
			return written, fmt.Errorf("segment %d: %w", part.segment, err)
		}
		n, err := to.Write(made)
		written += int64(n)
		if err != nil {
			return written, err
		}
		r.idle <- part
	}
	return written, context.Cause(ctx)
}

// readAhead is how many segments have memory: one is made, and one is read.
const readAhead = 2

// reading reads the segments of a patch ahead.
type reading struct {
	*Patch
	before io.ReaderAt
	from   io.Reader
	idle   chan *part // to be read into
	read   chan *part // in their order; closed at the end
}

// part is what a segment is made of.
type part struct {
	segment      int
	length       int64  // of the segment
	body, region []byte // memory
	frame        []byte // within body
	err          error  // of reading
}

func (r *reading) run(ctx context.Context, first int) {
	defer close(r.read)
	for segment := first; segment < r.Segments() && ctx.Err() == nil; segment++ {
		var next *part
		select {
		case next = <-r.idle:
		case <-ctx.Done():
			return
		}
		next.segment, next.length = segment, r.length(segment)
		next.err = r.fill(next)
		select {
		case r.read <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// fill reads a body, and the region of the old content that it names.
func (r *reading) fill(p *part) error {
	p.body = grow(p.body[:0], int(r.bodies[p.segment]))
	if _, err := io.ReadFull(r.from, p.body); err != nil {
		return readError(err)
	}
	extents, frame, err := parseExtents(p.body, r.Old.Size)
	if err == nil {
		p.frame = frame
		p.region, err = readRegion(r.before, extents, p.region)
	}
	if err != nil {
		return fmt.Errorf("segment %d: %w", p.segment, err)
	}
	return nil
}

// decode returns the segment.
func (p *part) decode(decoder *zstd.Decoder, segment []byte) ([]byte, error) {
	made := p.region
	if len(p.frame) > 0 {
		if err := decoder.ResetWithOptions(nil, zstd.WithDecoderDictRaw(0, p.region)); err != nil {
			return nil, err
		}
		// The decoder stops at the capacity: no frame makes more than the segment.
		var err error
		if made, err = decoder.DecodeAll(p.frame, segment[:0:p.length]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if int64(len(made)) != p.length {
		return nil, fmt.Errorf("%w: it makes %d bytes of %d", ErrInvalid, len(made), p.length)
	}
	return made, nil
}
