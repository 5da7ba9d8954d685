// Package releases is the client of the file release service: the 20 endpoints
// of SPEC.md, section "File release service", with the facts of the wire that
// the specification leaves open. It sends what the specification writes and
// reads every list format that the service knows.
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

// Limits of response bodies, in bytes. A body over its limit is refused.
const (
	maxList     = 64 << 20
	maxHash     = 4 << 10
	maxMetadata = 64 << 10
)

// jsonFormat is the query of every request but for downloads.
var jsonFormat = url.Values{"format": {"json"}}

// maxEntries bounds a list: each file costs a request at least.
const maxEntries = 250_000

// Client calls the release service. Its errors are those of transport.Client,
// and refusals for bodies that arrived but cannot be used. Safe for concurrent use.
type Client struct{ t *transport.Client }

// New returns a client that sends its requests through t.
func New(t *transport.Client) *Client { return &Client{t: t} }

// Validators are what makes a later request conditional.
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

// BrowseURL is the address of the service's browser view; all arguments may be
// empty. It holds the Customer ID, which the view needs: never print it.
func (c *Client) BrowseURL(manifestName, release, sort string) *url.URL {
	query := url.Values{}
	for name, value := range map[string]string{"mft": manifestName, "release": release, "sort": sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return c.t.URL(transport.Request{Endpoint: "Browse", Segments: []string{"Browse"}, Query: query})
}

// ManifestReleases lists the ids of all releases of a manifest as the service
// sends them. With validators of an earlier answer, notModified is true, and
// ids empty, when nothing changed since.
func (c *Client) ManifestReleases(ctx context.Context, name string, since Validators) (ids []string, now Validators, notModified bool, err error) {
	res, ids, err := c.list(ctx, "ManifestReleases", since.header(), "ManifestReleases", name)
	if err != nil {
		return nil, Validators{}, false, err
	}
	if res.Status == http.StatusNotModified {
		return nil, since, true, nil
	}
	for i := range ids {
		ids[i] = c.public(ids[i])
	}
	return ids, Validators{ETag: validator(res, "ETag"), LastModified: validator(res, "Last-Modified")}, false, nil
}

// maxValidator is longer than any honest one; sending a long one back would be
// refused for the size of the request's headers, again and again.
const maxValidator = 1 << 10

func validator(res *transport.Response, name string) string {
	if v := res.Header.Get(name); len(v) <= maxValidator {
		return v
	}
	return ""
}

// maxText is how much of a text of the provider is passed on.
const maxText = 1000

// public makes a text of the provider fit to be shown.
func (c *Client) public(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return c.t.Redactor().String(text)
}

// FileReleases lists the ids of all releases of a file; ref's release is not used.
func (c *Client) FileReleases(ctx context.Context, ref manifest.Reference) ([]string, error) {
	segments := append([]string{"Releases", string(ref.Class)}, ref.FileSegments()...)
	_, ids, err := c.list(ctx, "Releases", nil, segments...)
	for i := range ids {
		ids[i] = c.public(ids[i])
	}
	return ids, err
}

// Manifest lists the files of a manifest's release. The links are read as
// identities; one that cannot be read refuses the list. An empty list is no error.
func (c *Client) Manifest(ctx context.Context, release manifest.Release, name string) ([]manifest.Reference, error) {
	_, links, err := c.list(ctx, "Manifest", nil, "Manifest", string(release), name)
	if err != nil {
		return nil, err
	}
	var refs []manifest.Reference
	if err = c.cutQueries(links); err == nil {
		refs, err = manifest.ParseLinks(links)
	}
	if err != nil {
		return nil, c.refuse("Manifest", err, "Manifest", string(release), name)
	}
	return refs, nil
}

// maxLink is longer than any honest link, in bytes.
const maxLink = 8 << 10

// cutQueries leaves of each link what its identity is made of. In the query the
// Customer ID is at home; in a name it would go to the disk and into every record.
func (c *Client) cutQueries(links []string) error {
	for i, link := range links {
		if len(link) > maxLink {
			return refusal.New(refusal.BadShape, "entry %d of the list has %d bytes", i+1, len(link))
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

// Entry is one manifest that a release offers.
type Entry struct {
	Name        string `json:"manifestName" xml:"manifestName"`
	Description string `json:"description" xml:"description"`
	URL         string `json:"url" xml:"url"` // without the Customer ID; may name an older release
}

// ManifestList lists the manifests that are available for a release.
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
			*text = c.public(*text)
		}
	}
	return entries, nil
}

// Metadata describes one file of one release.
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

// Hash asks for the digest of one file of one release.
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

// Download opens one file of one release; redirects are followed. header may ask
// for a range. It makes one attempt: the caller retries, and closes the body.
func (c *Client) Download(ctx context.Context, ref manifest.Reference, header http.Header) (*transport.Response, error) {
	segments := append([]string{"Download"}, ref.Segments()...)
	if err := check(segments); err != nil {
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
	if bytes.HasPrefix(trim(body), []byte("{")) { // no list: an error, of which a part is shown
		body = c.t.Redactor().Bytes(body[:min(len(body), maxMetadata)])
	}
	items, err := parseList(body)
	if err == nil && len(items) > maxEntries {
		err = refusal.New(refusal.TooLarge, "list of %d entries, at most %d are read", len(items), maxEntries)
	}
	if err != nil {
		return nil, nil, c.refuse(endpoint, err, segments...)
	}
	return res, items, nil
}

func (c *Client) get(ctx context.Context, endpoint string, limit int64, header http.Header, segments ...string) (*transport.Response, []byte, error) {
	if err := check(segments); err != nil {
		return nil, nil, c.refuse(endpoint, err, segments...)
	}
	return c.t.Do(ctx, transport.Request{
		Endpoint: endpoint, Segments: segments, Limit: limit, Header: header,
		Query: jsonFormat,
	})
}

// check keeps what is no plain segment out of request paths.
func check(segments []string) error {
	for _, s := range segments {
		if err := manifest.CheckSegment(s); err != nil {
			return err
		}
	}
	return nil
}

// refuse says which answer was refused.
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

// Close drops idle connections.
func (c *Client) Close() { c.t.Close() }
