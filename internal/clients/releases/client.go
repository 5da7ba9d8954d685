// Package releases is the client of the file release service and its 20 endpoints,
// which docs/wire/releases.md describes. It asks for JSON, but reads every list format
// of the service, because a proxy or an older server may ignore the format parameter.
package releases

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/refusal"
)

// Limits of response bodies, in bytes. A larger body is refused.
const (
	maxList     = 64 << 20
	maxHash     = 4 << 10
	maxMetadata = 64 << 10
)

// jsonFormat is the query of every request except downloads.
var jsonFormat = url.Values{"format": {"json"}}

// maxEntries limits the entries of a list, because each file costs at least one request.
const maxEntries = 250_000

// Client calls the release service. Its errors are those of transport.Client; a body
// that cannot be used is a *transport.Error of kind Malformed with a refusal as its
// cause. Safe for concurrent use.
type Client struct{ t *transport.Client }

// New returns a client that sends its requests through t.
func New(t *transport.Client) *Client { return &Client{t: t} }

// Validators make a later request conditional. An empty one is not sent.
type Validators struct {
	ETag         string
	LastModified string
}

func (v Validators) header() http.Header {
	h := http.Header{}
	if v.ETag != "" {
		h.Set("If-None-Match", v.ETag)
	}
	if v.LastModified != "" {
		h.Set("If-Modified-Since", v.LastModified)
	}
	return h
}

