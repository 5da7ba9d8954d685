package verify

import (
	"cmp"
	"context"
	"io"
	"sync"

	"golang.org/x/time/rate"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// bufferSize is what one read takes; larger buffers were not faster.
const bufferSize = 256 << 10

// Files reads files to prove them, leaves the page cache as it found it, and reuses its
// buffers. Safe for concurrent use.
type Files struct {
	limiter *rate.Limiter
	buffers sync.Pool
}

// unlimited is shared by the functions of this package, so that they reuse buffers.
var unlimited = NewFiles(0)

// NewFiles returns a Files with a limit on the rate of all its reads together; 0 for
// no limit.
func NewFiles(bytesPerSecond int64) *Files {
	f := &Files{limiter: rate.NewLimiter(rate.Inf, 0)}
	if bytesPerSecond > 0 {
		// The burst makes up for sleeps that last too long; without it a fast disk
		// would never reach its rate.
		burst := max(bufferSize, min(bytesPerSecond/20, 1<<30))
		f.limiter = rate.NewLimiter(rate.Limit(bytesPerSecond), int(burst))
	}
	f.buffers.New = func() any { b := directio.Buffer(bufferSize); return &b }
	return f
}

// Check reads a file and compares it with an expected digest. The error is
// *Mismatch, an I/O error or the context's cause.
func (f *Files) Check(ctx context.Context, dir *fsops.Dir, name string, expected manifest.Digest) (manifest.Object, error) {
	h, err := f.hash(ctx, dir, name, expected.Algorithm)
	if err != nil {
		return manifest.Object{}, err
	}
	return h.Check(expected)
}

func (f *Files) hash(ctx context.Context, dir *fsops.Dir, name string, algorithm manifest.Algorithm) (*Hasher, error) {
	file, err := dir.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return f.read(ctx, directio.NewReader(file), algorithm)
}

func (f *Files) read(ctx context.Context, r io.Reader, algorithm manifest.Algorithm) (*Hasher, error) {
	h := NewHasher(algorithm)
	buffer := f.buffers.Get().(*[]byte)
	defer f.buffers.Put(buffer)
	_, err := io.CopyBuffer(h, &pacedReader{ctx: ctx, r: r, limiter: f.limiter}, *buffer)
	return h, err
}

// pacedReader reads no faster than the limiter allows, and ends when the context does.
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
		// WaitN also fails early when it would wait beyond the deadline.
		return 0, cmp.Or(context.Cause(p.ctx), context.DeadlineExceeded)
	}
	return n, err
}
