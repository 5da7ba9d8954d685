package metrics

import "github.com/prometheus/client_golang/prometheus"

// Patches is what the metrics show of the patches for other hosts.
type Patches struct {
	Made, Failed int   // since the start
	Bytes        int64 // that are kept
}

// registerPatches registers the series of patches.
func registerPatches(reg prometheus.Registerer, probe func() Patches) {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: namespace, Name: name, Help: help}
	}
	reg.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts(opts("patches_made_total", "Patches and compressed wholes that were made for other hosts and are worth keeping.")), func() float64 { return float64(probe().Made) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts(opts("patches_failed_total", "Attempts to make a patch that failed. Other hosts take the whole content then.")), func() float64 { return float64(probe().Failed) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts("patches_bytes", "Size of the patches and compressed wholes that are kept for other hosts.")), func() float64 { return float64(probe().Bytes) }),
	)
}
