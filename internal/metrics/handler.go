package metrics

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/time/rate"
)

// To gather takes a millisecond. Who scrapes faster than so often a second gets the
// last answer again, so that no number of scrapes slows a sync down.
const gathersPerSecond, gatherBurst = 5, 20

// Handler serves what gatherer has, as text, plain or zipped. There are no other
// forms, so that nobody can ask for one that is not kept yet.
func Handler(gatherer prometheus.Gatherer) http.Handler {
	return &handler{
		inner: promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}),
		limit: rate.NewLimiter(gathersPerSecond, gatherBurst),
		kept:  map[string]*response{},
	}
}

type handler struct {
	inner http.Handler
	limit *rate.Limiter

	mu   sync.Mutex
	kept map[string]*response // the last answer in each encoding
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	encoding := encodingFor(r)
	answer := h.last(encoding)
	if h.limit.Allow() || answer == nil {
		answer = &response{header: http.Header{}, status: http.StatusOK}
		bare := r.Clone(r.Context())
		bare.URL, bare.Header = &url.URL{Path: r.URL.Path}, http.Header{"Accept-Encoding": {encoding}}
		h.inner.ServeHTTP(answer, bare)
		h.keep(encoding, answer)
	}
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes()) // a client that is gone needs no answer
}

// encodingFor is gzip for who takes it.
func encodingFor(r *http.Request) string {
	for offer := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(offer, ";")
		if strings.TrimSpace(name) == "gzip" && strings.Trim(weight, " .0") != "q=" {
			return "gzip"
		}
	}
	return "identity"
}

func (h *handler) last(encoding string) *response {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept[encoding]
}

func (h *handler) keep(encoding string, answer *response) {
	if answer.status != http.StatusOK {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept[encoding] = answer
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
