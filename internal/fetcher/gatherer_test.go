package fetcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/directio"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

// recordBody brings step bytes with each read, as TLS does, after a pause.
type recordBody struct {
	rest  io.Reader
	step  int
	pause time.Duration
}

func (b *recordBody) Read(p []byte) (int, error) {
	time.Sleep(b.pause)
	return b.rest.Read(p[:min(len(p), b.step)])
}

func (b *recordBody) Close() error { return nil }

// bodySource answers with a body.
type bodySource struct {
	size int
	body io.ReadCloser
}

func (s *bodySource) Download(context.Context, manifest.File, http.Header, bool) (*transport.Response, error) {
	res := wholeResponse(nil)
	res.Length, res.Body = int64(s.size), s.body
	return res, nil
}

func (s *bodySource) Retry(_ context.Context, op func(progress func()) error) error {
	return op(func() {})
}

// moves notes how many bytes were stored at a time, and calls after with all of them.
type moves struct {
	watcher
	sizes []int64
	after func(done int64)
}

func (m *moves) Moved(n, done int64) error {
	if n > 0 {
		m.sizes = append(m.sizes, n)
	}
	if m.after != nil {
		m.after(done)
	}
	return m.watcher.Moved(n, done)
}

func TestSmallReadsAreStoredTogether(t *testing.T) {
	content := readAll(t, emulator.Random(1, 32*mib))
	for _, keep := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := &moves{}
			source := &bodySource{len(content), &recordBody{rest: bytes.NewReader(content), step: 16 << 10, pause: 10 * time.Microsecond}}
			if _, err := New(source, open(t, dir), Config{KeepCache: keep}).Fetch(t.Context(), fileOf(t, content), -1, w); err != nil {
				t.Fatal(err)
			}
			if len(w.sizes) > 64 {
				t.Errorf("stored in %d pieces", len(w.sizes))
			}
		})
	}
}

func TestBytesOfASlowConnectionAreStoredInTime(t *testing.T) {
	content := readAll(t, emulator.Random(1, 2*mib))
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		body := &timedBody{recordBody: recordBody{rest: bytes.NewReader(content), step: 10_000, pause: 10 * time.Millisecond}}
		w := &moves{after: func(done int64) {
			if due := body.arrivedBefore(time.Now().Add(-gatherTime)); done < due-directio.Block {
				t.Errorf("%d bytes are stored, %d arrived in time", done, due)
			}
		}}
		if _, err := New(&bodySource{len(content), body}, open(t, dir), Config{}).Fetch(t.Context(), fileOf(t, content), -1, w); err != nil {
			t.Fatal(err)
		}
		if len(w.sizes) < 20 {
			t.Errorf("stored in %d pieces", len(w.sizes))
		}
	})
}

// timedBody notes when bytes arrive.
type timedBody struct {
	recordBody
	mu     sync.Mutex
	times  []time.Time
	totals []int64
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.recordBody.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	total := int64(n)
	if len(b.totals) > 0 {
		total += b.totals[len(b.totals)-1]
	}
	b.times, b.totals = append(b.times, time.Now()), append(b.totals, total)
	return n, err
}

func (b *timedBody) arrivedBefore(moment time.Time) (total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, at := range b.times {
		if at.Before(moment) {
			total = b.totals[i]
		}
	}
	return total
}

// A server that stops in the middle keeps no bytes out of the file.
func TestBytesBeforeAStallAreStored(t *testing.T) {
	content := readAll(t, emulator.Random(1, 4*mib))
	const before = 3*mib + 12_345
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stalled, end := io.Pipe()
		defer end.Close()
		context.AfterFunc(ctx, func() { stalled.Close() })
		body := io.MultiReader(bytes.NewReader(content[:before]), stalled)
		w := &moves{after: func(done int64) {
			if done == before {
				cancel()
			}
		}}
		source := &bodySource{len(content), &recordBody{rest: body, step: 16 << 10}}
		if _, err := New(source, open(t, dir), Config{}).Fetch(ctx, fileOf(t, content), -1, w); !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// The memory of all buffers is bounded, and no connection waits for one.
func TestLargeBuffersAreBounded(t *testing.T) {
	p := newBufferPool()
	var held []*buffer
	large := 0
	for i := range 3 * maxLarge {
		b := p.get(true, int64(i))
		if held = append(held, b); b.isLarge() {
			large++
		}
	}
	if large != maxLarge {
		t.Errorf("%d large buffers", large)
	}
	for _, b := range held {
		p.put(b)
	}
	if !p.get(true, 0).isLarge() {
		t.Error("no large buffer after all were returned")
	}
}

// Bytes keep their order, whatever reads bring and whenever the buffer is cut.
func TestGathererKeepsTheOrderOfBytes(t *testing.T) {
	content := readAll(t, emulator.Random(1, 4*mib+7))
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			at := random.Int64N(3 * directio.Block)
			g := gather(&randomBody{bytes.NewReader(content), random}, newBufferPool(), func() int { return bufferSize }, at)
			var got []byte
			for {
				b, err := g.next()
				got = append(got, b.data...)
				g.buffers.put(b)
				if err != nil {
					break
				}
			}
			if g.stop(); !bytes.Equal(got, content) || g.buffers.used.Load() != 0 {
				t.Errorf("seed %d: %d bytes, %d buffers in use", seed, len(got), g.buffers.used.Load())
			}
		})
	}
}

type randomBody struct {
	rest   io.Reader
	random *rand.Rand
}

func (b *randomBody) Read(p []byte) (int, error) {
	if b.random.IntN(4) == 0 {
		time.Sleep(time.Duration(b.random.Int64N(int64(2 * gatherTime))))
	}
	return b.rest.Read(p[:min(len(p), 1+b.random.IntN(40_000))])
}
