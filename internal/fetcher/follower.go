package fetcher

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"syncd/internal/verify"
)

const (
	// followBehind is where a file is long enough for its hash to be computed
	// beside its download, on another core, and not between two reads.
	followBehind = 1 << 20
	// followed is how many buffers may wait to be hashed.
	followed = 4
)

// errAbandoned ends the reading back of bytes whose digest nobody waits for.
var errAbandoned = errors.New("abandoned")

// follower hashes a file's bytes in their order, behind the writes: what arrives
// in order from memory, what was there before its turn from the page cache. Not
// safe for concurrent use.
type follower struct {
	file    io.ReaderAt
	buffers *sync.Pool
	hasher  *verify.Hasher
	next    int64 // up to here bytes were taken

	pieces    chan piece // nil while nothing runs beside the caller
	finished  chan error
	abandoned atomic.Bool
}

// piece is the next n bytes to hash; buffer holds them, or nothing does but the file.
type piece struct {
	buffer *[bufferSize]byte
	n      int64
}

// take hashes the next n bytes, which are in b: beside the caller if a core is
// free for that. When it returns true it keeps b.
func (f *follower) take(b *[bufferSize]byte, n int, coreIsFree bool) (keeps bool) {
	f.next += int64(n)
	if f.pieces == nil && (f.next <= followBehind || !coreIsFree) {
		f.hasher.Write(b[:n])
		return false
	}
	f.start()
	f.pieces <- piece{buffer: b, n: int64(n)}
	return true
}

// catchUp hashes what is on disk from the last bytes taken up to `to`.
func (f *follower) catchUp(to int64) {
	f.start()
	f.pieces <- piece{n: to - f.next}
	f.next = to
}

func (f *follower) start() {
	if f.pieces != nil {
		return
	}
	pieces, finished := make(chan piece, followed), make(chan error, 1)
	f.pieces, f.finished = pieces, finished
	go func() { finished <- f.follow(pieces) }()
}

// follow hashes until there are no more pieces; after an error it only lets go of them.
func (f *follower) follow(pieces <-chan piece) (err error) {
	for p := range pieces {
		if p.buffer == nil {
			if err == nil {
				err = f.readBack(p.n)
			}
			continue
		}
		if err == nil {
			f.hasher.Write(p.buffer[:p.n])
		}
		f.buffers.Put(p.buffer)
	}
	return err
}

func (f *follower) readBack(n int64) error {
	b := f.buffers.Get().(*[bufferSize]byte)
	defer f.buffers.Put(b)
	for n > 0 {
		if f.abandoned.Load() {
			return errAbandoned
		}
		part := b[:min(n, bufferSize)]
		if _, err := f.file.ReadAt(part, f.hasher.Size()); err != nil {
			return err
		}
		f.hasher.Write(part)
		n -= int64(len(part))
	}
	return nil
}

// settle waits until all that was taken is hashed.
func (f *follower) settle() error {
	if f.pieces == nil {
		return nil
	}
	close(f.pieces)
	f.pieces = nil
	return <-f.finished
}

// abandon settles when nobody wants the digest any more.
func (f *follower) abandon() {
	f.abandoned.Store(true)
	_ = f.settle() // of no interest
}
