package transport

import (
	"io"
	"net/http"
	"net/url"
)

// Request is one call. Endpoint and Segments are required.
type Request struct {
	Endpoint string // the name for metrics and errors
	Method   string // default GET
	Segments []string
	Query    url.Values
	Header   http.Header
	Body     []byte
	Limit    int64 // of the response body, in bytes; for Do
	Once     bool  // for Do: never send it twice
}

// Response is an answer with a status of success, or 304.
type Response struct {
	Status int
	Header http.Header
	Length int64         // of the body, -1 when not announced
	Body   io.ReadCloser // the caller closes it; its errors are of type *Error
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

// isRead is true for methods that ask and change nothing at the server by their form.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (r Request) isConditional() bool {
	return r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != ""
}
