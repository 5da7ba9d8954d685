package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sourceSeries are the series of several sources.
type sourceSeries struct {
	inUse, failing *prometheus.GaugeVec

	mu    sync.Mutex // guards names
	names []string   // that have series
}

func newSourceSeries(reg prometheus.Registerer) *sourceSeries {
	gauge := func(name, help string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{"source"})
		reg.MustRegister(v)
		return v
	}
	return &sourceSeries{
		inUse:   gauge("source_in_use", "1 for the one of several sources that manifests came from last, otherwise 0."),
		failing: gauge("source_failing_since_timestamp_seconds", "Time since when one of several sources cannot be used; 0 while it can."),
	}
}

// SourcesAre shows which of several sources are in use, and which cannot be used, each since when.
// The series of other sources are dropped.
func (m *Metrics) SourcesAre(names []string, used, failing map[string]time.Time) {
	m.sources.mu.Lock()
	defer m.sources.mu.Unlock()
	for _, name := range m.sources.names {
		if !slices.Contains(names, name) {
			m.sources.inUse.DeleteLabelValues(name)
			m.sources.failing.DeleteLabelValues(name)
		}
	}
	m.sources.names = names
	for _, name := range names {
		value := 0.0
		if !used[name].IsZero() {
			value = 1
		}
		m.sources.inUse.WithLabelValues(name).Set(value)
		m.sources.failing.WithLabelValues(name).Set(seconds(failing[name]))
	}
}
