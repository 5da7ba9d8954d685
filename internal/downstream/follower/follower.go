package follower

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
)

// Client reads a mirror. It returns the errors of transport.Client; a text that cannot be
// used is a refusal. Safe for concurrent use.
type Client struct {
	t       *transport.Client
	root    []string // segments before each name
	ring    string   // of a bucket, whose current.json is read; "" for the last one
	hasRing bool     // what is for another ring is refused

	turn    *semaphore.Weighted // one call of Generation has it; it owns what follows
	etag    string              // of current.json
	current bucket.Current
	newest  bucket.Generation // that current names
	text    []byte            // of newest, until it is kept

	memory   Memory // nil for none
	source   string // as memory knows it
	recalled recalled
	isKnown  bool // an earlier process read the mirror

	believer *believer.Believer // nil without a trust file
	count    believer.Count     // of the generations that it judges
	relay    *Relay             // nil if nothing is kept
	patches  patches
}

// New returns a client that sends its requests through t. Its base is the bucket with the
// prefix or, with the segments of Below, another syncd.
func New(t *transport.Client, root ...string) *Client {
	return &Client{t: t, root: root, turn: semaphore.NewWeighted(1)}
}

// Believe makes the client refuse everything that b does not believe, nothing for nil. Its
// generations are of a count. It comes before the first request.
func (c *Client) Believe(b *believer.Believer, count believer.Count) { c.believer, c.count = b, count }

// In makes the client of a bucket read what a ring sees, "" for the last one. It comes before the
// first request.
func (c *Client) In(ring string) { c.ring, c.hasRing = ring, !c.IsHost() }

// IsHost is true for the mirror of another syncd.
func (c *Client) IsHost() bool { return len(c.root) > 0 }

// maxETag limits an ETag in bytes. Servers refuse requests with large headers, so every later
// request with a very long one would fail.
const maxETag = 1 << 10

// Below are the segments below which another syncd serves its mirror. A bucket has none.
func Below(isBucket bool) []string {
	if isBucket {
		return nil
	}
	return []string{"-", "mirror"}
}

// Generation returns the generation that current.json names. If current.json did not change
// since the last call, this takes one conditional request. It tells an upstream that is a
// syncd the state of the context's releases.Talk.
func (c *Client) Generation(ctx context.Context) (bucket.Generation, error) {
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return bucket.Generation{}, context.Cause(ctx)
	}
	defer c.turn.Release(1)
	header := http.Header{}
	if c.etag != "" {
		header.Set("If-None-Match", c.etag)
	}
	req := c.request("Current", bucket.RingCurrentName(c.ring), header)
	req.State, req.IsKnown = releases.TalkIn(ctx).State, c.isKnown
	res, text, err := c.t.Do(ctx, req)
	if err == nil && c.IsHost() && c.believer == nil && !res.IsUpstream {
		err = errNoSyncd(req, res.Status)
	}
	if err != nil {
		return bucket.Generation{}, c.explain(err)
	}
	isFirst := c.current == bucket.Current{}
	var current bucket.Current
	switch {
	case res.Status != http.StatusNotModified:
		if current, err = bucket.ParseCurrent(text); err != nil {
			return bucket.Generation{}, c.refuse(refusal.BadShape, err)
		}
	case isFirst:
		current, text = c.recalled.current, c.recalled.Current
	default:
		current = c.current
	}
	if !isFirst && current == c.current { // also if the store has no ETags
		return c.newest, c.isFresh()
	}
	if c.newest, err = c.read(ctx, current, text); err != nil {
		c.etag, c.current = "", bucket.Current{}
		return bucket.Generation{}, err
	}
	if c.current = current; res.Status != http.StatusNotModified {
		if c.etag = res.Header.Get("ETag"); len(c.etag) > maxETag {
			c.etag = ""
		}
		c.note(text)
	}
	return c.newest, nil
}

// errNoSyncd is the error of an answer about what another syncd serves, if none gave it. Such a
// generation could order to destroy data.
func errNoSyncd(req transport.Request, status int) error {
	return &transport.Error{Kind: transport.NotFound, Endpoint: req.Endpoint, Path: "/" + strings.Join(req.Segments, "/"), Status: status,
		Err: errors.New("the answer is not of the syncd that source.url names")}
}

// explain says what a trust file needs where there is no mirror at all.
func (c *Client) explain(err error) error {
	if failed, ok := errors.AsType[*transport.Error](err); ok && failed.Kind == transport.NotFound && c.IsHost() && c.believer != nil {
		return fmt.Errorf("%w: with source.trust_file, source.url must name a syncd of version 0.2.0 or later that signs, or passes signed texts on, and has some by now", err)
	}
	return err
}

// isFresh refuses what was believed when it has expired since.
func (c *Client) isFresh() error {
	if c.believer == nil {
		return nil
	}
	return c.believer.Fresh()
}

// trustText reads a version of the trust text.
func (c *Client) trustText(ctx context.Context, version int) ([]byte, error) {
	req := c.request("Trust", bucket.TrustName(version), nil)
	req.Limit = trust.MaxText
	_, text, err := c.t.Do(ctx, req)
	if answer, ok := errors.AsType[*transport.Error](err); ok && answer.Kind == transport.NotFound {
		err = c.refuse(refusal.BadTrust, err)
	}
	return text, err
}

