package metrics

import (
	"bytes"
	"maps"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"
)

// To gather takes a millisecond. Who scrapes faster than so often a second gets the
// last answer again, so that no number of scrapes slows a sync down.
const gathersPerSecond, gatherBurst = 5, 20

// maxKept bounds the answers that are kept, one for each form that is asked for.
const maxKept = 8

// Handler serves what gatherer has.
func Handler(gatherer prometheus.Gatherer) http.Handler {
	return &handler{
		inner: promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}),
		limit: rate.NewLimiter(gathersPerSecond, gatherBurst),
		kept:  map[form]*response{},
	}
}

type handler struct {
	inner http.Handler
	limit *rate.Limiter

	mu   sync.Mutex
	kept map[form]*response
}

// form is what decides how an answer looks.
type form struct{ accept, encoding, query string }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := form{r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"), r.URL.RawQuery}
	answer := h.last(f)
	if h.limit.Allow() || answer == nil {
		answer = &response{header: http.Header{}, status: http.StatusOK}
		h.inner.ServeHTTP(answer, r)
		h.keep(f, answer)
	}
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes()) // a client that is gone needs no answer
}

func (h *handler) last(f form) *response {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept[f]
}

func (h *handler) keep(f form, answer *response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.kept) >= maxKept {
		clear(h.kept)
	}
	if answer.status == http.StatusOK {
		h.kept[f] = answer
	}
}

// response is an answer that is written into memory.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *response) Header() http.Header         { return r.header }
func (r *response) WriteHeader(status int)      { r.status = status }
func (r *response) Write(b []byte) (int, error) { return r.body.Write(b) }
