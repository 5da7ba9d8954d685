package fetcher

import (
	"io"
	"os"
	"sync"

	"syncd/internal/clients/transport"
	"syncd/internal/durable"
	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

// partial is an unfinished, unverified download. Its name is the digest that it
// should come to have, so that any later sync that wants the content finds it.
type partial struct {
	path      string
	file      *os.File
	algorithm manifest.Algorithm
	buffers   *sync.Pool
	validator validator // changed by the first connection only
	isOld     bool      // it begins with bytes of an earlier call

	mu       sync.Mutex // what several connections change
	layout   layout
	follower *follower
	isUnsure bool  // the disk failed: nothing is known of the bytes
	isNoted  bool  // the validator is on disk
	hasGaps  bool  // or had: the validator tells which bytes are there
	unnoted  int64 // bytes that came since
}

// follow goes on with the hash of the file's first bytes.
func (p *partial) follow(hasher *verify.Hasher) {
	p.follower = &follower{file: p.file, buffers: p.buffers, hasher: hasher, next: hasher.Size()}
}

// forget is the state of a file that holds nothing.
func (p *partial) forget() {
	p.validator, p.isOld, p.hasGaps, p.layout = validator{}, false, false, layout{size: endless}
	p.follow(verify.NewHasher(p.algorithm))
}

func (p *partial) size() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.layout.bytes()
}

// check settles the hash of all bytes and returns the object that they are, if
// they are the expected ones.
func (p *partial) check(expected manifest.Digest) (manifest.Object, error) {
	if err := p.follower.settle(); err != nil {
		return manifest.Object{}, p.doubt(err)
	}
	return p.follower.hasher.Check(expected)
}

// hasNoGaps is true when all that is there comes first.
func (p *partial) hasNoGaps() bool { return p.layout.prefix() == p.layout.bytes() }

// isWhole is true when all bytes of a file of known size are there.
func (p *partial) isWhole() bool { return p.layout.prefix() >= p.layout.size }

// ask notes what is asked for a claim: everything up to the file's end where that
// is the claim's.
func (p *partial) ask(c *claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.asked = span{c.next, c.end}
	if c.end == p.layout.size {
		c.asked.to = endless
	}
}

// tell notes the size that an answer with the rest of the file tells.
func (p *partial) tell(c *claim, got contentRange) {
	if c.asked.to != endless {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.layout.size == endless {
		p.validator.Total = got.end + 1
		p.setSize(p.validator.Total, c)
	}
}

// setSize ends a claim to all of a file whose size was not known.
func (p *partial) setSize(size int64, c *claim) {
	p.layout.size = min(size, endless-1)
	c.end = min(c.end, p.layout.size)
}

// room is how many bytes a claim still takes, bufferSize at most. To write them
// needs no lock: a claim is cut no nearer than minSegment before it.
func (p *partial) room(c *claim) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(min(c.end-c.next, bufferSize))
}

// write puts bytes down at their place, and has the disk begin with them.
func (p *partial) write(b []byte, at int64) error {
	if _, err := p.file.WriteAt(b, at); err != nil {
		return p.doubt(err)
	}
	p.writeBack(at, at+int64(len(b))) // without mu: a busy disk makes it wait
	return nil
}

// take counts n bytes that were written for a claim, and has them hashed. keeps is
// true when b, which holds them, is needed until then. The caller holds mu.
func (p *partial) take(c *claim, b *[bufferSize]byte, n int, coreIsFree bool) (keeps bool, err error) {
	if c.next == p.follower.next {
		keeps = p.follower.take(b, n, coreIsFree || p.hasGaps) // where connections meet, none may wait for a hash
	}
	p.layout.advance(c, int64(n))
	if prefix := p.layout.prefix(); prefix > p.follower.next {
		p.follower.catchUp(prefix)
	}
	return keeps, p.noteGaps(int64(n))
}

