package emulator

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequests bounds the log of an emulator that runs for days. A full log drops
// its older half.
const maxRequests = 200_000

// Request is a request as it arrived, with the outcome.
type Request struct {
	Host     string      `json:"host"` // one of the Host constants
	Method   string      `json:"method"`
	Path     string      `json:"path"` // decoded
	RawQuery string      `json:"rawQuery"`
	Header   http.Header `json:"header"`
	// Body is the first MiB of the body.
	Body string    `json:"body,omitempty"`
	Time time.Time `json:"time"`
	// Status is 0 until a status is sent.
	Status int `json:"status"`
	// BytesSent counts bytes of the body. It is final when the client has read
	// the whole answer, and may be too high until then.
	BytesSent int64 `json:"bytesSent"`
}

// entry is a Request that may still be served.
type entry struct {
	request Request // does not change after begin
	status  atomic.Int64
	bytes   atomic.Int64
}

type requestLog struct {
	mu      sync.Mutex
	entries []*entry
	headers [8]http.Header // of recent requests, see sharedLocked
	next    int            // the one of headers to replace
}

// begin adds a request before it is served, so that a client that has its answer
// finds the request in the log.
func (l *requestLog) begin(host string, r *http.Request, body []byte) *entry {
	en := &entry{request: Request{
		Host: host, Method: r.Method, Path: r.URL.Path, RawQuery: r.URL.RawQuery,
		Body: string(body), Time: time.Now(),
	}}
	l.mu.Lock()
	defer l.mu.Unlock()
	en.request.Header = l.sharedLocked(r.Header)
	if len(l.entries) >= maxRequests {
		l.entries = append([]*entry(nil), l.entries[maxRequests/2:]...)
	}
	l.entries = append(l.entries, en)
	return en
}

// sharedLocked returns equal headers of a recent request, or h. A client repeats
// its headers, and they are the largest part of an entry.
func (l *requestLog) sharedLocked(h http.Header) http.Header {
	for _, known := range l.headers {
		if known != nil && maps.EqualFunc(known, h, slices.Equal) {
			return known
		}
	}
	l.headers[l.next] = h
	l.next = (l.next + 1) % len(l.headers)
	return h
}

// Requests returns the requests since the start or the last ResetRequests, in the
// order of their arrival, also those still being served. It leaves out requests
// below /-/.
func (l *requestLog) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Request, len(l.entries))
	for i, en := range l.entries {
		all[i] = en.request
		all[i].Header = en.request.Header.Clone()
		all[i].Status = int(en.status.Load())
		all[i].BytesSent = en.bytes.Load()
	}
	return all
}

// ResetRequests empties the log.
func (l *requestLog) ResetRequests() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
