package patch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/bits"
	"runtime"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

const (
	// maxWorkers keeps a maker below 64 MiB: 8 for the index, 24 for each worker.
	maxWorkers = 2
	// usedRegion is how much of maxRegion a maker uses.
	usedRegion = 3 << 20
)

// Content is a content that can be read.
type Content struct {
	io.ReaderAt
	Identity
}

// Make writes a patch from an old content to a new one, and returns its beginning. It
// believes sizes and digests. The header comes last, so what a failure leaves is no patch.
func Make(ctx context.Context, before, after Content, to io.WriterAt) (*Patch, error) {
	if before.Size > maxSize || after.Size > maxSize {
		return nil, fmt.Errorf("a content above %d bytes has no patches", int64(maxSize))
	}
	p := &Patch{Old: before.Identity, New: after.Identity, SegmentSize: segmentSize}
	p.bodies = make([]uint32, p.Segments())
	x, err := newIndex(ctx, before, before.Size)
	if err != nil {
		return nil, err
	}
	m := maker{Patch: p, before: before, after: after, to: to, offset: p.Offset(0)}
	if err := m.segments(ctx, newFinder(x, before.Size, after.Size)); err != nil {
		return nil, err
	}
	if _, err := to.WriteAt(p.table(), 0); err != nil {
		return nil, fmt.Errorf("write a patch: %w", err)
	}
	return p, nil
}

type maker struct {
	*Patch
	before, after Content
	to            io.WriterAt
	offset        int64 // of the next body; the worker whose turn it is has it
}

// segments compresses segments side by side, and writes them one after the other.
func (m *maker) segments(ctx context.Context, f *finder) error {
	count := min(runtime.GOMAXPROCS(0), maxWorkers, max(m.Segments(), 1))
	idle := make(chan *worker, count)
	for range count {
		w, err := newWorker(min(m.Old.Size, usedRegion), min(m.New.Size, m.SegmentSize))
		if err != nil {
			return err
		}
		idle <- w
	}
	group, ctx := errgroup.WithContext(ctx)
	before := make(chan struct{})
	close(before)
	for segment := range m.Segments() {
		var w *worker
		select {
		case w = <-idle:
		case <-ctx.Done():
			return firstOf(group.Wait(), context.Cause(ctx))
		}
		at := int64(segment) * m.SegmentSize
		w.segment = grow(w.segment, int(m.length(segment)))
		if err := readAt(m.after, w.segment, at); err != nil {
			return firstOf(group.Wait(), fmt.Errorf("read the new content: %w", err))
		}
		where, turn, done := f.find(w.segment, at), before, make(chan struct{})
		group.Go(func() error {
			defer func() { idle <- w }()
			if err := w.compress(m.before, where); err != nil {
				return err
			}
			select {
			case <-turn:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			defer close(done)
			return m.write(segment, w.body)
		})
		before = done
	}
	return group.Wait()
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (m *maker) write(segment int, body []byte) error {
	if _, err := m.to.WriteAt(body, m.offset); err != nil {
		return fmt.Errorf("write a patch: %w", err)
	}
	m.bodies[segment] = uint32(len(body))
	m.offset += int64(len(body))
	return nil
}

// worker has the memory for one segment.
type worker struct {
	encoder               *zstd.Encoder
	segment, region, body []byte
}

// newWorker returns a worker for a region and a segment of these sizes.
func newWorker(region, segment int64) (*worker, error) {
	window := max(zstd.MinWindowSize, 1<<bits.Len64(uint64(region+segment))) // a frame reaches back to the begin of its region
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderConcurrency(1), zstd.WithEncoderDictRaw(0, nil))
	return &worker{encoder: encoder, segment: make([]byte, segment), region: make([]byte, region)}, err
}

// Write appends to the body.
func (w *worker) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// compress makes the body of a segment.
func (w *worker) compress(from io.ReaderAt, where region) (err error) {
	if where.same >= 0 {
		same := []extent{{where.same, int64(len(w.segment))}}
		if w.region, err = readRegion(from, same, w.region); err != nil {
			return err
		}
		if bytes.Equal(w.region, w.segment) {
			w.body = appendExtents(w.body[:0], same)
			return nil
		}
	}
	if w.region, err = readRegion(from, where.extents, w.region); err != nil {
		return err
	}
	w.body = appendExtents(w.body[:0], where.extents)
	// EncodeAll would need a second encoder for each worker.
	if err := w.encoder.ResetWithOptions(w, zstd.WithEncoderDictRaw(0, w.region)); err != nil {
		return err
	}
	if _, err := w.encoder.Write(w.segment); err != nil {
		return err
	}
	return w.encoder.Close()
}