// BrowseURL returns the address of the service's web page; all arguments may be
// empty. It holds the Customer ID, which the page needs: never print it.
func (c *Client) BrowseURL(manifestName, release, sort string) *url.URL {
	query := url.Values{}
	for name, value := range map[string]string{"mft": manifestName, "release": release, "sort": sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return c.t.URL(transport.Request{Endpoint: "Browse", Segments: []string{"Browse"}, Query: query})
}

// ManifestReleases returns the ids of all releases of a manifest as the service sends
// them: possibly unsorted, repeated or in an unknown form. since may hold the
// validators of an earlier call. If nothing changed since then, notModified is true and
// ids is empty.
func (c *Client) ManifestReleases(ctx context.Context, name string, since Validators) (ids []string, now Validators, notModified bool, err error) {
	res, ids, err := c.list(ctx, "ManifestReleases", since.header(), "ManifestReleases", name)
	if err != nil {
		return nil, Validators{}, false, err
	}
	if res.Status == http.StatusNotModified {
		return nil, since, true, nil
	}
	for i := range ids {
		ids[i] = c.redacted(ids[i])
	}
	return ids, Validators{ETag: validator(res, "ETag"), LastModified: validator(res, "Last-Modified")}, false, nil
}

// maxValidator limits a validator in bytes. Servers refuse requests with large headers,
// so every later request with a very long validator would fail.
const maxValidator = 1 << 10

func validator(res *transport.Response, name string) string {
	if v := res.Header.Get(name); len(v) <= maxValidator {
		return v
	}
	return ""
}

// maxText limits a text of the provider that callers may show, in bytes.
const maxText = 1000

// redacted returns a text of the provider without the Customer ID and limited in length.
func (c *Client) redacted(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return c.t.Redactor().String(text)
}

// FileReleases returns the ids of all releases of a file. It ignores ref.Release.
func (c *Client) FileReleases(ctx context.Context, ref manifest.Reference) ([]string, error) {
	segments := append([]string{"Releases", string(ref.Class)}, ref.FileSegments()...)
	_, ids, err := c.list(ctx, "Releases", nil, segments...)
	for i := range ids {
		ids[i] = c.redacted(ids[i])
	}
	return ids, err
}

// Manifest returns the files of a manifest's release. One unusable link refuses the
// whole list. An empty list is no error.
func (c *Client) Manifest(ctx context.Context, release manifest.Release, name string) ([]manifest.Reference, error) {
	_, links, err := c.list(ctx, "Manifest", nil, "Manifest", string(release), name)
	if err != nil {
		return nil, err
	}
	var refs []manifest.Reference
	if err = c.stripQueries(links); err == nil {
		refs, err = manifest.ParseLinks(links)
	}
	if err != nil {
		return nil, c.refuse("Manifest", err, "Manifest", string(release), name)
	}
	return refs, nil
}

// maxLink limits a link in bytes; real ones have about a hundred.
const maxLink = 8 << 10

// stripQueries removes the query of each link, where the provider puts the Customer
// ID. A link with the ID in its path is refused: as part of a file's name it would be
// stored on disk and in every record.
func (c *Client) stripQueries(links []string) error {
	for i, link := range links {
		if len(link) > maxLink {
			return refusal.New(refusal.BadShape, "entry %d of the list has %d bytes: a link has at most %d", i+1, len(link), maxLink)
		}
		if cut := strings.IndexAny(link, "?#"); cut >= 0 {
			links[i] = link[:cut]
		}
		if c.t.HoldsID(links[i]) {
			return refusal.New(refusal.BadName, "entry %d of the list has the Customer ID in its path", i+1)
		}
	}
	return nil
}

// Entry is one manifest of a release.
type Entry struct {
	Name        string `json:"manifestName" xml:"manifestName"`
	Description string `json:"description" xml:"description"`
	URL         string `json:"url" xml:"url"` // without the Customer ID; may name an older release
}

// ManifestList returns the manifests that are available for a release.
func (c *Client) ManifestList(ctx context.Context, release manifest.Release) ([]Entry, error) {
	_, body, err := c.get(ctx, "ManifestList", maxList, nil, "ManifestList", string(release))
	if err != nil {
		return nil, err
	}
	entries, err := parseEntries(body)
	if err != nil {
		return nil, c.refuse("ManifestList", err, "ManifestList", string(release))
	}
	for i := range entries {
		for _, text := range []*string{&entries[i].Name, &entries[i].Description, &entries[i].URL} {
			*text = c.redacted(*text)
		}
	}
	return entries, nil
}

// Metadata returns what the service says about one file of one release.
func (c *Client) Metadata(ctx context.Context, ref manifest.Reference) (Metadata, error) {
	segments := append([]string{"Metadata"}, ref.Segments()...)
	_, body, err := c.get(ctx, "Metadata", maxMetadata, nil, segments...)
	if err != nil {
		return Metadata{}, err
	}
	meta, err := parseMetadata(c.t.Redactor().Bytes(body))
	if err != nil {
		return Metadata{}, c.refuse("Metadata", err, segments...)
	}
	return meta, nil
}

// Hash returns the digest of one file of one release.
func (c *Client) Hash(ctx context.Context, algorithm manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error) {
	segments := append([]string{string(algorithm)}, ref.Segments()...)
	_, body, err := c.get(ctx, "Hash", maxHash, nil, segments...)
	if err != nil {
		return manifest.Digest{}, err
	}
	digest, err := parseHash(algorithm, c.t.Redactor().Bytes(body))
	if err != nil {
		return manifest.Digest{}, c.refuse("Hash", err, segments...)
	}
	return digest, nil
}

// Download opens one file of one release and follows redirects. header may ask for a
// range. It makes one attempt: the caller retries with Retry and closes the body.
func (c *Client) Download(ctx context.Context, ref manifest.Reference, header http.Header) (*transport.Response, error) {
	segments := append([]string{"Download"}, ref.Segments()...)
	if err := checkSegments(segments); err != nil {
		return nil, c.refuse("Download", err, segments...)
	}
	return c.t.Open(ctx, transport.Request{Endpoint: "Download", Segments: segments, Header: header})
}

// Retry runs op as transport.Client.Retry does, for downloads.
func (c *Client) Retry(ctx context.Context, op func(progress func()) error) error {
	return c.t.Retry(ctx, "Download", op)
}

func (c *Client) list(ctx context.Context, endpoint string, header http.Header, segments ...string) (*transport.Response, []string, error) {
	res, body, err := c.get(ctx, endpoint, maxList, header, segments...)
	if err != nil || res.Status == http.StatusNotModified {
		return res, nil, err
	}
	if bytes.HasPrefix(trim(body), []byte("{")) { // an error object: parseList quotes a part of it
		body = c.t.Redactor().Bytes(body[:min(len(body), maxMetadata)])
	}
	items, err := parseList(body)
	if err == nil && len(items) > maxEntries {
		err = refusal.New(refusal.TooLarge, "list of %d entries: at most %d are accepted", len(items), maxEntries)
	}
	if err != nil {
		return nil, nil, c.refuse(endpoint, err, segments...)
	}
	return res, items, nil
}

func (c *Client) get(ctx context.Context, endpoint string, limit int64, header http.Header, segments ...string) (*transport.Response, []byte, error) {
	if err := checkSegments(segments); err != nil {
		return nil, nil, c.refuse(endpoint, err, segments...)
	}
	return c.t.Do(ctx, transport.Request{
		Endpoint: endpoint, Segments: segments, Limit: limit, Header: header,
		Query: jsonFormat,
	})
}

// checkSegments refuses names that are not one plain path segment.
func checkSegments(segments []string) error {
	for _, s := range segments {
		if err := manifest.CheckSegment(s); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the error of a refused response.
func (c *Client) refuse(endpoint string, err error, segments ...string) error {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return &transport.Error{
		Kind: transport.Malformed, Endpoint: endpoint,
		Path: c.t.Redactor().String("/" + strings.Join(escaped, "/")),
		Err:  &refusal.Error{Reason: refusal.ReasonOf(err), Err: c.t.Redactor().Error(err)},
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.t.Close() }