// read reads the generation that current names, and named is its text.
func (c *Client) read(ctx context.Context, current bucket.Current, named []byte) (bucket.Generation, error) {
	if c.believer != nil {
		if err := c.believer.Current(ctx, c.count, current, c.trustText); err != nil {
			return bucket.Generation{}, err
		}
	}
	if current.Generation == c.current.Generation && current.SHA256 == c.current.SHA256 && c.etag != "" {
		return c.newest, c.believes(ctx, c.newest, named, nil) // only its statement is another one
	}
	name := bucket.GenerationName(current.Generation)
	text, err := c.generationText(ctx, current, name)
	if err != nil {
		return bucket.Generation{}, err
	}
	if sum := manifest.ObjectID(sha256.Sum256(text)); sum != current.SHA256 {
		return bucket.Generation{}, c.refuse(refusal.HashMismatch, fmt.Errorf("%s has sha256 %s, but %s says %s", name, sum, bucket.CurrentName, current.SHA256))
	}
	generation, err := bucket.ParseGeneration(current.Generation, text)
	if err != nil {
		return bucket.Generation{}, c.refuse(refusal.BadShape, err)
	}
	c.text = text
	return generation, c.believes(ctx, generation, named, text)
}

// generationText is the text of a generation, as an earlier process read it or the mirror has
// it.
func (c *Client) generationText(ctx context.Context, current bucket.Current, name string) ([]byte, error) {
	if known := c.recalled; known.current.SHA256 == current.SHA256 && known.Generation != nil {
		return known.Generation, nil
	}
	_, text, err := c.t.Do(ctx, c.request("Generation", name, nil))
	return text, err
}

// believes refuses a generation whose statement was believed, but which must not be used. It
// keeps the others.
func (c *Client) believes(ctx context.Context, g bucket.Generation, named, text []byte) error {
	if c.believer == nil {
		return nil
	}
	if c.hasRing && !g.IsFor(c.ring) { // whoever writes the bucket may have exchanged two
		return refusal.New(refusal.BadSignature, "%s of the bucket names generation %d, which is signed for the ring %s: this host sees another one", bucket.RingCurrentName(c.ring), g.Number, g.Ring)
	}
	err := c.believer.Generation(c.count, g)
	if err == nil {
		c.keep(ctx, named, text, g)
	}
	return err
}

// Record returns the record of a manifest of a generation.
func (c *Client) Record(ctx context.Context, m bucket.Manifest) (read record.Record, err error) {
	if read, err = c.keptRecord(ctx, m); err == nil || !isOurs(err) {
		return read, err
	}
	req := c.request("Record", m.Record(), nil)
	req.Limit = record.Limit(m.Files)
	err = c.t.Read(ctx, req, func(res *transport.Response) (err error) {
		body := &failures{from: res.Body}
		if read, err = bucket.ReadRecord(m, body); body.err != nil {
			return body.err // the parser's error follows from this one
		}
		var other *bucket.OtherRecordError
		switch {
		case errors.As(err, &other):
			return c.refuse(refusal.HashMismatch, err)
		case err != nil:
			return c.refuse(refusal.BadShape, err)
		}
		return nil
	})
	return read, err
}

// failures keeps the error that a body ended with, which a parser may hide.
type failures struct {
	from io.Reader
	err  error
}

func (f *failures) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped one is a failure
		f.err = err
	}
	return n, err
}

// Download opens the object of a file by its SHA-256, or makes it of a patch. It makes one
// attempt: the caller retries with Retry and closes the body.
func (c *Client) Download(ctx context.Context, file manifest.File, header http.Header, isBulk bool) (*transport.Response, error) {
	id, isObject := file.Expected.ObjectID()
	if !isObject {
		return nil, refusal.New(refusal.BadShape, "a bucket has objects by their SHA-256 only, not by %s", file.Expected)
	}
	if res, err := c.openPatched(ctx, id, header, isBulk); res != nil || err != nil {
		return res, err
	}
	res, err := c.openWhole(ctx, id, header, isBulk)
	if !c.patches.reconsider(id, err == nil) || err != nil {
		return res, err
	}
	if made, _ := c.openPatched(ctx, id, header, isBulk); made != nil {
		res.Body.Close()
		return made, nil
	}
	return res, nil
}

// openWhole opens an object.
func (c *Client) openWhole(ctx context.Context, id manifest.ObjectID, header http.Header, isBulk bool) (*transport.Response, error) {
	req := c.request("Download", bucket.ObjectName(id), header)
	req.Bulk = isBulk
	res, err := c.t.Open(ctx, req)
	if err == nil && res.Header.Get("Content-Encoding") == uploadEncoding {
		res.Header.Del("Content-Encoding")
	}
	return res, err
}

// uploadEncoding is how clients upload with a signature for each chunk. Some servers repeat
// it with a download, whose bytes are not encoded.
const uploadEncoding = "aws-chunked"

// Retry runs op as transport.Client.Retry does, for downloads.
func (c *Client) Retry(ctx context.Context, op func(progress func()) error) error {
	return c.t.Retry(ctx, "Download", op)
}

// Close closes idle connections.
func (c *Client) Close() { c.t.Close() }

// request is one for a text of bounded size, or for an object.
func (c *Client) request(endpoint, name string, header http.Header) transport.Request {
	return transport.Request{Endpoint: endpoint, Segments: slices.Concat(c.root, strings.Split(name, "/")), Header: header, Limit: bucket.MaxText}
}

// refuse returns the error of a text that cannot be used.
func (c *Client) refuse(reason refusal.Reason, err error) error {
	return &refusal.Error{Reason: reason, Err: err}
}
