package fetcher

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/fsops"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// Source opens downloads. Download makes one attempt; isBulk asks for a connection that
// no other request shares. Retry repeats op while its errors are transient, and gives up
// some time after the last call of progress. Both must be safe for concurrent use.
type Source interface {
	Download(ctx context.Context, file manifest.File, header http.Header, isBulk bool) (*transport.Response, error)
	Retry(ctx context.Context, op func(progress func()) error) error
}

// Config says how much a Fetcher does at once.
type Config struct {
	Files     int          // large files at once that the caller means to fetch; below 1 counts as 1
	Segments  int          // connections of one large file at most; below 1 counts as 1
	Bandwidth *rate.Budget // of all downloads together; nil is unlimited
	MinRate   transport.MinRate
	KeepCache bool // leave large files in the page cache, instead of writing past it
}

// Fetcher downloads files. Safe for concurrent use by one process, as long as no
// two calls fetch the same digest at once.
type Fetcher struct {
	source      Source
	dir         *fsops.Dir
	segments    int                 // connections of one file at most
	connections *semaphore.Weighted // the budget of all files and their segments
	creating    *semaphore.Weighted // maxCreating of them
	bandwidth   *rate.Budget
	minRate     transport.MinRate
	buffers     *bufferPool
	keepCache   bool
	running     atomic.Int32 // files that are being transferred
}

// SmallFile is the size up to which a file shares a connection with other requests, where
// the provider offers HTTP/2. Many small files may be fetched at once.
const SmallFile = 1 << 20

// IsSmall returns whether a file with this size is small. -1 stands for an unknown size.
func IsSmall(size int64) bool { return size >= 0 && size <= SmallFile }

// New returns a Fetcher that keeps unfinished downloads in dir.
// Large files and their segments share one budget of connections: the greater of
// c.Files and c.Segments. A file never waits for a connection; segments get what files
// leave.
func New(source Source, dir *fsops.Dir, c Config) *Fetcher {
	c.Files, c.Segments = max(c.Files, 1), max(c.Segments, 1)
	f := &Fetcher{
		source: source, dir: dir, segments: c.Segments,
		connections: semaphore.NewWeighted(int64(max(c.Files, c.Segments))),
		creating:    semaphore.NewWeighted(maxCreating),
		bandwidth:   c.Bandwidth,
		minRate:     c.MinRate,
		buffers:     newBufferPool(),
		keepCache:   c.KeepCache,
	}
	if f.bandwidth == nil {
		f.bandwidth = rate.NewBudget(rate.Timetable{})
	}
	return f
}

// Fetch downloads a file until it has the expected digest. After one mismatch it
// starts again from zero; a second one is a refusal. A mismatch that bytes of an
// earlier call may have caused does not count. size is the expected one, -1 when
// unknown; a wrong one only costs time.
//
// Other errors come from the source, the Watcher or the disk, or are the context's
// cause. The next call continues with the bytes that arrived. It starts from zero if the
// disk failed, or if a file of unknown size filled it. A full disk is a refusal.
func (f *Fetcher) Fetch(ctx context.Context, file manifest.File, size int64, watch Watcher) (verify.Proven, error) {
	d, err := newDownload(ctx, f, file, size, watch)
	if err != nil {
		return verify.Proven{}, refuseFullDisk(err)
	}
	defer d.partial.close()
	proven, err := d.run(ctx)
	if err != nil {
		return verify.Proven{}, refuseFullDisk(d.partial.discardIfUseless(err))
	}
	return proven, nil
}

// join counts a file's first connection in the budget, until leave is called. When the
// budget is used up, the file begins without, and segments of other files give their
// connections up for it. It does not wait, because the others may hardly move.
func (f *Fetcher) join(ctx context.Context) (leave func()) {
	if f.connections.TryAcquire(1) {
		return func() { f.connections.Release(1) }
	}
	ctx, cancel := context.WithCancel(ctx)
	acquired := make(chan bool, 1)
	go func() { acquired <- f.connections.Acquire(ctx, 1) == nil }()
	return func() {
		cancel()
		if <-acquired {
			f.connections.Release(1)
		}
	}
}

// hasIdleCore returns whether fewer files are being transferred than there are
// cores. Otherwise each is hashed on the core whose cache holds its bytes.
func (f *Fetcher) hasIdleCore() bool { return int(f.running.Load()) < runtime.GOMAXPROCS(0) }

func refuseFullDisk(err error) error {
	if fsops.IsFull(err) {
		return refusal.New(refusal.NoSpace, "disk full while downloading: %w: free some space on that file system", err)
	}
	return err
}

// Name returns the file name of an unfinished download with the expected digest.
func Name(expected manifest.Digest) string {
	return strings.ReplaceAll(expected.String(), ":", "-")
}

// Sweep removes everything from dir except the unfinished downloads whose names are
// in wanted, and their validators. It returns all errors, joined.
func Sweep(dir *fsops.Dir, wanted map[string]bool) error {
	names, err := dir.Names(".")
	for _, name := range names {
		if !wanted[strings.TrimSuffix(name, validatorSuffix)] {
			err = errors.Join(err, dir.RemoveAll(name))
		}
	}
	return err
}
