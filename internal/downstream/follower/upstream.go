package follower

import (
	"context"
	"net/http"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
)

// Upstream is the client of the provider, or of another syncd in its place: that answers in
// the provider's wire format and, if it is not of an earlier version, has a mirror. Safe for
// concurrent use.
type Upstream struct {
	*releases.Client
	Mirror *Client
}

// NewUpstream returns a client that sends its requests through t.
func NewUpstream(t *transport.Client) *Upstream {
	return &Upstream{Client: releases.New(t), Mirror: New(t, Below(false)...)}
}

// Download opens a file of a record by its content, and others by their reference.
func (u *Upstream) Download(ctx context.Context, file manifest.File, header http.Header, isBulk bool) (*transport.Response, error) {
	if file.InRecord {
		return u.Mirror.Download(ctx, file, header, isBulk)
	}
	return u.Client.Download(ctx, file, header, isBulk)
}
