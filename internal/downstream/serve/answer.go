package serve

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"syncd/internal/httpserver/accounts"
)

// chunk is how many bytes a client must take within the service's patience. One that took its
// last chunk in a small part of that gets several at once, because each call of sendfile and
// each wait for the client cost. It has the same time for all of them, which is a multiple of
// what it needs.
const (
	chunk       = 1 << 20
	quickChunks = 4
	quickPart   = 16 // of the patience
)

// answer writes the answer of one request. Its body keeps within its follower's share of
// the bandwidth, and ends when a client takes it too slowly.
type answer struct {
	http.ResponseWriter
	ctx      context.Context //nolint:containedctx // an answer lives as long as its request
	head     bool
	bytes    *accounts.Queue // nil for no limit
	who      accounts.Identity
	isList   bool
	free     int64 // bytes that wait for no bandwidth
	patience time.Duration
	quick    bool // the last chunk went quickly
	status   int
	sent     int64 // bytes of the body

	taken int64         // bytes of the chunk under way
	spent time.Duration // that the client took for them
}

func (a *answer) controller() *http.ResponseController {
	return http.NewResponseController(a.ResponseWriter)
}

// Unwrap lets http.ResponseController find the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
	a.ResponseWriter.WriteHeader(status)
}

// reply sends a small answer. An empty contentType sends no Content-Type.
func (a *answer) reply(status int, contentType string, body []byte) {
	if contentType != "" {
		a.Header().Set("Content-Type", contentType)
	}
	a.Header().Set("Content-Length", strconv.Itoa(len(body)))
	a.WriteHeader(status)
	if len(body) > 0 && !a.head {
		n, _ := a.ResponseWriter.Write(body) // it fails when the client is gone
		a.sent += int64(n)
	}
}

// Write sends a part of a long body.
func (a *answer) Write(p []byte) (sent int, err error) {
	for sent < len(p) {
		part, err := a.pace(int64(len(p) - sent))
		if err != nil {
			return sent, err
		}
		began := time.Now()
		n, err := a.ResponseWriter.Write(p[sent : sent+int(part)])
		sent += n
		a.took(int64(n), time.Since(began))
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// ReadFrom sends a file in parts, each of them by sendfile where the connection is plain.
func (a *answer) ReadFrom(src io.Reader) (sent int64, err error) {
	limited, isLimited := src.(*io.LimitedReader)
	if !isLimited {
		return io.Copy(struct{ io.Writer }{a}, src)
	}
	for limited.N > 0 {
		part, err := a.pace(limited.N)
		if err != nil {
			return sent, err
		}
		began := time.Now()
		n, err := io.CopyN(a.ResponseWriter, limited.R, part) // net/http finds a file only behind one LimitedReader
		sent, limited.N = sent+n, limited.N-n
		a.took(n, time.Since(began))
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// pace waits until some of n bytes may pass, and says how many. From then on, the client
// has what is left of its time for the chunk that they belong to.
func (a *answer) pace(n int64) (int64, error) {
	most := int64(chunk)
	if a.quick {
		most *= quickChunks
	}
	n = min(n, most)
	switch {
	case a.free > 0:
		n = min(n, a.free)
		a.free -= n
	case a.bytes != nil:
		n = min(n, int64(a.bytes.Most()))
		if err := a.bytes.Wait(a.ctx, a.who, a.isList, int(n)); err != nil {
			return 0, err
		}
	}
	return n, a.controller().SetWriteDeadline(time.Now().Add(a.patience - a.spent))
}

// took notes that the client took n bytes. Its time begins anew with each chunk and not with
// each part: an answer in small parts would otherwise wait for hours.
func (a *answer) took(n int64, spent time.Duration) {
	a.sent, a.taken, a.spent = a.sent+n, a.taken+n, a.spent+spent
	if a.taken >= chunk {
		a.quick = a.spent < a.patience/quickPart
		a.taken, a.spent = 0, 0
	}
}

// freeList is how many bytes of a list wait for no bandwidth: followers poll small lists,
// which must not wait behind downloads.
const freeList = 64 << 10

// asList marks a list. Bytes beyond freeList wait, but before the downloads of the
// same follower.
func (a *answer) asList() { a.isList, a.free = true, freeList }
