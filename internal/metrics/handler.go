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
	"github.com/prometheus/common/expfmt"
	"golang.org/x/time/rate"
)

// Gathering takes a millisecond. Scrapes over this rate get the last response again,
// so that a flood of scrapes does not slow a sync down.
const gathersPerSecond, gatherBurst = 5, 20

// Handler serves the metrics of gatherer as text, or as protobuf, which alone has native
// histograms; each plain or gzipped. It offers no other format, so that a response to every
// request is cached.
func Handler(gatherer prometheus.Gatherer) http.Handler {
	return &handler{
		inner: promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}),
		limit: rate.NewLimiter(gathersPerSecond, gatherBurst),
		last:  map[variant]*response{},
	}
}

type handler struct {
	inner http.Handler
	limit *rate.Limiter

	mu   sync.Mutex
	last map[variant]*response
}

// variant is a form in which clients can have the metrics.
type variant struct {
	accept   string // the header that asks for the format
	encoding string
}

// protobuf asks for the format with native histograms.
const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

func variantFor(r *http.Request) variant {
	v := variant{encoding: encodingFor(r)}
	if expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeProtoDelim)).FormatType() == expfmt.TypeProtoDelim {
		v.accept = protobuf
	}
	return v
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := variantFor(r)
	res := h.cached(v)
	if h.limit.Allow() || res == nil {
		res = &response{header: http.Header{}, status: http.StatusOK}
		bare := r.Clone(r.Context())
		bare.URL, bare.Header = &url.URL{Path: r.URL.Path}, http.Header{"Accept": {v.accept}, "Accept-Encoding": {v.encoding}}
		h.inner.ServeHTTP(res, bare)
		h.cache(v, res)
	}
	maps.Copy(w.Header(), res.header)
	w.WriteHeader(res.status)
	_, _ = w.Write(res.body.Bytes()) // an error means that the client is gone
}

// encodingFor is gzip when the client accepts it.
func encodingFor(r *http.Request) string {
	for offer := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(offer, ";")
		if strings.TrimSpace(name) == "gzip" && strings.Trim(weight, " .0") != "q=" {
			return "gzip"
		}
	}
	return "identity"
}

func (h *handler) cached(v variant) *response {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[v]
}

func (h *handler) cache(v variant, res *response) {
	if res.status != http.StatusOK {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[v] = res
}

// response is an http.ResponseWriter that writes into memory.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *response) Header() http.Header         { return r.header }
func (r *response) WriteHeader(status int)      { r.status = status }
func (r *response) Write(b []byte) (int, error) { return r.body.Write(b) }
