package service

import (
	"net/http"
	"net/url"

	"syncd/internal/clients/transport"
)

// Preview is the request of a call, without the Customer ID.
type Preview struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte // nil with GET
}

// Preview returns the request that Send would send, and sends nothing. Its error
// is an *InputError.
func (c *Client) Preview(call *Call) (*Preview, error) {
	t, req, err := c.encode(call)
	if err != nil {
		return nil, err
	}
	redact := t.Redactor()
	address := t.URL(req)
	return &Preview{
		Method: req.Method, URL: redact.String(transport.PublicURL(address) + shownQuery(address, req)),
		Header: req.Header, Body: redact.Bytes(req.Body),
	}, nil
}

// shownQuery returns the query of an address. It shows only the values that the
// call itself sets: the others are the Customer ID, and parts of the configured
// address that may be secret.
func shownQuery(address *url.URL, req transport.Request) string {
	query := address.Query()
	for name := range query {
		if !req.Query.Has(name) {
			query[name] = []string{"REDACTED"}
		}
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}
