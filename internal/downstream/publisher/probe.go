package publisher

import (
	"context"
	"crypto/rand"
	"fmt"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/publisher/texts"
)

// probe finds out once whether the server honours conditional writes (If-Match,
// If-None-Match). A server that ignores them lets two publishers overwrite each other.
func (p *Publisher) probe(ctx context.Context) error {
	if p.probed == nil {
		store := p.store
		if p.election != nil {
			store = &texts.Storage{Store: p.election.Store} // nobody has the lease yet
		}
		knows, err := store.KnowsConditions(ctx, bucket.ProbeName(rand.Text()))
		if err != nil {
			return err
		}
		p.probed = &knows
		if !knows && p.election == nil {
			p.cfg.Log.Warn().Ctx(ctx).Msg("the S3 server does not keep to conditions of writes: let no other publisher write to this bucket")
		}
	}
	if !*p.probed && p.election != nil {
		return fmt.Errorf("election: the S3 server %s does not keep to conditions of writes (If-Match, If-None-Match): use another server, or a single publisher without election", p.cfg.Place.Endpoint.Host)
	}
	return nil
}
