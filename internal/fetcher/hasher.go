package fetcher

import (
	"cmp"
	"io"
	"slices"
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/verify"
)

const (
	// hashBeside is the size from which a file is hashed beside its download, on
	// another core. Below it, starting a goroutine costs more than it saves.
	hashBeside = 1 << 20
	// maxBacklog is how many buffers of a file may wait to be hashed.
	maxBacklog = 4
)

// hasher computes the digest of a file's bytes in their order, behind the writes.
// Bytes that arrive in order are hashed from memory. The others are read back from
// the file. Safe for concurrent use.
type hasher struct {
	file    io.ReaderAt
	buffers *bufferPool
	runner  func() // run as a value, so that starting it allocates nothing

	// digest belongs to the goroutine that has set busy.
	digest *verify.Hasher

	mu        sync.Mutex // guards the fields below; never held while hashing or reading
	changed   sync.Cond  // wakes add, check and abandon after each chunk
	busy      bool       // a goroutine is hashing
	next      int64      // the bytes before it are hashed, or being hashed
	end       int64      // the bytes before it are in the file
	backlog   []chunk    // in order; all lie between next and end
	abandoned bool       // the digest is not needed any more
	err       error      // of reading back
}

// chunk is a buffer and the place of its bytes in the file.
type chunk struct {
	at     int64
	buffer *buffer
}

func (c chunk) end() int64 { return c.at + int64(len(c.buffer.data)) }

// newHasher continues a digest of a file's first bytes.
func newHasher(file *dataFile, buffers *bufferPool, digest *verify.Hasher) *hasher {
	h := &hasher{file: file, buffers: buffers, digest: digest, next: digest.Size(), end: digest.Size()}
	h.changed.L, h.runner = &h.mu, h.run
	return h
}

// add reports that the bytes of c are in the file, as all bytes before end are. It
// takes the buffer over, and has it hashed on another core if one is idle.
//
// Connections that share the file never wait for the hash: bytes that do not fit the
// backlog are read back later. A single connection does wait, so that nothing is read
// back. Without an idle core, and for a small file, it computes the hash itself.
func (h *hasher) add(c chunk, end int64, isShared, hasIdleCore bool) {
	h.mu.Lock()
	for !isShared && h.busy && len(h.backlog) >= maxBacklog {
		h.changed.Wait()
	}
	h.end = max(h.end, end)
	if !h.enqueueLocked(c) {
		h.buffers.put(c.buffer)
	}
	if h.busy || !h.hasWorkLocked() {
		h.mu.Unlock()
		return
	}
	h.busy = true
	h.mu.Unlock()
	isMore := true
	if !isShared && (!hasIdleCore || end <= hashBeside) {
		isMore = h.step()
	}
	if isMore {
		go h.runner()
	}
}

// enqueueLocked returns false if the bytes of c have to be read back: because the
// backlog is full, or because another goroutine added later bytes first.
func (h *hasher) enqueueLocked(c chunk) bool {
	from := h.next
	if n := len(h.backlog); n > 0 {
		from = h.backlog[n-1].end()
	}
	if c.at < from || len(h.backlog) >= maxBacklog {
		return false
	}
	h.backlog = append(h.backlog, c)
	return true
}

func (h *hasher) hasWorkLocked() bool { return h.next < h.end && h.err == nil && !h.abandoned }

func (h *hasher) run() {
	for h.step() {
	}
}

// step hashes the next chunk. The caller has set busy. It returns true if there is
// more to hash; otherwise it has cleared busy.
func (h *hasher) step() (more bool) {
	h.mu.Lock()
	c, n := h.takeLocked()
	h.mu.Unlock()
	err := h.hash(c, n)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = cmp.Or(h.err, err)
	h.busy = h.hasWorkLocked()
	h.changed.Broadcast()
	return h.busy
}

// takeLocked returns the next chunk, of n bytes. Its buffer is nil if the bytes have
// to be read back.
func (h *hasher) takeLocked() (c chunk, n int64) {
	to := h.end
	if len(h.backlog) > 0 {
		to = h.backlog[0].at
	}
	if to == h.next {
		c = h.backlog[0]
		h.backlog = slices.Delete(h.backlog, 0, 1)
		h.next = c.end()
		return c, int64(len(c.buffer.data))
	}
	c, n = chunk{at: h.next}, min(to-h.next, bufferSize)
	h.next += n
	return c, n
}

func (h *hasher) hash(c chunk, n int64) error {
	if c.buffer == nil {
		return h.readBack(c.at, n)
	}
	_, _ = h.digest.Write(c.buffer.data) // never fails
	h.buffers.put(c.buffer)
	return nil
}

// readBack hashes n bytes of the file.
func (h *hasher) readBack(at, n int64) error {
	b := h.buffers.get(true, at)
	defer h.buffers.put(b)
	for n > 0 {
		part := b.data[:min(n, int64(cap(b.data)))]
		if _, err := h.file.ReadAt(part, at); err != nil {
			return err
		}
		_, _ = h.digest.Write(part) // never fails
		at, n = at+int64(len(part)), n-int64(len(part))
	}
	return nil
}

// check waits for the hash of all bytes added so far, and compares their digest
// with the expected one. More bytes may be added later.
func (h *hasher) check(expected manifest.Digest) (manifest.Object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.busy {
		h.changed.Wait()
	}
	if h.err != nil {
		return manifest.Object{}, h.err
	}
	return h.digest.Check(expected)
}

// abandon stops hashing after the current chunk, and returns when it has stopped.
func (h *hasher) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.abandoned = true
	for h.busy {
		h.changed.Wait()
	}
	for _, c := range h.backlog {
		h.buffers.put(c.buffer)
	}
	h.backlog = nil
}
