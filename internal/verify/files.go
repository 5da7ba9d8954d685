package verify

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"

	"golang.org/x/time/rate"

	"syncd/internal/manifest"
)

// bufferSize keeps memory constant whatever the file's size; larger ones were not faster.
const bufferSize = 256 << 10

// Files reads files to prove them, many at once, with buffers that it keeps. Safe
// for concurrent use.
type Files struct {
	limiter *rate.Limiter
	buffers sync.Pool
}

// unbounded serves those who read one file now and then: all of them share its
// buffers, of which there are as many as ever were in use at once.
var unbounded = NewFiles(0)

// NewFiles returns a Files that reads at most so many bytes a second, in all; 0
// for no limit.
func NewFiles(bytesPerSecond int64) *Files {
	f := &Files{limiter: rate.NewLimiter(rate.Inf, 0)}
	if bytesPerSecond > 0 {
		// What a sleep takes too long may be made up for, or fast disks would never
		// get to their rate.
		burst := max(bufferSize, min(bytesPerSecond/20, 1<<30))
		f.limiter = rate.NewLimiter(rate.Limit(bytesPerSecond), int(burst))
	}
	f.buffers.New = func() any { return new([bufferSize]byte) }
	return f
}

// Check reads a file and compares it with an expected digest: nil, *Mismatch, an
// I/O error or the context's error.
func (f *Files) Check(ctx context.Context, path string, expected manifest.Digest) (manifest.Object, error) {
	h, err := f.hash(ctx, path, expected.Algorithm)
	if err != nil {
		return manifest.Object{}, err
	}
	return h.Check(expected)
}

func (f *Files) hash(ctx context.Context, path string, algorithm manifest.Algorithm) (*Hasher, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return f.read(ctx, file, algorithm)
}

func (f *Files) read(ctx context.Context, r io.Reader, algorithm manifest.Algorithm) (*Hasher, error) {
	h := NewHasher(algorithm)
	buffer := f.buffers.Get().(*[bufferSize]byte)
	defer f.buffers.Put(buffer)
	_, err := io.CopyBuffer(h, &pacedReader{ctx: ctx, r: r, limiter: f.limiter}, buffer[:])
	return h, err
}

// pacedReader ends a long read when the context does, and keeps to the rate.
type pacedReader struct {
	ctx     context.Context
	r       io.Reader
	limiter *rate.Limiter
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	n, err := p.r.Read(b)
	if n > 0 && p.limiter.WaitN(p.ctx, n) != nil {
		// WaitN also fails before the deadline when it would take longer.
		return 0, cmp.Or(context.Cause(p.ctx), context.DeadlineExceeded)
	}
	return n, err
}
