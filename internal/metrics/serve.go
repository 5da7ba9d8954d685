package metrics

import (
	"cmp"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Serve holds the series of the server for followers. Its methods are safe for concurrent
// use.
type Serve struct {
	requests *prometheus.CounterVec
	sent     prometheus.Counter
}

// NewServe registers the series on reg. It panics when reg has one of them already.
func NewServe(reg prometheus.Registerer) *Serve {
	s := &Serve{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "serve_requests_total", Help: "Requests of followers, by endpoint and status; wrong ids have 401.",
		}, []string{"endpoint", "code"}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "serve_sent_bytes_total", Help: "Bytes of answers to followers.",
		}),
	}
	reg.MustRegister(s.requests, s.sent)
	return s
}

// Request counts an answered request. endpoint is "" for an unknown one.
func (s *Serve) Request(endpoint string, status int, sent int64) {
	endpoint = cmp.Or(endpoint, "unknown")
	s.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
	s.sent.Add(float64(sent))
}
