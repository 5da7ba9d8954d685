package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// uploadSeries are the series of publishing to object storage.
type uploadSeries struct {
	runs                      *prometheus.CounterVec
	bytes                     prometheus.Counter
	generation, leader        prometheus.Gauge
	lastSuccess, failingSince prometheus.Gauge
	damaged, verified         prometheus.Gauge

	mu      sync.Mutex   // guards what follows
	failing [2]time.Time // since when publications fail, and collections; zero for not
}

// fail notes whether a job fails, and shows the earliest failure. The lock must be held.
func (s *uploadSeries) failLocked(job int, fails bool, at time.Time) {
	switch {
	case !fails:
		s.failing[job] = time.Time{}
	case s.failing[job].IsZero():
		s.failing[job] = at
	}
	since := s.failing[0]
	if other := s.failing[1]; since.IsZero() || !other.IsZero() && other.Before(since) {
		since = other
	}
	s.failingSince.Set(seconds(since))
}

func newUploadSeries(reg prometheus.Registerer, results []string) *uploadSeries {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	s := &uploadSeries{
		runs:         prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "publish_runs_total", Help: "Attempts to publish to object storage, by result."}, []string{"result"}),
		bytes:        prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "publish_uploaded_bytes_total", Help: "Bytes of objects that were uploaded to object storage."}),
		generation:   gauge("publish_generation", "Generation in object storage when this host looked last; 0 for none."),
		leader:       gauge("publish_leader", "1 while this publisher holds the lease of the election, otherwise 0."),
		lastSuccess:  gauge("publish_last_success_timestamp_seconds", "Time when object storage was last known to show what is served; 0 before that."),
		failingSince: gauge("publish_failing_since_timestamp_seconds", "Time since when publishing to object storage, or deleting garbage there, fails; 0 while it does not."),
		damaged:      gauge("publish_damaged_objects", "Objects and records in object storage that the last verification found missing or damaged and that were not repaired."),
		verified:     gauge("publish_verified_timestamp_seconds", "Time of the last verification of object storage; 0 before the first."),
	}
	for _, result := range results {
		s.runs.WithLabelValues(result)
	}
	reg.MustRegister(s.runs, s.bytes, s.generation, s.leader, s.lastSuccess, s.failingSince, s.damaged, s.verified)
	return s
}

// Uploaded counts bytes that were uploaded to object storage.
func (m *Metrics) Uploaded(bytes int64) { m.upload.bytes.Add(float64(bytes)) }

// UploadEnded counts an attempt to publish to object storage.
func (m *Metrics) UploadEnded(result string, generation int, at time.Time) {
	p := m.upload
	p.runs.WithLabelValues(result).Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failLocked(0, result == uploadFailed, at)
	if result != uploadFailed && generation > 0 {
		p.generation.Set(float64(generation))
		p.lastSuccess.Set(seconds(at))
	}
}

// CollectionEnded notes an attempt to delete garbage from object storage.
func (m *Metrics) CollectionEnded(failed bool, at time.Time) {
	m.upload.mu.Lock()
	defer m.upload.mu.Unlock()
	m.upload.failLocked(1, failed, at)
}

// UploadedBefore restores what an earlier process knew, so that a restart ends no alert.
func (m *Metrics) UploadedBefore(generation int, failing, collectionFailing time.Time) {
	p := m.upload
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = [2]time.Time{}
	p.failLocked(0, !failing.IsZero(), failing)
	p.failLocked(1, !collectionFailing.IsZero(), collectionFailing)
	p.generation.Set(float64(generation))
}

// Verified shows what a verification of object storage has left missing or damaged.
func (m *Metrics) Verified(left int, at time.Time) {
	m.upload.damaged.Set(float64(left))
	m.upload.verified.Set(seconds(at))
}

// uploadFailed is a result, as package report names it.
const uploadFailed = "failed"

// Leads says whether this publisher holds the lease.
func (m *Metrics) Leads(leads bool) {
	value := 0.0
	if leads {
		value = 1
	}
	m.upload.leader.Set(value)
}

// UploadsNothing resets the series when the configuration names no place any more.
func (m *Metrics) UploadsNothing() {
	m.upload.mu.Lock()
	defer m.upload.mu.Unlock()
	m.upload.failing = [2]time.Time{}
	m.upload.failingSince.Set(0)
	m.upload.generation.Set(0)
	m.upload.leader.Set(0)
	m.Verified(0, time.Time{})
}
