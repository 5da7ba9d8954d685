package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// publishSeries are the series of publishing to object storage.
type publishSeries struct {
	runs                      *prometheus.CounterVec
	bytes                     prometheus.Counter
	generation, leader        prometheus.Gauge
	lastSuccess, failingSince prometheus.Gauge

	mu    sync.Mutex // guards what follows
	fails bool
}

func newPublishSeries(reg prometheus.Registerer, results []string) *publishSeries {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	s := &publishSeries{
		runs:         prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "publish_runs_total", Help: "Attempts to publish to object storage, by result."}, []string{"result"}),
		bytes:        prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "publish_uploaded_bytes_total", Help: "Bytes of objects that were uploaded to object storage."}),
		generation:   gauge("publish_generation", "Generation in object storage when this host looked last; 0 for none."),
		leader:       gauge("publish_leader", "1 while this publisher holds the lease of the election, otherwise 0."),
		lastSuccess:  gauge("publish_last_success_timestamp_seconds", "Time when object storage was last known to show what is served; 0 before that."),
		failingSince: gauge("publish_failing_since_timestamp_seconds", "Time since when publishing to object storage fails; 0 while it does not."),
	}
	for _, result := range results {
		s.runs.WithLabelValues(result)
	}
	reg.MustRegister(s.runs, s.bytes, s.generation, s.leader, s.lastSuccess, s.failingSince)
	return s
}

// Uploaded counts bytes that were uploaded to object storage.
func (m *Metrics) Uploaded(bytes int64) { m.publish.bytes.Add(float64(bytes)) }

// Published counts an attempt to publish to object storage.
func (m *Metrics) Published(result string, generation int, at time.Time) {
	p := m.publish
	p.runs.WithLabelValues(result).Inc()
	m.publish.mu.Lock()
	defer m.publish.mu.Unlock()
	if result == publishFailed {
		if !m.publish.fails {
			p.failingSince.Set(seconds(at))
		}
		m.publish.fails = true
		return
	}
	m.publish.fails = false
	p.failingSince.Set(0)
	if generation > 0 {
		p.generation.Set(float64(generation))
		p.lastSuccess.Set(seconds(at))
	}
}

// PublishedBefore restores what an earlier process knew, so that a restart ends no alert.
func (m *Metrics) PublishedBefore(generation int, failingSince time.Time) {
	p := m.publish
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails = !failingSince.IsZero()
	p.failingSince.Set(seconds(failingSince))
	p.generation.Set(float64(generation))
}

// publishFailed is a result, as package report names it.
const publishFailed = "failed"

// Leads says whether this publisher holds the lease.
func (m *Metrics) Leads(leads bool) {
	value := 0.0
	if leads {
		value = 1
	}
	m.publish.leader.Set(value)
}

// PublishesNothing resets the series when the configuration names no place any more.
func (m *Metrics) PublishesNothing() {
	m.publish.mu.Lock()
	defer m.publish.mu.Unlock()
	m.publish.fails = false
	m.publish.failingSince.Set(0)
	m.publish.generation.Set(0)
	m.publish.leader.Set(0)
}
