package releases

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Limits of response bodies, in bytes. A larger body is refused.
const (
	maxList     = 64 << 20
	maxHash     = 4 << 10
	maxMetadata = 64 << 10
)

// jsonFormat is the query of every request except downloads.
var jsonFormat = url.Values{"format": {"json"}}

// Client calls the release service. It returns the errors of transport.Client; a body
// that cannot be used is a *transport.Error of kind Malformed with a refusal as its
// cause. Safe for concurrent use.
type Client struct {
	t *transport.Client
}

// New returns a client that sends its requests through t.
func New(t *transport.Client) *Client {
	return &Client{t: t}
}

// Validators make a later request conditional. An empty one is not sent.
type Validators struct {
	ETag         string
	LastModified string
	OfContent    bool // the ETag also follows the contents of the releases, as that of another syncd does
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
	return c.releases(ctx, "ManifestReleases", since, "ManifestReleases", name)
}

// releases asks for a list of releases, conditionally.
func (c *Client) releases(ctx context.Context, endpoint string, since Validators, segments ...string) (ids []string, now Validators, notModified bool, err error) {
	err = c.read(ctx, endpoint, since.header(), func(res *transport.Response) (err error) {
		if notModified = res.Status == http.StatusNotModified; notModified {
			ids, now = nil, since
			return nil
		}
		now = Validators{ETag: validator(res, "ETag"), LastModified: validator(res, "Last-Modified")}
		now.OfContent = now.ETag != "" && res.Header.Get(transport.HeaderUpstream) == transport.Upstream
		ids, err = readIDs(ctx, res.Body, c.t.Redactor())
		return err
	}, segments...)
	if err != nil {
		return nil, Validators{}, false, err
	}
	return ids, now, notModified, nil
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

// FileReleases is ManifestReleases for a file. It ignores the release and the tag of ref:
// the service lists the releases of all variants together.
func (c *Client) FileReleases(ctx context.Context, ref manifest.Reference, since Validators) (ids []string, now Validators, notModified bool, err error) {
	segments := append([]string{"Releases", string(ref.Class())}, ref.FileSegments()...)
	return c.releases(ctx, "Releases", since, segments...)
}

// Manifest returns the files of a manifest's release. One unusable link refuses the
// whole list. An empty list is no error. The list holds what it needs of share until the
// caller releases that; a list that does not fit is a *NoRoomError. share may be nil.
func (c *Client) Manifest(ctx context.Context, release manifest.Release, name string, share *Share) (*manifest.List, error) {
	var list *manifest.List
	err := c.read(ctx, "Manifest", nil, func(res *transport.Response) (err error) {
		list, err = c.readFiles(ctx, res.Body, share)
		return err
	}, "Manifest", string(release), name)
	if err != nil {
		share.Release()
		return nil, err
	}
	return list, nil
}

// ManifestList returns the manifests that are available for a release.
func (c *Client) ManifestList(ctx context.Context, release manifest.Release) ([]ListedManifest, error) {
	var entries []ListedManifest
	err := c.read(ctx, "ManifestList", nil, func(res *transport.Response) (err error) {
		entries, err = readManifests(ctx, res.Body, c.t.Redactor())
		return err
	}, "ManifestList", string(release))
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Metadata returns what the service says about one file of one release.
func (c *Client) Metadata(ctx context.Context, ref manifest.Reference) (Metadata, error) {
	segments := append([]string{"Metadata"}, ref.Segments()...)
	body, err := c.get(ctx, "Metadata", maxMetadata, queryOf(ref), segments...)
	if err != nil {
		return Metadata{}, err
	}
	meta, err := parseMetadata(body)
	if err != nil {
		return Metadata{}, c.refuse("Metadata", err, segments...)
	}
	return meta.redacted(c.t.Redactor()), nil
}

// Hash returns the digest of one file of one release.
func (c *Client) Hash(ctx context.Context, algorithm manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error) {
	segments := append([]string{algorithm.String()}, ref.Segments()...)
	body, err := c.get(ctx, "Hash", maxHash, queryOf(ref), segments...)
	if err != nil {
		return manifest.Digest{}, err
	}
	digest, err := parseHash(algorithm, body)
	if err != nil {
		return manifest.Digest{}, c.refuse("Hash", err, segments...)
	}
	return digest, nil
}

// Download opens a file by its reference and follows redirects. header may ask for a
// range, and isBulk for a connection that no other request shares. It makes one attempt:
// the caller retries with Retry and closes the body.
func (c *Client) Download(ctx context.Context, file manifest.File, header http.Header, isBulk bool) (*transport.Response, error) {
	ref := file.Reference
	segments := append([]string{"Download"}, ref.Segments()...)
	if err := checkSegments(segments); err != nil {
		return nil, c.refuse("Download", err, segments...)
	}
	return c.t.Open(ctx, transport.Request{Endpoint: "Download", Segments: segments, Header: header, Bulk: isBulk, Query: tagQuery(ref)})
}

// Retry runs op as transport.Client.Retry does, for downloads.
func (c *Client) Retry(ctx context.Context, op func(progress func()) error) error {
	return c.t.Retry(ctx, "Download", op)
}

// read requests a list. decode reads the response of an attempt as it arrives.
func (c *Client) read(ctx context.Context, endpoint string, header http.Header, decode func(*transport.Response) error, segments ...string) error {
	if err := checkSegments(segments); err != nil {
		return c.refuse(endpoint, err, segments...)
	}
	talk := TalkIn(ctx)
	req := transport.Request{Endpoint: endpoint, Segments: segments, Limit: maxList, Header: header, Query: jsonFormat, State: talk.State}
	err := c.t.Read(ctx, req, func(res *transport.Response) error {
		talk.hear(res)
		return decode(res)
	})
	if _, ok := errors.AsType[*transport.Error](err); refusal.ReasonOf(err) != "" && !ok {
		return c.refuse(endpoint, err, segments...)
	}
	return err
}

func (c *Client) get(ctx context.Context, endpoint string, limit int64, query url.Values, segments ...string) ([]byte, error) {
	if err := checkSegments(segments); err != nil {
		return nil, c.refuse(endpoint, err, segments...)
	}
	_, body, err := c.t.Do(ctx, transport.Request{Endpoint: endpoint, Segments: segments, Limit: limit, Query: query})
	return body, err
}

// tagQuery is the query of a request for a variant, nil for the usual file.
func tagQuery(ref manifest.Reference) url.Values {
	tag := ref.Tag()
	if tag == "" {
		return nil
	}
	return url.Values{"tag": {tag}}
}

// queryOf is the query of a small question about a file.
func queryOf(ref manifest.Reference) url.Values {
	query := tagQuery(ref)
	if query == nil {
		return jsonFormat
	}
	query["format"] = jsonFormat["format"]
	return query
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
		Path: c.t.Redactor().ForNames().String("/" + strings.Join(escaped, "/")),
		Err:  &refusal.Error{Reason: refusal.ReasonOf(err), Err: c.t.Redactor().Error(err)},
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.t.Close() }
