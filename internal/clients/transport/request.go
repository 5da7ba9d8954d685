package transport

import (
	"io"
	"net/http"
	"net/url"
)

// Request is one call. Endpoint and Segments are required.
type Request struct {
	Endpoint string // the name that metrics and errors use
	Method   string // default GET
	Segments []string
	Query    url.Values
	Header   http.Header
	Body     []byte
	Limit    int64 // for Do: the largest response body, in bytes
	Once     bool  // for Do: never send the request twice
	Bulk     bool  // the body is long: over https it gets a connection of its own

	State   []string // what an upstream that is a syncd gets to know, in a header line each; no other server gets it
	IsKnown bool     // an earlier process recognised it
}

// Response is a response with a 2xx status, or a 304 to a conditional request.
type Response struct {
	Status int
	Header http.Header
	Length int64         // of the body in bytes, -1 when the server did not announce it
	Body   io.ReadCloser // the caller closes it; its errors are *Error or the context's

	// Received returns how many bytes came over the network since the last call, for a body that
	// is made here of fewer bytes; nil for one that is as it came.
	Received func() int64

	IsUpstream bool   // the operator named a syncd as the source, and one has answered
	Destroy    string // what such a one wants destroyed, in the form of package destruction; not trusted
}

func (r Request) escaped() []string {
	escaped := make([]string, len(r.Segments))
	for i, s := range r.Segments {
		escaped[i] = url.PathEscape(s)
	}
	return escaped
}

func (r Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// isRead is true for methods that change nothing at the server.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (r Request) isConditional() bool {
	return r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != ""
}
