package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// uploadSeries are the series of publishing to object storage: of all places together, and of
// each place of a list.
type uploadSeries struct {
	runs  *prometheus.CounterVec
	bytes prometheus.Counter
	all   uploadGauges

	targetRuns  *prometheus.CounterVec
	targetBytes *prometheus.CounterVec
	each        uploadGauges
	results     []string

	mu      sync.Mutex      // guards what follows
	targets []*UploadTarget // in force, in the order of the configuration
}

// uploadGauges show the state of one place or, without a label, of all.
type uploadGauges struct{ generation, leader, lastSuccess, failingSince, damaged, verified *prometheus.GaugeVec }

// UploadTarget has the series of one place. Safe for concurrent use.
type UploadTarget struct {
	series *uploadSeries
	name   string // "" for the only one

	// Guarded by series.mu.
	generation, damaged   int
	leads                 bool
	lastSuccess, verified time.Time
	failing               [2]time.Time // since when publications fail, and collections; zero for not
}

func newUploadSeries(reg prometheus.Registerer, results []string) *uploadSeries {
	gauges := func(prefix, of string, labels ...string) (g uploadGauges) {
		gauge := func(name, help string) *prometheus.GaugeVec {
			v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: prefix + name, Help: help + of}, labels)
			reg.MustRegister(v)
			return v
		}
		g.generation = gauge("generation", "Generation in object storage when this host looked last; 0 for none")
		g.leader = gauge("leader", "1 while this publisher holds the lease of the election, otherwise 0")
		g.lastSuccess = gauge("last_success_timestamp_seconds", "Time when object storage was last known to show what is served; 0 before that")
		g.failingSince = gauge("failing_since_timestamp_seconds", "Time since when publishing to object storage, or deleting garbage there, fails; 0 while it does not")
		g.damaged = gauge("damaged_objects", "Objects and records in object storage that the last verification found missing or damaged and that were not repaired")
		g.verified = gauge("verified_timestamp_seconds", "Time of the last verification of object storage; 0 before the first")
		return g
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	s := &uploadSeries{
		runs:        counter("publish_runs_total", "Attempts to publish to object storage, by result.", "result"),
		bytes:       prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "publish_uploaded_bytes_total", Help: "Bytes of objects that were uploaded to object storage."}),
		all:         gauges("publish_", "."),
		targetRuns:  counter("publish_target_runs_total", "Attempts to publish to one of several places, by result.", "target", "result"),
		targetBytes: counter("publish_target_uploaded_bytes_total", "Bytes of objects that were uploaded to one of several places.", "target"),
		each:        gauges("publish_target_", ", for one of several places.", "target"),
		results:     results,
	}
	for _, result := range results {
		s.runs.WithLabelValues(result)
	}
	reg.MustRegister(s.bytes)
	s.showLocked()
	return s
}

// showLocked shows what is true of all places: the worst of each, and the generation of the first.
func (s *uploadSeries) showLocked() {
	var sum UploadTarget
	for i, t := range s.targets {
		since := t.failingSince()
		if i == 0 {
			sum = *t
			sum.failing = [2]time.Time{since}
			continue
		}
		sum.damaged, sum.leads = sum.damaged+t.damaged, sum.leads && t.leads
		sum.lastSuccess, sum.verified = earlier(sum.lastSuccess, t.lastSuccess), earlier(sum.verified, t.verified)
		sum.failing[1] = since
		sum.failing = [2]time.Time{sum.failingSince()}
	}
	s.all.show(sum)
	for _, t := range s.targets {
		if t.name != "" {
			s.each.show(*t, t.name)
		}
	}
}

func (g uploadGauges) show(t UploadTarget, labels ...string) {
	leads := 0.0
	if t.leads {
		leads = 1
	}
	g.generation.WithLabelValues(labels...).Set(float64(t.generation))
	g.leader.WithLabelValues(labels...).Set(leads)
	g.lastSuccess.WithLabelValues(labels...).Set(seconds(t.lastSuccess))
	g.failingSince.WithLabelValues(labels...).Set(seconds(t.failingSince()))
	g.damaged.WithLabelValues(labels...).Set(float64(t.damaged))
	g.verified.WithLabelValues(labels...).Set(seconds(t.verified))
}

