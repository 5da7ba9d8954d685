package fetcher

import (
	"fmt"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// partial is an unfinished, unverified download: a file named for its expected
// digest, its validator in a file beside it, and the hash of its first bytes. The
// connections of one download share it.
type partial struct {
	dir       *fsops.Dir
	name      string
	algorithm manifest.Algorithm
	file      *dataFile
	buffers   *bufferPool
	keepCache bool // the file stays in the page cache

	// The main connection changes these fields, and only while no worker runs.
	validator   validator
	hasher      *hasher
	hasOldBytes bool // an earlier call fetched its first bytes

	// mu guards the fields below. Don't hold it across disk, network, hash or Watcher:
	// every connection needs it for each buffer.
	mu         sync.Mutex
	layout     layout
	hasGaps    bool  // or may get some: the validator's file says which bytes are present
	isSaving   bool  // some goroutine saves a checkpoint, or is about to
	unsaved    int64 // bytes since the last checkpoint, if there are gaps
	mayBeSaved bool  // the validator's file may exist
}

// reset describes an empty file. It does not change the one on disk.
func (p *partial) reset() {
	p.validator, p.hasOldBytes = validator{}, false
	p.hasher = newHasher(p.file, p.buffers, verify.NewHasher(p.algorithm))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hasGaps, p.unsaved, p.layout = false, 0, layout{size: endless}
}

// size returns the number of bytes that are present.
func (p *partial) size() int64 {
	size, _ := p.progress()
	return size
}

// progress returns the number of bytes that are present, and the size of the whole
// file or endless if it is not known.
func (p *partial) progress() (size, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.layout.bytes(), p.layout.size
}

// isContiguous returns whether all present bytes come before the first gap.
func (p *partial) isContiguous() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.layout.prefix() == p.layout.bytes()
}

// isComplete returns whether all bytes of a file of known size are present.
func (p *partial) isComplete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.layout.prefix() >= p.layout.size
}

// assign gives missing bytes to a connection: the first ones that no other
// connection fetches, otherwise the rear of the longest segment. It returns nil when
// nothing is left to assign. All bytes are present when othersPending is false too.
func (p *partial) assign(limit int64) (c *segment, othersPending bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	othersPending = len(p.layout.segments) > 0
	c = p.layout.assignNext(limit)
	if c == nil && p.layout.splitLongest(limit) {
		c = p.layout.assignNext(limit)
	}
	return c, othersPending
}

func (p *partial) release(c *segment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layout.release(c)
}

// request notes that the bytes of a segment are about to be requested, and returns
// the range to ask for. It has no end if the segment is for the rest of the file.
func (p *partial) request(c *segment) byteRange {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.requested = byteRange{c.next, c.end}
	if c.end == p.layout.size {
		c.requested.to = endless
	}
	return c.requested
}

// learnTotal notes the size of the file, from a response with the rest of it.
func (p *partial) learnTotal(c *segment, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.layout.size == endless {
		p.validator.Total = total
		p.setTotalLocked(total, c)
	}
}

// setTotalLocked notes the size of the file. A segment without an end now ends there.
func (p *partial) setTotalLocked(total int64, c *segment) {
	p.layout.size = min(total, endless-1)
	c.end = min(c.end, p.layout.size)
}

// start prepares an empty file for a response with the whole file.
func (p *partial) start(c *segment, res *transport.Response) error {
	p.validator = validatorOf(res)
	p.mu.Lock()
	p.layout.size, c.end = endless, endless // a known size belongs to an older content
	if res.Length >= 0 {
		p.setTotalLocked(res.Length, c)
	}
	p.mu.Unlock()
	if p.validator.Condition == "" || res.Length >= 0 && res.Length < minSavedSize {
		return nil
	}
	// Nothing else may have the validator's name: a folder there could not be replaced.
	if err := p.file.track(p.dir.RemoveAll(p.name + validatorSuffix)); err != nil {
		return err
	}
	return p.saveCheckpoint()
}

