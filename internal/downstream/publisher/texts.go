package publisher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// storage is the object store of a publication: it reads and writes the texts.
type storage struct{ *objectstore.Store }

// connect returns the storage at a place. It makes no request.
func connect(place objectstore.Place, mayWrite func() error, server *objectstore.Server) (*storage, error) {
	s, err := place.Connect(mayWrite, server)
	return &storage{s}, err
}

// text reads a text.
func (s *storage) text(ctx context.Context, name string) ([]byte, objectstore.Info, error) {
	return s.Text(ctx, name, bucket.MaxText)
}

// state is what current.json leads to. The zero value is an empty bucket.
type state struct {
	bucket.Current                // what this publisher goes on from
	shown          bucket.Current // what followers see, while that waits for signatures
	etag           string
	generation     bucket.Generation // the zero value if it is missing or damaged
	isCut          bool              // generation lacks what this host must not go on from
}

// generationID tells a generation from one that another publisher wrote at its number.
type generationID struct {
	number int
	sum    manifest.ObjectID
}

// id is what current.json names.
func (s state) id() generationID { return generationID{s.Generation, s.SHA256} }

// epoch is that of the next generation, unless it begins another one.
func (s state) epoch() int64 { return max(s.Epoch, s.generation.Epoch) }

// began is when the bucket began.
func (s state) began() int64 { return max(s.Began, s.generation.Began) }

// readCurrent reads current.json and its generation.
func (p *Publisher) readCurrent(ctx context.Context) (state, error) {
	text, found, err := p.store.text(ctx, bucket.CurrentName)
	if errors.Is(err, objectstore.ErrNotThere) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	current, err := bucket.ParseCurrent(text)
	if err != nil {
		return state{}, fmt.Errorf("%w: delete it to publish again, if no newer syncd wrote it", err)
	}
	at := readState(current, found.ETag)
	at.generation, _, err = p.store.readGeneration(ctx, at.Generation, at.SHA256)
	if errors.Is(err, errUnusable) {
		p.cfg.Log.Warn().Ctx(ctx).Err(err).Int("generation", at.Generation).Msg("the bucket's generation is damaged or missing: it is published again")
		err = nil
	}
	return at, err
}

// errUnusable says that a text in the bucket is missing or damaged.
var errUnusable = errors.New("cannot be used")

// readGeneration reads a generation. It must have the SHA-256 sum, unless that is zero.
func (s *storage) readGeneration(ctx context.Context, number int, sum manifest.ObjectID) (bucket.Generation, objectstore.Info, error) {
	text, found, err := s.text(ctx, bucket.GenerationName(number))
	if errors.Is(err, objectstore.ErrNotThere) {
		return bucket.Generation{}, found, fmt.Errorf("%w: %w", errUnusable, err)
	}
	if err != nil {
		return bucket.Generation{}, found, err
	}
	g, err := bucket.ParseGeneration(number, text)
	if actual := manifest.ObjectID(sha256.Sum256(text)); err == nil && !sum.IsZero() && actual != sum {
		g, err = bucket.Generation{}, fmt.Errorf("%s has sha256 %s, but %s says %s", bucket.GenerationName(number), actual, bucket.CurrentName, sum)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnusable, err)
	}
	return g, found, err
}

// readRecord reads the record of a manifest of a generation.
func (s *storage) readRecord(ctx context.Context, of bucket.Manifest) (read record.Record, err error) {
	_, err = s.Read(ctx, of.Record(), func(from io.Reader) error {
		if read, err = bucket.ReadRecord(of, from); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return &objectstore.LocalError{Err: fmt.Errorf("%w: %w", errUnusable, err)}
		}
		return err
	})
	return read, err
}

// writeRecord writes a record: the first pass over it took its size and sum, each further
// one sends it.
func (s *storage) writeRecord(ctx context.Context, text bucket.RecordText) error {
	var last *io.PipeReader
	defer func() { _ = last.Close() }()
	name := bucket.ManifestOf(text.Record).Record()
	err := s.PutStream(ctx, name, text.Size, text.Sum, func() (io.Reader, error) {
		if last != nil {
			_ = last.Close() // ends the writer of the attempt before
		}
		from, to := io.Pipe()
		go func() { to.CloseWithError(bucket.WriteRecord(to, text.Record)) }() // ends with last
		last = from
		return from, nil
	})
	if err != nil {
		return err
	}
	return s.see(ctx, name, text.Size, text.Sum)
}

// see looks for what was just written. A server can say that it took what it does not have,
// and a generation must not name that.
func (s *storage) see(ctx context.Context, name string, size int64, sum manifest.ObjectID) error {
	found, err := s.Head(ctx, name)
	if errors.Is(err, objectstore.ErrNotThere) || err == nil && found.IsOther(size, sum) {
		return fmt.Errorf("the server said that it took %s, and does not have it, or has it with other bytes: nothing is published; look for errors of the server", name)
	}
	return err
}

// Bounds of the search for a free number.
const (
	maxNumbers = 100
	maxGap     = 1 << 20 // a number further on is not of a publisher, and would end the counting
)

// writeGeneration writes a generation and lets current.json name it. Its number and its
// epoch are above those that this host knows, also where the bucket lost them.
func (p *Publisher) writeGeneration(ctx context.Context, at state, n next, beginsEpoch bool) (g bucket.Generation, written generationID, err error) {
	if at.generation.Publisher == p.identity.Name() && !p.identity.Wrote(at.SHA256) {
		p.forgetName()
	}
	past := p.past.Load()
	began := p.beganOf(at)
	g = bucket.Generation{
		Previous: at.Generation, Fence: p.fenceFor(at), Began: began, Epoch: max(at.epoch(), past.epochIn(began)), Count: bucket.CountBucket, Publisher: p.identity.Name(),
		PublishedAt: time.Now().UTC().Truncate(time.Second), Version: p.cfg.Version, Manifests: n.manifests, Destruction: n.destruction,
	}
	if beginsEpoch {
		g.Epoch++
	}
	if g.Epoch > bucket.MaxEpoch {
		return g, written, fmt.Errorf("%s has epoch %d, and there is none after it: delete it to begin again, and run `syncd sync --force` on the followers", bucket.CurrentName, at.epoch())
	}
	least := at.Generation
	if past.Generation < least+maxGap {
		least = max(least, past.Generation)
	}
	first, err := p.store.freeNumber(ctx, least+1)
	if err != nil {
		return g, written, err
	}
	for g.Number = first; g.Number < first+maxNumbers; g.Number++ {
		err := p.writeNew(ctx, bucket.GenerationName(g.Number), g.Text())
		if errors.Is(err, objectstore.ErrChanged) { // another publisher's, or one that was never finished
			continue
		}
		if err != nil {
			return g, written, err
		}
		written = generationID{g.Number, sha256.Sum256(g.Text())}
		if err := p.store.see(ctx, bucket.GenerationName(g.Number), int64(len(g.Text())), written.sum); err != nil {
			return g, written, err
		}
		if err := p.identity.Remember(written.sum); err != nil {
			p.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("keeping what this host published failed; after the next start it counts as another publisher's")
		}
		return g, written, p.writeCurrent(ctx, at, written, g)
	}
	return g, written, fmt.Errorf("%d generations after %d are in the bucket and in no list of it: try again later", maxNumbers, first)
}

// forgetName takes another name, because another host of the same image or backup has this
// one.
func (p *Publisher) forgetName() {
	shared := p.identity.Name()
	if err := p.identity.Renew(); err != nil {
		p.cfg.Log.Warn().Err(err).Msg("keeping the publisher's name failed; after the next start it has another one")
	}
	p.cfg.Log.Warn().Str("publisher", p.identity.Name()).Msgf("another host publishes to this bucket as %s: this one has a new name", shared)
}

// freeNumber is the number after those in a list, which may be stale.
func (s *storage) freeNumber(ctx context.Context, least int) (int, error) {
	most := least + maxGap
	err := s.List(ctx, bucket.Generations, func(o objectstore.Listed) {
		if number, ok := bucket.ParseGenerationName(o.Name); ok && number < most {
			least = max(least, number+1)
		}
	})
	return least, err
}

// writeNew writes a text that is not there yet. objectstore.ErrChanged says that another one is.
func (p *Publisher) writeNew(ctx context.Context, name string, text []byte) error {
	_, err := p.store.Put(ctx, name, text, when(p.probed, objectstore.Condition{Absent: true}))
	return p.store.settle(ctx, name, text, err)
}

// settle finds out whether a write that met another text was done by an attempt whose
// answer was lost.
func (s *storage) settle(ctx context.Context, name string, text []byte, err error) error {
	if !errors.Is(err, objectstore.ErrChanged) {
		return err
	}
	there, _, readErr := s.text(ctx, name)
	if readErr == nil && bytes.Equal(there, text) {
		return nil
	}
	return err
}

// writeCurrent lets current.json name a generation, in the place of the one that was read.
func (p *Publisher) writeCurrent(ctx context.Context, at state, to generationID, of bucket.Generation) error {
	c := objectstore.Condition{ETag: at.etag}
	if at.etag == "" {
		c = objectstore.Condition{Absent: true}
	}
	current := bucket.Current{
		Generation: to.number, SHA256: to.sum, Fence: p.fenceFor(at), Epoch: of.Epoch, Began: of.Began, Count: bucket.CountBucket, Publisher: p.identity.Name(), PublishedAt: time.Now().UTC(),
	}
	if err := p.sign(ctx, at, &current); err != nil {
		return err
	}
	_, err := p.store.Put(ctx, bucket.CurrentName, current.Text(), when(p.probed, c))
	if err = p.store.settle(ctx, bucket.CurrentName, current.Text(), err); err == nil {
		p.statement = readState(current, "").Statement
	}
	return err
}

// when is a condition, if the server knows conditions; nil if that was not tried.
func when(isKnown *bool, c objectstore.Condition) objectstore.Condition {
	if isKnown != nil && !*isKnown {
		return objectstore.Anything
	}
	return c
}
