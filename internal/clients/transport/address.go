package transport

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"syncd/internal/origin"
)

// PublicURL is u as it may be shown and recorded: without query, fragment and user part.
func PublicURL(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return clean.String()
}

// address is where a request goes: to the base, or to where a redirect leads.
type address struct {
	url    *url.URL
	origin string
}

// base is what the addresses and headers of all requests have in common, worked
// out once. Nobody changes it.
type base struct {
	url    url.URL
	origin string
	path   string      // escaped, without a slash at its end
	query  url.Values  // of the base
	id     []string    // the Customer ID, as the value of a query
	own    http.Header // of requests to the origin
	others http.Header // of requests to other origins
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

// URL is the address of a request. It holds the Customer ID.
func (c *Client) URL(req Request) *url.URL {
	u := c.base.url
	if len(req.Segments) > 0 {
		u.RawPath = c.base.path + "/" + strings.Join(req.escaped(), "/")
		u.Path, _ = url.PathUnescape(u.RawPath) // what was escaped just now
	}
	query := make(url.Values, 8) // with room that needs no allocation
	maps.Copy(query, c.base.query)
	maps.Copy(query, req.Query)
	if c.cfg.IDParam != "" && isRead(req.method()) {
		query[c.cfg.IDParam] = c.base.id
	}
	u.RawQuery = query.Encode()
	return &u
}

// header is what a request carries to an origin. It is shared by requests that
// add nothing: net/http only reads it.
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
