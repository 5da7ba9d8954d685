package texts

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

// Storage is an object store whose texts are read and written. Safe for concurrent use.
type Storage struct{ *objectstore.Store }

// Connect returns the storage at a place. It makes no request.
func Connect(place objectstore.Place, mayWrite func() error, server *objectstore.Server) (*Storage, error) {
	s, err := place.Connect(mayWrite, server)
	return &Storage{s}, err
}

// ReadText reads a text.
func (s *Storage) ReadText(ctx context.Context, name string) ([]byte, objectstore.Info, error) {
	return s.Text(ctx, name, bucket.MaxText)
}

// ErrUnusable says that a text in the bucket is missing or damaged.
var ErrUnusable = errors.New("cannot be used")

// ReadGeneration reads a generation. It must have the SHA-256 sum, unless that is zero.
func (s *Storage) ReadGeneration(ctx context.Context, number int, sum manifest.ObjectID) (bucket.Generation, objectstore.Info, error) {
	text, found, err := s.ReadText(ctx, bucket.GenerationName(number))
	if errors.Is(err, objectstore.ErrNotThere) {
		return bucket.Generation{}, found, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if err != nil {
		return bucket.Generation{}, found, err
	}
	g, err := bucket.ParseGeneration(number, text)
	if actual := manifest.ObjectID(sha256.Sum256(text)); err == nil && !sum.IsZero() && actual != sum {
		g, err = bucket.Generation{}, fmt.Errorf("%s has sha256 %s, but %s says %s", bucket.GenerationName(number), actual, bucket.CurrentName, sum)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return g, found, err
}

// EachKept calls use for each generation that followers may still read: the present one, and each
// that was present until it was replaced by one that is not old yet.
func (s *Storage) EachKept(ctx context.Context, at State, isOld func(written time.Time) bool, use func(bucket.Generation) error) error {
	for number := at.Generation; number > 0; {
		g, found, err := s.ReadGeneration(ctx, number, manifest.ObjectID{})
		if errors.Is(err, objectstore.ErrNotThere) && number != at.Generation {
			return nil // it was deleted before
		}
		if err == nil {
			err = use(g)
		}
		if err != nil || isOld(found.Written) && number <= at.Shown.Generation {
			return err
		}
		number = g.Previous
	}
	return nil
}

// ReadRecord reads the record of a manifest of a generation.
func (s *Storage) ReadRecord(ctx context.Context, of bucket.Manifest) (read record.Record, err error) {
	_, err = s.Read(ctx, of.Record(), func(from io.Reader) error {
		if read, err = bucket.ReadRecord(of, from); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return &objectstore.LocalError{Err: fmt.Errorf("%w: %w", ErrUnusable, err)}
		}
		return err
	})
	return read, err
}

// WriteRecord writes a record: the first pass over it took its size and sum, each further
// one sends it.
func (s *Storage) WriteRecord(ctx context.Context, text bucket.RecordText) error {
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
	return s.See(ctx, name, text.Size, text.Sum)
}

// See looks for what was just written. A server can say that it took what it does not have,
// and a generation must not name that.
func (s *Storage) See(ctx context.Context, name string, size int64, sum manifest.ObjectID) error {
	found, err := s.Head(ctx, name)
	if errors.Is(err, objectstore.ErrNotThere) || err == nil && found.IsOther(size, sum) {
		return fmt.Errorf("the server said that it took %s, and does not have it, or has it with other bytes: nothing is published; look for errors of the server", name)
	}
	return err
}

// MaxGap is how far beyond the newest generation numbers are looked for: one further on is not of
// a publisher, and would end the counting.
const MaxGap = 1 << 20

// FreeNumber is the number after those in a list, which may be stale.
func (s *Storage) FreeNumber(ctx context.Context, least int) (int, error) {
	most := least + MaxGap
	err := s.List(ctx, bucket.Generations, func(o objectstore.Listed) {
		if number, ok := bucket.ParseGenerationName(o.Name); ok && number < most {
			least = max(least, number+1)
		}
	})
	return least, err
}

// Settle finds out whether a write that met another text was done by an attempt whose
// answer was lost.
func (s *Storage) Settle(ctx context.Context, name string, text []byte, err error) error {
	if !errors.Is(err, objectstore.ErrChanged) {
		return err
	}
	there, _, readErr := s.ReadText(ctx, name)
	if readErr == nil && bytes.Equal(there, text) {
		return nil
	}
	return err
}
