package emulator

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"os"
	"sync"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// maxBody bounds the body of a request in the log, in bytes.
const maxBody = 1 << 20

// observe logs the requests to a host and applies faults to them.
func (e *Emulator) observe(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// track stops counting a connection when KindReset takes it over.
		e.active.Add(1)
		defer e.active.Done()
		body := readBody(r)
		rec := &recorder{ResponseWriter: w, entry: e.begin(host, r, body), head: r.Method == http.MethodHead}
		if f, ok := e.pick(host, r); ok {
			e.inject(f, e.caller(r, body), rec, r, next)
			return
		}
		next.ServeHTTP(rec, r)
	})
}

// caller returns the Customer ID that a request brings, valid or not, for faults
// that echo it.
func (e *Emulator) caller(r *http.Request, body []byte) string {
	query := r.URL.Query()
	return cmp.Or(wire.Parameter(query, e.cfg.IDParam), wire.Parameter(query, "id"), service.CustomerIDOf(body))
}

// recorder logs the status and the bytes of an answer. It counts bytes before it
// writes them and corrects the count afterwards, so that the log is never behind
// the client.
type recorder struct {
	http.ResponseWriter
	entry *entry
	head  bool // net/http drops the body of an answer to HEAD
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

// ReadFrom lets net/http send files with sendfile, which a wrapper without this
// method prevents. Other contents go through Write, so that a small one leaves in
// one packet with its headers.
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

// readBody reads up to maxBody bytes of a request's body, and puts them back for
// the handler. A body that breaks off is logged as far as it came.
func readBody(r *http.Request) []byte {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	kept, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = brokenReader{err} // reading on may block or return another error
	}
	r.Body = readBack{io.MultiReader(bytes.NewReader(kept), rest), r.Body}
	return kept
}

// readBack is a body whose beginning was read before.
type readBack struct {
	io.Reader
	io.Closer
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }
