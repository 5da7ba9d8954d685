package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sourceSeries are the series of several sources.
type sourceSeries struct{ inUse, failing *prometheus.GaugeVec }

func newSourceSeries(reg prometheus.Registerer) *sourceSeries {
	gauge := func(name, help string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{"source"})
		reg.MustRegister(v)
		return v
	}
	return &sourceSeries{
		inUse:   gauge("source_in_use", "1 for the one of several sources that the last sync took its data from, otherwise 0."),
		failing: gauge("source_failing_since_timestamp_seconds", "Time since when one of several sources cannot be used; 0 while it can."),
	}
}

// SourcesAre shows which of several sources is in use, and which cannot be used since when.
func (m *Metrics) SourcesAre(names []string, inUse string, failing map[string]time.Time) {
	m.sources.inUse.Reset()
	m.sources.failing.Reset()
	for _, name := range names {
		value := 0.0
		if name == inUse {
			value = 1
		}
		m.sources.inUse.WithLabelValues(name).Set(value)
		m.sources.failing.WithLabelValues(name).Set(seconds(failing[name]))
	}
}
