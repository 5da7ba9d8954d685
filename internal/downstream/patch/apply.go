package patch

import (
	"context"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Apply writes the new content from a segment on. The reader stands at Offset(first). It
// returns how many bytes it wrote, which are wrong if the patch is: their digest decides.
func (p *Patch) Apply(ctx context.Context, before io.ReaderAt, from io.Reader, first int, to io.Writer) (written int64, err error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return 0, err
	}
	defer decoder.Close()
	a := applier{decoder: decoder, before: before, old: p.Old.Size, segment: make([]byte, 0, p.SegmentSize)}
	for segment := first; segment < p.Segments(); segment++ {
		if ctx.Err() != nil {
			return written, context.Cause(ctx)
		}
		a.body = grow(a.body[:0], int(p.bodies[segment]))
		if _, err := io.ReadFull(from, a.body); err != nil {
			return written, readError(err)
		}
		made, err := a.decode(p.length(segment))
		if err != nil {
			return written, fmt.Errorf("segment %d: %w", segment, err)
		}
		n, err := to.Write(made)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// applier has the memory for one segment.
type applier struct {
	decoder               *zstd.Decoder
	before                io.ReaderAt
	old                   int64
	body, region, segment []byte
}

// decode returns the segment of a body.
func (a *applier) decode(length int64) ([]byte, error) {
	extents, frame, err := parseExtents(a.body, a.old)
	if err != nil {
		return nil, err
	}
	if a.region, err = readRegion(a.before, extents, a.region); err != nil {
		return nil, err
	}
	made := a.region
	if len(frame) > 0 {
		if err := a.decoder.ResetWithOptions(nil, zstd.WithDecoderDictRaw(0, a.region)); err != nil {
			return nil, err
		}
		// The decoder stops at the capacity: no frame makes more than the segment.
		made, err = a.decoder.DecodeAll(frame, a.segment[:0:length])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if int64(len(made)) != length {
		return nil, fmt.Errorf("%w: it makes %d bytes of %d", ErrInvalid, len(made), length)
	}
	return made, nil
}
