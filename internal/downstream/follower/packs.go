package follower

import (
	"context"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
)

// OpenPack opens a pack of a record. Like Download, it makes one attempt.
func (c *Client) OpenPack(ctx context.Context, id manifest.ObjectID) (*transport.Response, error) {
	req := c.request("Pack", bucket.PackName(id), nil)
	req.Bulk = true
	return c.t.Open(ctx, req)
}

// OpenPack opens a pack of the mirror.
func (u *Upstream) OpenPack(ctx context.Context, id manifest.ObjectID) (*transport.Response, error) {
	return u.Mirror.OpenPack(ctx, id)
}
