package objectstore

import (
	"context"
	"errors"
)

// KnowsConditions finds out whether the server honours conditional writes. It writes an
// object of this name, which it removes, under conditions that do not hold, and under
// one that does. It learns the form of ETags that the server compares.
func (s *Store) KnowsConditions(ctx context.Context, name string) (bool, error) {
	etag, err := s.Put(ctx, name, []byte("{}\n"), Condition{Absent: true})
	if isUnknown(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = s.Remove(ctx, name) }() // otherwise a later collection does
	if refuses, err := s.refuses(ctx, name, Condition{Absent: true}); err != nil || !refuses {
		return false, err
	}
	for _, bare := range []bool{false, true} {
		s.server.bareETags.Store(bare)
		if refuses, err := s.refuses(ctx, name, Condition{ETag: "00000000000000000000000000000000"}); err != nil || !refuses {
			return false, err
		}
		if refuses, err := s.refuses(ctx, name, Condition{ETag: etag}); err != nil || !refuses {
			return err == nil, err
		}
	}
	return false, nil
}

// refuses is true if the server refuses a write because of its condition. A server without
// conditions refuses none.
func (s *Store) refuses(ctx context.Context, name string, c Condition) (bool, error) {
	_, err := s.Put(ctx, name, []byte("[]\n"), c)
	if isUnknown(err) {
		return false, nil
	}
	if errors.Is(err, ErrChanged) {
		return true, nil
	}
	return false, err
}

// isUnknown is true for a server that says that it has no conditions.
func isUnknown(err error) bool {
	answer, ok := answerOf(err)
	return ok && (answer.StatusCode == 501 || answer.Code == "NotImplemented" || answer.Code == "InvalidArgument" || answer.Code == "InvalidRequest")
}
