package emulator

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds the bytes of a request's body that are kept.
const maxBody = 1 << 20

// maxRequests bounds the log of an emulator that runs for days; the older half
// goes when it is full.
const maxRequests = 200_000

// Request is one request as it arrived, and what was answered.
type Request struct {
	Host     string      `json:"host"` // one of the Host constants
	Method   string      `json:"method"`
	Path     string      `json:"path"` // decoded
	RawQuery string      `json:"rawQuery"`
	Header   http.Header `json:"header"`
	// Body is the body's first MiB.
	Body string    `json:"body,omitempty"`
	Time time.Time `json:"time"`
	// Status is 0 while no status was sent, or when none ever was.
	Status int `json:"status"`
	// BytesSent counts body bytes. It is final when the client has read the
	// whole answer; it may be too high while an answer is on its way.
	BytesSent int64 `json:"bytesSent"`
}

// Requests returns what arrived on all listeners since the start or the last
// ResetRequests, in order of arrival, with requests still being served.
// Requests to the administration are left out.
func (e *Emulator) Requests() []Request { return e.log.snapshot() }

// ResetRequests empties the log.
func (e *Emulator) ResetRequests() { e.log.reset() }

// entry is a Request under way; the counters move while it is served.
type entry struct {
	request Request // not changed after begin
	status  atomic.Int64
	bytes   atomic.Int64
}

type requestLog struct {
	mu      sync.Mutex
	entries []*entry
	headers [8]http.Header // of the last requests that differed, see sharedLocked
	next    int            // of headers, to be replaced
}

// begin adds the request before it is served, so that a client that has its
// answer finds it in the log.
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

// sharedLocked returns headers that are equal, of an earlier request if it can:
// a client repeats its own, and they are the most of what a request takes.
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

func (l *requestLog) snapshot() []Request {
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

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// recorder notes status and bytes of an answer. It counts before it writes and
// corrects afterwards: the client must not see bytes that the log has not.
type recorder struct {
	http.ResponseWriter
	entry *entry
	head  bool // bodies of HEAD are not sent
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	w.entry.status.CompareAndSwap(0, int64(status))
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.entry.status.CompareAndSwap(0, http.StatusOK)
	if w.head {
		return w.ResponseWriter.Write(p)
	}
	w.entry.bytes.Add(int64(len(p)))
	n, err := w.ResponseWriter.Write(p)
	w.entry.bytes.Add(int64(n - len(p)))
	return n, err
}

// ReadFrom keeps the way to sendfile open for files, which a plain wrapper would
// close. Other contents go through Write, so that a small one leaves together with
// its headers.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	to, ok := w.ResponseWriter.(io.ReaderFrom)
	limited, isLimited := src.(*io.LimitedReader)
	if !ok || w.head || !isLimited || !isFile(limited.R) {
		b := copyBuffers.Get().(*[copySize]byte)
		defer copyBuffers.Put(b)
		return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{src}, b[:])
	}
	w.entry.status.CompareAndSwap(0, http.StatusOK)
	promised := limited.N
	w.entry.bytes.Add(promised)
	n, err := to.ReadFrom(src)
	w.entry.bytes.Add(n - promised)
	return n, err
}

func isFile(r io.Reader) bool {
	_, is := r.(*os.File)
	return is
}

const copySize = 64 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// readBody takes a request's body up to maxBody bytes, and puts it back for who
// serves the request. A body that breaks off is what there was of it.
func readBody(r *http.Request) []byte {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	kept, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = brokenReader{err} // to read on may block or tell another error
	}
	r.Body = readBack{io.MultiReader(bytes.NewReader(kept), rest), r.Body}
	return kept
}

// readBack is a body of which a part was read before.
type readBack struct {
	io.Reader
	io.Closer
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }
