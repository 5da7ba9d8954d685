package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Scrub is what the metrics show of the newest scrub.
type Scrub struct {
	Share     float64   // of the bytes, that was read
	Completed time.Time // when one ended last
	Left      int       // damaged objects that are not repaired
}

// registerScrub registers the series of scrubs.
func (m *Metrics) registerScrub(reg prometheus.Registerer, probe func() Scrub) {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: namespace, Name: name, Help: help}
	}
	m.scrubRead = prometheus.NewCounter(prometheus.CounterOpts(opts("scrub_read_bytes_total", "Bytes of objects that scrubs have re-read.")))
	gauge := func(name, help string, value func(Scrub) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts(name, help)), func() float64 { return value(probe()) })
	}
	reg.MustRegister(m.scrubRead,
		gauge("scrub_progress_ratio", "Share of the bytes that the newest scrub has re-read, 0 to 1.", func(s Scrub) float64 { return s.Share }),
		gauge("scrub_completed_timestamp_seconds", "Time when a scrub ended last; 0 before the first end.", func(s Scrub) float64 { return seconds(s.Completed) }),
		gauge("damaged_objects", "Objects that scrubs found damaged and that are not repaired.", func(s Scrub) float64 { return float64(s.Left) }),
	)
}

// ScrubRead counts bytes that a scrub has re-read.
func (m *Metrics) ScrubRead(bytes int64) { m.scrubRead.Add(float64(bytes)) }
