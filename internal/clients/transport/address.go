package transport

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"syncd/internal/clients/origin"
)

// PublicURL returns u as it may be shown and stored: without query, fragment and user part.
func PublicURL(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return clean.String()
}

// address is the target of a request: below the base, or the target of a redirect.
type address struct {
	url    *url.URL
	origin string
}

// base holds what the addresses and headers of all requests share. It is computed
// once and never changed.
type base struct {
	url    url.URL
	origin string
	path   string      // escaped, without a trailing slash
	query  url.Values  // of the base URL
	id     []string    // the Customer ID as a query value
	own    http.Header // for requests to this origin
	others http.Header // for requests to other origins: without credentials
}

func newBase(cfg Config) base {
	root := cfg.Base.JoinPath() // cleans the path
	b := base{
		url: *root, origin: origin.Of(root), path: strings.TrimSuffix(root.EscapedPath(), "/"),
		query: root.Query(), id: []string{cfg.CustomerID},
		others: http.Header{"User-Agent": {cfg.UserAgent}},
	}
	b.own = b.others.Clone()
	if user := root.User; user != nil {
		password, _ := user.Password()
		(&http.Request{Header: b.own}).SetBasicAuth(user.Username(), password)
	}
	return b
}

// URL returns the address of a request. It holds the Customer ID: never print it.
func (c *Client) URL(req Request) *url.URL {
	u := c.base.url
	if len(req.Segments) > 0 {
		u.RawPath = c.base.path + "/" + strings.Join(req.escaped(), "/")
		u.Path, _ = url.PathUnescape(u.RawPath) // cannot fail: the path was escaped above
	}
	query := make(url.Values, 8) // 8 entries need one allocation
	maps.Copy(query, c.base.query)
	maps.Copy(query, req.Query)
	if c.cfg.IDParam != "" && isRead(req.method()) {
		query[c.cfg.IDParam] = c.base.id
	}
	u.RawQuery = query.Encode()
	return &u
}

// header returns the headers of a request to an origin. Requests without headers of
// their own share one map, which net/http only reads.
func (b *base) header(req *Request, origin string) http.Header {
	common := b.others
	if origin == b.origin {
		common = b.own
	}
	if len(req.Header) == 0 {
		return common
	}
	header := maps.Clone(req.Header)
	maps.Copy(header, common)
	return header
}
