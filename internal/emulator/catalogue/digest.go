package catalogue

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// hashTypes are the hash types of the wire, by their upper-case names.
var hashTypes = map[string]func() hash.Hash{
	"MD5":    md5.New,
	"SHA1":   sha1.New,
	"SHA256": sha256.New,
}

// IsHashType returns whether a name is one of the hash types, in upper case.
func IsHashType(name string) bool { return hashTypes[name] != nil }

// digests holds the sums of one content, each computed at its first use. The lock
// is held while computing, so that two requests do not read the content twice.
type digests struct {
	mu   sync.Mutex
	sums map[string]string // replaced, never changed
}

var hashBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// get returns at least the sums of the named types, in lower-case hex. It computes
// missing ones in one pass over r, which ends with ctx.
func (d *digests) get(ctx context.Context, r io.Reader, types ...string) (map[string]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	isMissing := func(t string) bool { return d.sums[t] == "" }
	if !slices.ContainsFunc(types, isMissing) {
		return d.sums, nil
	}
	missing := make(map[string]hash.Hash)
	var writers []io.Writer
	for _, t := range types {
		if isMissing(t) && missing[t] == nil {
			missing[t] = hashTypes[t]()
			writers = append(writers, missing[t])
		}
	}
	buf := hashBuffers.Get().(*[256 << 10]byte)
	defer hashBuffers.Put(buf)
	if _, err := io.CopyBuffer(io.MultiWriter(writers...), boundReader{ctx, r}, buf[:]); err != nil {
		return nil, err
	}
	sums := make(map[string]string)
	maps.Copy(sums, d.sums)
	for t, h := range missing {
		sums[t] = hex.EncodeToString(h.Sum(nil))
	}
	d.sums = sums
	return sums, nil
}

// boundReader fails when its context ends.
type boundReader struct {
	ctx context.Context //nolint:containedctx // of one call of get
	r   io.Reader
}

func (b boundReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

// digestCache keeps the digests of random contents and of files on disk, which
// have a small key. Items keep the digests of other contents.
type digestCache struct {
	mu    sync.Mutex
	known map[any]*digests
}

type diskKey struct {
	path  string
	size  int64
	mtime int64
}

// of returns the digests of an item opened as f.
func (c *digestCache) of(it *Item, f io.Reader) *digests {
	var key any
	switch content := it.Content.(type) {
	case randomContent:
		key = content
	case diskContent:
		info, ok := statOf(f)
		if !ok {
			return it.digests
		}
		key = diskKey{content.path, info.Size(), info.ModTime().UnixNano()}
	default:
		return it.digests
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[any]*digests)
	}
	if c.known[key] == nil {
		c.known[key] = new(digests)
	}
	return c.known[key]
}

// Sums returns at least the digests of the named types, in lower-case hex by type.
// It reads the content when it has to, until ctx ends.
func (c *Catalogue) Sums(ctx context.Context, it *Item, types ...string) (map[string]string, error) {
	f, err := it.Content.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	sums, err := c.digests.of(it, f).get(ctx, f, types...)
	if err != nil {
		return nil, fmt.Errorf("hash of %s: %w", it.Name, err)
	}
	return sums, nil
}

// ETag returns a strong validator of an item opened as f. It reads only contents
// that have nothing cheaper to tell them apart.
func (c *Catalogue) ETag(ctx context.Context, it *Item, f io.Reader) (string, error) {
	if info, ok := statOf(f); ok {
		return fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()), nil
	}
	if r, ok := it.Content.(randomContent); ok {
		return fmt.Sprintf(`"%016x-%x"`, r.seed, r.size), nil
	}
	sums, err := c.Sums(ctx, it, "SHA256")
	if err != nil {
		return "", err
	}
	return `"` + sums["SHA256"][:32] + `"`, nil
}

func statOf(f any) (fs.FileInfo, bool) {
	s, ok := f.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return nil, false
	}
	info, err := s.Stat()
	return info, err == nil
}
