package follower

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/relay"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
)

// Relay is where a client keeps what it believes, for those who follow this host.
type Relay struct {
	*relay.Folder
	Wants func(manifest string) bool // true for those that this host mirrors
	Warn  func(error)
}

// Keep makes the client keep what it believes, nothing for nil. It comes before the first
// request.
func (c *Client) Keep(r *Relay) { c.relay = r }

// keep keeps a believed generation, and the records of what this host mirrors. Those that it
// cannot have now are kept when a sync asks for them.
func (c *Client) keep(ctx context.Context, current, text []byte, g bucket.Generation) {
	if c.relay == nil {
		return
	}
	err := c.relay.Keep(current, text)
	for _, m := range g.Manifests {
		if err == nil && c.relay.Wants(m.Name) && c.relay.Lacks(m) {
			err = c.keepRecord(ctx, m)
		}
	}
	if err != nil && ctx.Err() == nil {
		c.relay.Warn(err)
	}
}

// keepRecord fetches the text of a record, and keeps it if it is the one that is named.
func (c *Client) keepRecord(ctx context.Context, m bucket.Manifest) error {
	req := c.request("Record", m.Record(), nil)
	req.Limit = record.Limit(m.Files)
	return c.t.Read(ctx, req, func(res *transport.Response) error {
		return c.relay.KeepRecord(m, func(to io.Writer) error {
			sum := sha256.New()
			if _, err := io.Copy(io.MultiWriter(to, sum), res.Body); err != nil {
				return err
			}
			if actual := manifest.ObjectID(sum.Sum(nil)); actual != m.RecordSHA256 {
				return c.refuse(refusal.HashMismatch, &bucket.OtherRecordError{Record: m.Record(), Actual: actual.String(), Expected: m.RecordSHA256.String()})
			}
			return nil
		})
	})
}

// keptRecord reads the record of a manifest that is kept, or can be.
func (c *Client) keptRecord(ctx context.Context, m bucket.Manifest) (read record.Record, err error) {
	if c.relay == nil || !c.relay.Wants(m.Name) {
		return read, errNotKept
	}
	if c.relay.Lacks(m) {
		if err := c.keepRecord(ctx, m); err != nil {
			return read, err
		}
	}
	text, err := c.relay.Record(m.RecordSHA256)
	if err != nil {
		return read, err
	}
	defer text.Close()
	if read, err = bucket.ReadRecord(m, text); err != nil {
		err = fmt.Errorf("%w: the kept text of %s: %w", errNotKept, m.Record(), err)
	}
	return read, err
}

// isOurs is true for an error of this host, where the upstream has the record.
func isOurs(err error) bool {
	_, isDisk := errors.AsType[*fs.PathError](err)
	return isDisk || errors.Is(err, errNotKept)
}

var errNotKept = errors.New("it is kept for nobody")
