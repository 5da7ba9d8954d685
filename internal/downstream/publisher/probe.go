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

// knowsConditions writes an object of its own under conditions that do not hold.
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
	for _, c := range []condition{{absent: true}, {etag: "00000000000000000000000000000000"}} {
		_, err := s.put(ctx, name, []byte("[]\n"), c)
		if err == nil || isUnknown(err) {
			return false, nil
		}
		if !errors.Is(err, errChanged) {
			return false, err
		}
	}
	_, err = s.put(ctx, name, []byte("[]\n"), condition{etag: etag})
	if errors.Is(err, errChanged) || isUnknown(err) {
		return false, nil
	}
	return err == nil, err
}

// isUnknown is true for a server that says that it has no conditions.
func isUnknown(err error) bool {
	answer, ok := answerOf(err)
	return ok && (answer.StatusCode == 501 || answer.Code == "NotImplemented" || answer.Code == "InvalidArgument" || answer.Code == "InvalidRequest")
}
