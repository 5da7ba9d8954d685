package publisher

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"syncd/internal/downstream/bucket"
)

// probe finds out once whether the server honours conditional writes (If-Match,
// If-None-Match). A server that ignores them lets two publishers overwrite each other.
func (p *Publisher) probe(ctx context.Context) error {
	if p.probed == nil {
		store := p.store
		if p.election != nil {
			store = p.election.store // nobody has the lease yet
		}
		knows, err := store.knowsConditions(ctx)
		if err != nil {
			return err
		}
		p.probed = &knows
		if !knows && p.election == nil {
			p.cfg.Log.Warn().Msg("the S3 server does not keep to conditions of writes: let no other publisher write to this bucket")
		}
	}
	if !*p.probed && p.election != nil {
		return fmt.Errorf("election: the S3 server %s does not keep to conditions of writes (If-Match, If-None-Match): use another server, or a single publisher without election", p.cfg.Place.Endpoint.Host)
	}
	return nil
}

// knowsConditions writes an object of its own under conditions that do not hold, and under
// one that does. It learns the form of ETags that the server compares.
func (s *storage) knowsConditions(ctx context.Context) (bool, error) {
	name := bucket.ProbeName(rand.Text())
	etag, err := s.put(ctx, name, []byte("{}\n"), condition{absent: true})
	if isUnknown(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = s.remove(ctx, name) }() // otherwise a later collection does
	if refuses, err := s.refuses(ctx, name, condition{absent: true}); err != nil || !refuses {
		return false, err
	}
	for _, bare := range []bool{false, true} {
		s.known.bareETags.Store(bare)
		if refuses, err := s.refuses(ctx, name, condition{etag: "00000000000000000000000000000000"}); err != nil || !refuses {
			return false, err
		}
		if refuses, err := s.refuses(ctx, name, condition{etag: etag}); err != nil || !refuses {
			return err == nil, err
		}
	}
	return false, nil
}

// refuses is true if the server refuses a write because of its condition. A server without
// conditions refuses none.
func (s *storage) refuses(ctx context.Context, name string, c condition) (bool, error) {
	_, err := s.put(ctx, name, []byte("[]\n"), c)
	if isUnknown(err) {
		return false, nil
	}
	if errors.Is(err, errChanged) {
		return true, nil
	}
	return false, err
}

// isUnknown is true for a server that says that it has no conditions.
func isUnknown(err error) bool {
	answer, ok := answerOf(err)
	return ok && (answer.StatusCode == 501 || answer.Code == "NotImplemented" || answer.Code == "InvalidArgument" || answer.Code == "InvalidRequest")
}