func (g uploadGauges) drop(name string) {
	for _, v := range []*prometheus.GaugeVec{g.generation, g.leader, g.lastSuccess, g.failingSince, g.damaged, g.verified} {
		v.DeleteLabelValues(name)
	}
}

// earlier is the earlier of two times; zero comes before all.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// UploadTarget returns the series of a place that is not in force yet; name is "" for the only
// place.
func (m *Metrics) UploadTarget(name string) *UploadTarget {
	return &UploadTarget{series: m.upload, name: name}
}

// UploadsTo puts places in force, and drops the series of others.
func (m *Metrics) UploadsTo(targets []*UploadTarget) {
	s := m.upload
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.targets {
		if !slices.ContainsFunc(targets, func(t *UploadTarget) bool { return t.name == old.name }) && old.name != "" {
			s.each.drop(old.name)
			s.targetRuns.DeletePartialMatch(prometheus.Labels{"target": old.name})
			s.targetBytes.DeleteLabelValues(old.name)
		}
	}
	s.targets = targets
	for _, t := range targets {
		if t.name != "" {
			s.targetBytes.WithLabelValues(t.name)
			for _, result := range s.results {
				s.targetRuns.WithLabelValues(t.name, result)
			}
		}
	}
	s.showLocked()
}

// change changes what is known of a place, and shows it.
func (t *UploadTarget) change(do func()) {
	t.series.mu.Lock()
	defer t.series.mu.Unlock()
	do()
	t.series.showLocked()
}

// fail notes whether a job fails. The lock must be held.
func (t *UploadTarget) failLocked(job int, fails bool, at time.Time) {
	switch {
	case !fails:
		t.failing[job] = time.Time{}
	case t.failing[job].IsZero():
		t.failing[job] = at
	}
}

// failingSince is the time of the earliest failure; zero for none.
func (t *UploadTarget) failingSince() time.Time {
	since := t.failing[0]
	if other := t.failing[1]; since.IsZero() || !other.IsZero() && other.Before(since) {
		since = other
	}
	return since
}

// Uploaded counts bytes that were uploaded to object storage.
func (t *UploadTarget) Uploaded(bytes int64) {
	t.series.bytes.Add(float64(bytes))
	if t.name != "" {
		t.series.targetBytes.WithLabelValues(t.name).Add(float64(bytes))
	}
}

// UploadEnded counts an attempt to publish to object storage.
func (t *UploadTarget) UploadEnded(result string, generation int, at time.Time) {
	t.series.runs.WithLabelValues(result).Inc()
	if t.name != "" {
		t.series.targetRuns.WithLabelValues(t.name, result).Inc()
	}
	t.change(func() {
		t.failLocked(0, result == uploadFailed, at)
		if result != uploadFailed && generation > 0 {
			t.generation, t.lastSuccess = generation, at
		}
	})
}

// CollectionEnded notes an attempt to delete garbage from object storage.
func (t *UploadTarget) CollectionEnded(failed bool, at time.Time) {
	t.change(func() { t.failLocked(1, failed, at) })
}

// Before restores what an earlier process knew, so that a restart ends no alert.
func (t *UploadTarget) Before(generation int, failing, collectionFailing time.Time) {
	t.change(func() {
		t.failing, t.generation = [2]time.Time{failing, collectionFailing}, generation
	})
}

// Verified shows what a verification of object storage has left missing or damaged.
func (t *UploadTarget) Verified(left int, at time.Time) {
	t.change(func() { t.damaged, t.verified = left, at })
}

// uploadFailed is a result, as package report names it.
const uploadFailed = "failed"

// Leads says whether this publisher holds the lease.
func (t *UploadTarget) Leads(leads bool) { t.change(func() { t.leads = leads }) }
