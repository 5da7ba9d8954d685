// Package metrics holds every series that syncd exports, in one struct on a
// given Registerer. Names and labels are part of the contract with dashboards
// and alerts; no label holds a file name or an address.
package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "syncd"

// Metrics are the series. Its methods are safe for concurrent use.
type Metrics struct {
	syncRuns        *prometheus.CounterVec
	syncDuration    prometheus.Histogram
	lastCheck       *prometheus.GaugeVec
	lastSuccess     *prometheus.GaugeVec
	releaseInfo     *prometheus.GaugeVec
	downloadBytes   *prometheus.CounterVec
	filesDownloaded *prometheus.CounterVec
	verifyFailures  *prometheus.CounterVec
	refusals        *prometheus.CounterVec
	mirrorBytes     *prometheus.GaugeVec
	httpRequests    *prometheus.CounterVec
	httpRetries     *prometheus.CounterVec
}

// New registers every series on reg. free is asked for the free bytes of the
// data directory's file system at each scrape.
func New(reg prometheus.Registerer, version string, free func() float64) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &Metrics{
		syncRuns: counter("sync_runs_total", "Syncs of a manifest, by result: updated, unchanged, failed or refused.", "manifest", "result"),
		syncDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "sync_duration_seconds", Help: "How long syncs took, of all their manifests together.",
			Buckets: []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600},
		}),
		lastCheck:       gauge("last_check_timestamp_seconds", "When the provider was last asked about a manifest and a sync came to an end, changed or not.", "manifest"),
		lastSuccess:     gauge("last_success_timestamp_seconds", "When a manifest was last found or brought up to date.", "manifest"),
		releaseInfo:     gauge("release_info", "The release and revision of a manifest that is served; always 1.", "manifest", "release", "revision"),
		downloadBytes:   counter("download_bytes_total", "Bytes of files that arrived from the provider.", "manifest"),
		filesDownloaded: counter("files_downloaded_total", "Files that were downloaded and proven.", "manifest"),
		verifyFailures:  counter("verify_failures_total", "Digests that were not the promised one: of every try of a download, and of files re-read.", "manifest"),
		refusals:        counter("refusals_total", "Syncs of a manifest that were refused, by reason.", "manifest", "reason"),
		mirrorBytes:     gauge("mirror_bytes", "Size of the served revision of a manifest.", "manifest"),
		httpRequests:    counter("http_requests_total", "Requests to the provider, by endpoint and status; code error means that no answer came.", "endpoint", "code"),
		httpRetries:     counter("http_retries_total", "Requests to the provider that were tried again.", "endpoint"),
	}
	build := gauge("build_info", "The version of syncd and of Go that built it; always 1.", "version", "goversion")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	diskFree := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "disk_free_bytes", Help: "Bytes that syncd may still write to the data directory's file system.",
	}, free)
	reg.MustRegister(m.syncRuns, m.syncDuration, m.lastCheck, m.lastSuccess, m.releaseInfo, m.downloadBytes, m.filesDownloaded,
		m.verifyFailures, m.refusals, m.mirrorBytes, m.httpRequests, m.httpRetries, build, diskFree)
	return m
}

// Manifest makes every series of a configured manifest exist, at 0 until it has a value.
func (m *Metrics) Manifest(name string, results, reasons []string) {
	for _, result := range results {
		m.syncRuns.WithLabelValues(name, result)
	}
	for _, reason := range reasons {
		m.refusals.WithLabelValues(name, reason)
	}
	for _, vec := range []*prometheus.CounterVec{m.downloadBytes, m.filesDownloaded, m.verifyFailures} {
		vec.WithLabelValues(name)
	}
	for _, vec := range []*prometheus.GaugeVec{m.lastCheck, m.lastSuccess, m.mirrorBytes} {
		vec.WithLabelValues(name)
	}
}

// Forget drops the series of a manifest that is configured no longer.
func (m *Metrics) Forget(name string) {
	labels := prometheus.Labels{"manifest": name}
	for _, vec := range []*prometheus.CounterVec{m.syncRuns, m.downloadBytes, m.filesDownloaded, m.verifyFailures, m.refusals} {
		vec.DeletePartialMatch(labels)
	}
	for _, vec := range []*prometheus.GaugeVec{m.lastCheck, m.lastSuccess, m.releaseInfo, m.mirrorBytes} {
		vec.DeletePartialMatch(labels)
	}
}

// Serving tells which revision of a manifest is served, and its size.
func (m *Metrics) Serving(name, release, revision string, bytes int64) {
	m.releaseInfo.DeletePartialMatch(prometheus.Labels{"manifest": name})
	m.releaseInfo.WithLabelValues(name, release, revision).Set(1)
	m.mirrorBytes.WithLabelValues(name).Set(float64(bytes))
}

// Checked tells when a manifest was last checked and last up to date; zero times are left out.
func (m *Metrics) Checked(name string, check, success time.Time) {
	setTime(m.lastCheck.WithLabelValues(name), check)
	setTime(m.lastSuccess.WithLabelValues(name), success)
}

func setTime(gauge prometheus.Gauge, t time.Time) {
	if !t.IsZero() {
		gauge.Set(float64(t.UnixMilli()) / 1000)
	}
}

// Synced counts the outcome of one manifest's sync; reason is "" unless it was refused.
func (m *Metrics) Synced(name, result, reason string) {
	m.syncRuns.WithLabelValues(name, result).Inc()
	if reason != "" {
		m.refusals.WithLabelValues(name, reason).Inc()
	}
}

// SyncTook observes the duration of a whole sync.
func (m *Metrics) SyncTook(d time.Duration) { m.syncDuration.Observe(d.Seconds()) }

// Downloaded counts bytes as they arrive for a manifest.
func (m *Metrics) Downloaded(name string, bytes int64) {
	m.downloadBytes.WithLabelValues(name).Add(float64(bytes))
}

// FileDownloaded counts a proven file.
func (m *Metrics) FileDownloaded(name string) { m.filesDownloaded.WithLabelValues(name).Inc() }

// VerifyFailed counts a file whose digest was not the promised one.
func (m *Metrics) VerifyFailed(name string) { m.verifyFailures.WithLabelValues(name).Inc() }

// Request counts a request to the provider; with Retry it is a transport.Observer.
func (m *Metrics) Request(endpoint, code string) {
	m.httpRequests.WithLabelValues(endpoint, code).Inc()
}

// Retry counts a request that is tried again.
func (m *Metrics) Retry(endpoint string) { m.httpRetries.WithLabelValues(endpoint).Inc() }
