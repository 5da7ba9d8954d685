package metrics

import "time"

// Probed shows the last answer of a manifest's consumer.
func (m *Metrics) Probed(name string, passed bool, at time.Time) {
	success := 0.0
	if passed {
		success = 1
	}
	m.probeSuccess.WithLabelValues(name).Set(success)
	m.probedAt.WithLabelValues(name).Set(seconds(at))
}

// ProbeEnded counts the time from a swap to the verdict of a probe.
func (m *Metrics) ProbeEnded(took time.Duration) { m.probeDuration.Observe(took.Seconds()) }