// room returns how many bytes a segment still takes, bufferSize at most. They may be
// written without mu, because a segment always keeps its next minSegment bytes.
func (p *partial) room(c *segment) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(min(c.left(), bufferSize))
}

// store writes the next bytes of a segment to the file and has them hashed. It takes b
// over. It returns how many bytes fitted the segment: those behind it may be present
// and hashed already.
func (p *partial) store(c *segment, b *buffer, hasIdleCore bool) (stored int, err error) {
	stored = min(len(b.data), p.room(c))
	b.data = b.data[:stored]
	at := c.next
	if stored > 0 {
		err = p.file.writeAt(b.data, at)
	}
	if stored == 0 || err != nil {
		p.buffers.put(b)
		return 0, err
	}
	p.mu.Lock()
	isInOrder := at == p.layout.prefix()
	p.layout.advance(c, int64(stored))
	end, isShared := p.layout.prefix(), p.hasGaps
	isDue := p.beginCheckpointIfDueLocked(int64(stored))
	p.mu.Unlock()
	if isInOrder {
		p.hasher.add(chunk{at, b}, end, isShared, hasIdleCore)
	} else {
		p.buffers.put(b)
	}
	if isDue {
		err = p.saveCheckpoint()
	}
	return stored, err
}

// endOfBody returns whether the body of a response may end where it did. If the size
// of the file was not known, it is now.
func (p *partial) endOfBody(c *segment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.layout.size == endless {
		p.setTotalLocked(c.next, c)
	}
	return c.next >= c.end
}

// restart forgets all bytes and their validator.
func (p *partial) restart() error {
	p.hasher.abandon()
	p.reset()
	if err := p.removeValidator(); err != nil {
		return err
	}
	return p.file.truncate(0)
}

// assignAll makes c the segment that is the whole of an empty file.
func (p *partial) assignAll(c *segment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*c = segment{end: endless}
	p.layout.segments = []*segment{c}
}

// minDurable is the size from which a file is made durable on its own. Smaller ones
// are left to the caller, because it is cheaper to sync many of them together.
const minDurable = 1 << 20

// finish makes a proven file read-only and, unless it is small, durable.
func (p *partial) finish() (isDurable bool, err error) {
	if err := p.file.makeReadOnly(); err != nil {
		return false, err
	}
	if isDurable = p.size() >= minDurable; isDurable {
		if err := p.file.sync(); err != nil {
			return false, err
		}
	}
	return isDurable, p.removeValidator()
}

// discardIfUseless removes the file if a later call should not continue it: if the disk
// failed, the file is too large, or it filled the disk without an announced size. On a
// full disk that also frees space.
func (p *partial) discardIfUseless(err error) error {
	_, total := p.progress()
	reason := refusal.ReasonOf(err)
	isTooLarge := reason == refusal.TooLarge || reason == refusal.NoSpace && total == endless
	if !isTooLarge && !p.file.hasFailed.Load() {
		return err
	}
	p.mu.Lock()
	p.mayBeSaved = false // or close would save a checkpoint
	p.mu.Unlock()
	if removeErr := p.remove(); removeErr != nil {
		return fmt.Errorf("%w; removing the unfinished download failed: %w", err, removeErr)
	}
	return err
}

// close ends the hash and keeps what a later call needs to continue.
func (p *partial) close() {
	p.hasher.abandon()
	p.mu.Lock()
	isStale := p.hasGaps && p.mayBeSaved && p.unsaved > 0
	p.mu.Unlock()
	if isStale {
		_ = p.saveCheckpoint() // without it, the bytes since the last one are downloaded again
	}
	p.file.close()
}

func (p *partial) removeValidator() error {
	p.mu.Lock()
	mayBeSaved := p.mayBeSaved
	p.mayBeSaved = false
	p.mu.Unlock()
	if !mayBeSaved {
		return nil
	}
	return p.file.track(p.dir.RemoveAll(p.name + validatorSuffix))
}
