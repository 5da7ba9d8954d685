package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HookQueue describes the deliveries that wait for a hook.
type HookQueue struct {
	Hook    string
	Pending int       // deliveries
	Oldest  time.Time // when the first of their events happened; zero for none
}

// hookCollector reads the queues at each scrape: every delivery changes them.
type hookCollector struct {
	read            func() []HookQueue
	pending, oldest *prometheus.Desc
}

func newHookCollector(read func() []HookQueue) *hookCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"hook"}, nil)
	}
	return &hookCollector{
		read:    read,
		pending: desc("hook_pending_deliveries", "Events that wait to be delivered to a hook."),
		oldest:  desc("hook_oldest_pending_timestamp_seconds", "Time of the oldest event that waits to be delivered to a hook; 0 for none."),
	}
}

// Describe implements prometheus.Collector.
func (c *hookCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.pending
	descs <- c.oldest
}

// Collect implements prometheus.Collector.
func (c *hookCollector) Collect(found chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	for _, q := range c.read() {
		found <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(q.Pending), q.Hook)
		found <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, seconds(q.Oldest), q.Hook)
	}
}

// CreateHook creates the series of a configured hook, with the value 0.
func (m *Metrics) CreateHook(hook string, results []string) {
	for _, result := range results {
		m.hookDeliveries.WithLabelValues(hook, result)
	}
}

// DropHook drops the series of a hook that left the configuration.
func (m *Metrics) DropHook(hook string) {
	m.hookDeliveries.DeletePartialMatch(prometheus.Labels{"hook": hook})
}

// HookResult counts an attempt to deliver an event to a hook, or that it was given up.
func (m *Metrics) HookResult(hook, result string) {
	m.hookDeliveries.WithLabelValues(hook, result).Inc()
}