// ended notes the end of an answer's body, which is that of the file where nobody
// told its size.
func (p *partial) ended(c *claim, res *transport.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.layout.size == endless {
		p.setSize(c.next, c)
	}
	if c.next < c.end {
		return &transport.Error{Kind: transport.Passing, Endpoint: "Download", Status: res.Status, Err: io.ErrUnexpectedEOF}
	}
	return nil
}

// writeBackEvery is how much is written before the disk is told to begin. The
// fsync at the end then finds little left to do.
const writeBackEvery = 8 << 20

// writeBack has the disk begin with each part of writeBackEvery bytes that is full.
func (p *partial) writeBack(from, to int64) {
	if end := to / writeBackEvery * writeBackEvery; end > from {
		fsops.StartWriteBack(p.file, end-writeBackEvery, writeBackEvery)
	}
}

// noteEvery is how many bytes may have to come again after a kill.
const noteEvery = 4 << 20

// noteGaps keeps on disk from time to time which bytes of a file with gaps are
// there. Without gaps its size tells.
func (p *partial) noteGaps(arrived int64) error {
	if !p.hasGaps {
		return nil
	}
	if p.unnoted += arrived; p.unnoted < noteEvery {
		return nil
	}
	return p.keepValidator()
}

// beginGaps is called before anything is written out of its order, for from then
// on the file's size says nothing.
func (p *partial) beginGaps() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasGaps {
		return nil
	}
	p.hasGaps = true
	return p.keepValidator()
}

// remember keeps the validator of a new content, on disk when the file is worth it.
func (p *partial) remember(res *transport.Response, c *claim) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.validator = validatorOf(res)
	p.layout.size, c.end = endless, endless // what was known is of another content
	if res.Length >= 0 {
		p.setSize(res.Length, c)
	}
	if p.validator.Condition == "" || res.Length >= 0 && res.Length < worthResuming {
		return nil
	}
	return p.keepValidator()
}

func (p *partial) keepValidator() error {
	v := p.validator
	if p.hasGaps {
		v.Here = append([]span{}, p.layout.here...)
	}
	p.isNoted, p.unnoted = true, 0
	return p.doubtLocked(v.keep(p.path + validatorSuffix))
}

// restart forgets every byte, and the validator of them. The file must have one
// connection only.
func (p *partial) restart() error {
	p.follower.abandon()
	p.forget()
	if err := p.removeValidator(); err != nil {
		return p.doubt(err)
	}
	return p.doubt(fsops.Truncate(p.file, 0))
}

// finish makes the proven bytes read-only and, unless they are few, durable: small
// files are made durable many at a time, by who takes them.
func (p *partial) finish() error {
	if err := fsops.Fchmod(p.file, 0o444); err != nil {
		return p.doubt(err)
	}
	if !p.isSmall() {
		if err := durable.SyncFile(p.file); err != nil {
			return p.doubt(err)
		}
	}
	return p.doubt(p.removeValidator())
}

// small is the size below which an fsync costs more than the bytes.
const small = 1 << 20

// isSmall is true when a file is not worth an fsync of its own.
func (p *partial) isSmall() bool { return p.layout.bytes() < small }

// doubt passes on an error of the file itself. Bytes that the disk refused can
// still be read, from memory, and a second fsync may call them durable: the file
// must not be used again.
func (p *partial) doubt(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doubtLocked(err)
}

func (p *partial) doubtLocked(err error) error {
	p.isUnsure = p.isUnsure || err != nil
	return err
}

func (p *partial) removeValidator() error {
	if !p.isNoted {
		return nil
	}
	p.isNoted = false
	return fsops.RemoveAll(p.path + validatorSuffix)
}

func (p *partial) close() {
	p.follower.abandon()
	if p.hasGaps && p.isNoted && p.unnoted > 0 {
		_ = p.keepValidator() // without it some bytes come again
	}
	p.file.Close()
}
