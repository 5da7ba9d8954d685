package transport

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secretHeaders hold credentials, or answers to them.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Amz-Security-Token"}

func (c *Client) traceRequest(req *Request, request *http.Request, target address) {
	if c.cfg.Trace == nil {
		return
	}
	c.cfg.Trace(true, c.redact.head(request.Method+" "+c.ShownURL(target.url, *req), request.Header))
}

func (c *Client) traceResponse(answer *http.Response) {
	if c.cfg.Trace == nil {
		return
	}
	c.cfg.Trace(false, c.redact.head(answer.Proto+" "+answer.Status, answer.Header))
}

// head returns the first line and the headers of a message, a line each, without secrets.
func (r Redactor) head(first string, header http.Header) string {
	var b strings.Builder
	fmt.Fprintln(&b, oneLine(r.String(first)))
	shown := r.header(header.Clone())
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		for _, value := range shown[name] {
			switch {
			case slices.Contains(secretHeaders, name):
				value = redacted
			case name == "Location":
				value, _, _ = strings.Cut(value, "?") // a query may be a signature
			}
			fmt.Fprintf(&b, "%s: %s\n", r.ForNames().String(oneLine(name)), oneLine(value))
		}
	}
	return b.String()
}

// maxLine limits a line of a head, in bytes.
const maxLine = 8 << 10

func oneLine(s string) string { return clip(printable(s), maxLine) }

// ShownURL returns the address of a request, or of a redirect of it, without secrets. Of
// the query it shows only values that the request itself sets: the others are the Customer
// ID, and parts of the configured or redirected address that may be secret.
func (c *Client) ShownURL(address *url.URL, req Request) string {
	shown := PublicURL(address)
	query := address.Query()
	for name := range query {
		if !req.Query.Has(name) {
			query[name] = []string{redacted}
		}
	}
	if len(query) > 0 {
		shown += "?" + query.Encode()
	}
	return c.redact.String(shown)
}
