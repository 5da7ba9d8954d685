package emulator

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Content is what a file holds. Open gives an independent reader at each call;
// both methods are safe for concurrent use. Size is -1 when there is nothing to
// open. What a Content holds must not change, except that of OnDisk.
type Content interface {
	Open() (io.ReadSeekCloser, error)
	Size() int64
}

// Bytes returns a Content that holds b, which must not be changed afterwards.
func Bytes(b []byte) Content { return &bytesContent{b} }

// Text returns a Content that holds s.
func Text(s string) Content { return &bytesContent{[]byte(s)} }

type bytesContent struct{ b []byte }

func (c *bytesContent) Size() int64 { return int64(len(c.b)) }

func (c *bytesContent) Open() (io.ReadSeekCloser, error) {
	return bytesReader{bytes.NewReader(c.b)}, nil
}

type bytesReader struct{ *bytes.Reader }

func (bytesReader) Close() error { return nil }

// OnDisk returns a Content that is the file at path whenever it is opened. It
// is served with sendfile, and counts as changed when its size or time of
// change differs.
func OnDisk(path string) Content { return diskContent{path} }

type diskContent struct{ path string }

func (c diskContent) Size() int64 {
	info, err := os.Stat(c.path)
	if err != nil {
		return -1
	}
	return info.Size()
}

func (c diskContent) Open() (io.ReadSeekCloser, error) { return os.Open(c.path) }

// Random returns a Content of size pseudo-random bytes, the same for the same
// seed. They are made while they are read, in constant memory and without disk.
func Random(seed uint64, size int64) Content { return randomContent{seed, max(size, 0)} }

type randomContent struct {
	seed uint64
	size int64
}

func (c randomContent) Size() int64 { return c.size }

func (c randomContent) Open() (io.ReadSeekCloser, error) {
	return sectionReader{io.NewSectionReader(c, 0, c.size)}, nil
}

type sectionReader struct{ *io.SectionReader }

func (sectionReader) Close() error { return nil }

const (
	randomBlockSize = 1 << 20
	randomMaskSize  = 1 << 10
)

// randomBlock is the table that all random contents are made from: each
// repeats it, every repetition under another 64-bit mask.
var randomBlock = sync.OnceValue(func() []byte {
	b := make([]byte, randomBlockSize)
	_, _ = rand.NewChaCha8([32]byte([]byte("reference data of the emulator: "))).Read(b) // never fails
	return b
})

// ReadAt fills p. It ignores the size; the section reader keeps to it.
func (c randomContent) ReadAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		block, at := off/randomBlockSize, int(off%randomBlockSize)
		k := min(len(p)-n, randomBlockSize-at)
		c.fill(p[n:n+k], uint64(block), at)
		n, off = n+k, off+int64(k)
	}
	return len(p), nil
}

// fill writes the bytes of one block from at on.
func (c randomContent) fill(p []byte, block uint64, at int) {
	var mask [randomMaskSize + 8]byte
	word := mix(c.seed + mix(block))
	for i := 0; i < len(mask); i += 8 {
		binary.LittleEndian.PutUint64(mask[i:], word)
	}
	base := randomBlock()[at:]
	shift := at % 8 // chunks are a multiple of 8 long, so it holds for all
	for len(p) > 0 {
		k := min(len(p), randomMaskSize)
		subtle.XORBytes(p[:k], base[:k], mask[shift:])
		p, base = p[k:], base[k:]
	}
}

// mix is the finaliser of splitmix64: neighbouring inputs, unrelated outputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// sameContent tells whether a and b are known to hold the same bytes, without
// reading files.
func sameContent(a, b Content) bool {
	x, isBytes := a.(*bytesContent)
	y, areBytes := b.(*bytesContent)
	if isBytes && areBytes {
		return bytes.Equal(x.b, y.b)
	}
	if a == nil || b == nil || !reflect.TypeOf(a).Comparable() || !reflect.TypeOf(b).Comparable() {
		return false
	}
	return a == b
}

// hashTypes are the hash types of the wire, by their upper-case names.
var hashTypes = map[string]func() hash.Hash{
	"MD5":    md5.New,
	"SHA1":   sha1.New,
	"SHA256": sha256.New,
}

// digests holds the sums of one content, each computed at first use. The lock
// is held while computing, so that nothing is read twice at a time.
type digests struct {
	mu   sync.Mutex
	sums map[string]string // replaced, never changed
}

// hashBuffers are for what is read to be hashed.
var hashBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// get returns the sums of the named types, in lower-case hex, and maybe others;
// those still missing are computed in one pass over r, which ends with ctx.
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
	ctx context.Context //nolint:containedctx // of the one call that reads
	r   io.Reader
}

func (b boundReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

// digestCache keeps the digests of contents that are known by a small key:
// random ones and files on disk. Others keep theirs in their item.
type digestCache struct {
	mu    sync.Mutex
	known map[any]*digests
}

type diskKey struct {
	path  string
	size  int64
	mtime int64
}

// of returns the digests of an item whose content was opened as f.
func (c *digestCache) of(it *item, f io.Reader) *digests {
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

// sums opens the item's content and returns its digests of the named types.
func (c *digestCache) sums(ctx context.Context, it *item, types ...string) (map[string]string, error) {
	f, err := it.Content.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	sums, err := c.of(it, f).get(ctx, f, types...)
	if err != nil {
		return nil, fmt.Errorf("hash of %s: %w", it.Name, err)
	}
	return sums, nil
}

// etag returns a strong validator of an item opened as f, without reading it
// where something cheaper tells contents apart.
func (c *digestCache) etag(ctx context.Context, it *item, f io.Reader) (string, error) {
	if info, ok := statOf(f); ok {
		return fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()), nil
	}
	if r, ok := it.Content.(randomContent); ok {
		return fmt.Sprintf(`"%016x-%x"`, r.seed, r.size), nil
	}
	sums, err := c.sums(ctx, it, "SHA256")
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

// textOf builds n bytes or a little more of invented lines.
func textOf(title string, n int) Content {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s;%05d;%016x\n", title, i, mix(uint64(i)+uint64(len(title))))
	}
	return Text(b.String())
}
