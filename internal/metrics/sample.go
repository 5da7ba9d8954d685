package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Sample is the value of one series.
type Sample struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Value  float64           `json:"value"`
}

// Samples returns the gauges and counters of gatherer, but not values that JSON cannot hold.
func Samples(gatherer prometheus.Gatherer) ([]Sample, error) {
	families, err := gatherer.Gather()
	var samples []Sample
	for _, family := range families {
		for _, m := range family.GetMetric() {
			value, ok := valueOf(m)
			if !ok || math.IsNaN(value) || math.IsInf(value, 0) {
				continue
			}
			samples = append(samples, Sample{Name: family.GetName(), Labels: labelsOf(m), Value: value})
		}
	}
	return samples, err
}

func valueOf(m *dto.Metric) (float64, bool) {
	switch {
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue(), true
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue(), true
	}
	return 0, false
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}
