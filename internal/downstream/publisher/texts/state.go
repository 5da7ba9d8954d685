package texts

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/manifest"
)

// State is what current.json leads to. The zero value is an empty bucket.
type State struct {
	bucket.Current                   // what a publisher goes on from
	Shown          bucket.Current    // what followers see, while that waits for signatures
	ETag           string            // of current.json
	Present        bucket.Generation // the zero value if it is missing or damaged
	IsCut          bool              // Present lacks what the publisher must not go on from
}

// ReadState is what a text of current.json leads a publisher to: where signatures are collected,
// the generation that waits for them.
func ReadState(c bucket.Current, etag string) State {
	at := State{Current: c, Shown: c, ETag: etag}
	if c.Next.Generation >= c.Generation {
		at.Generation, at.SHA256, at.Statement = c.Next.Generation, c.Next.SHA256, c.Next.Statement
	}
	return at
}

// ID tells a generation from one that another publisher wrote at its number.
type ID struct {
	Number int
	Sum    manifest.ObjectID
}

// ID is what current.json names.
func (s State) ID() ID { return ID{s.Generation, s.SHA256} }

// NextEpoch is that of the next generation, unless it begins another one.
func (s State) NextEpoch() int64 { return max(s.Epoch, s.Present.Epoch) }

// BeganAt is when the bucket began.
func (s State) BeganAt() int64 { return max(s.Began, s.Present.Began) }

// IsWaiting is true while followers see another generation than the one that collects signatures.
func (s State) IsWaiting() bool {
	return s.Shown.Generation != 0 && (s.Shown.Generation != s.Generation || s.Shown.SHA256 != s.SHA256)
}

// Standing is what a current.json names; nothing if it is damaged.
func (s *Storage) Standing(ctx context.Context, current string) (at State, err error) {
	text, _, err := s.ReadText(ctx, current)
	if err != nil {
		return at, err
	}
	if parsed, err := bucket.ParseCurrent(text); err == nil {
		at = ReadState(parsed, "")
	}
	return at, nil
}

// ReadCurrent reads a current.json and its generation.
func (s *Storage) ReadCurrent(ctx context.Context, current string, log *zerolog.Logger) (State, error) {
	text, found, err := s.ReadText(ctx, current)
	if errors.Is(err, objectstore.ErrNotThere) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	parsed, err := bucket.ParseCurrent(text)
	if err != nil && current != bucket.CurrentName {
		err = fmt.Errorf("%s: %w", current, err)
	}
	if err != nil {
		return State{}, fmt.Errorf("%w: delete it to publish again, if no newer syncd wrote it", err)
	}
	at := ReadState(parsed, found.ETag)
	at.Present, _, err = s.ReadGeneration(ctx, at.Generation, at.SHA256)
	if errors.Is(err, ErrUnusable) {
		log.Warn().Ctx(ctx).Err(err).Int("generation", at.Generation).Msg("the bucket's generation is damaged or missing: it is published again")
		err = nil
	}
	return at, err
}

// LookAt reads a text that may be missing.
func LookAt[T any](ctx context.Context, s *Storage, name string, parse func([]byte) (T, error)) (value T, err error) {
	text, _, err := s.ReadText(ctx, name)
	if errors.Is(err, objectstore.ErrNotThere) {
		return value, nil
	}
	if err != nil {
		return value, err
	}
	return parse(text)
}

// ReadPatchList reads a list of patches, which is empty if there is none.
func (s *Storage) ReadPatchList(ctx context.Context, name string) (bucket.PatchList, error) {
	return LookAt(ctx, s, name, func(text []byte) (list bucket.PatchList, err error) {
		if list, err = bucket.ParsePatchList(name, text); err != nil {
			err = fmt.Errorf("%w: %w", ErrUnusable, err)
		}
		return list, err
	})
}
