// Package metrics holds every series that syncd exports, in one struct on a
// given Registerer. Names and labels are part of the contract with dashboards
// and alerts; no label holds a file name or an address.
package metrics

import (
	"net/http"
	"runtime"
	"strconv"
	"sync"
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

	state         *prometheus.GaugeVec
	newest        *prometheus.GaugeVec
	behind        *prometheus.GaugeVec
	pinned        *prometheus.GaugeVec
	activeSince   *prometheus.GaugeVec
	diskNeeded    *prometheus.GaugeVec
	resumedBytes  *prometheus.CounterVec
	reloadOK      prometheus.Gauge
	reloadSuccess prometheus.Gauge

	mu    sync.Mutex
	shown map[infoKey][]string // the labels of the info series that exist
}

// Asked are values that are asked for at each scrape.
type Asked struct {
	DiskFree func() float64   // bytes; NaN when not known
	CoolDown func() time.Time // until when the provider asked to wait; zero for not
}

// New registers every series on reg.
func New(reg prometheus.Registerer, version string, asked Asked) *Metrics {
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
		httpRequests:    counter("http_requests_total", "Requests to the provider, by endpoint and status; one without a meaning is told by its first digit, such as 7xx, and code error means that no answer came.", "endpoint", "code"),
		httpRetries:     counter("http_retries_total", "Requests to the provider that were tried again.", "endpoint"),

		state:        gauge("manifest_state", "How a manifest stands after its last sync: 1 for in_sync, failed, refused, held or pending, 0 for the others.", "manifest", "state"),
		newest:       gauge("newest_release_info", "The newest release of a manifest that the provider was seen to list; always 1.", "manifest", "release"),
		behind:       gauge("releases_behind", "Months from the served release of a manifest to the newest seen; 0 while one of them is not known.", "manifest"),
		pinned:       gauge("release_pinned", "Whether the configuration names a manifest's release, instead of latest.", "manifest"),
		activeSince:  gauge("active_since_timestamp_seconds", "When the served revision of a manifest came into service.", "manifest"),
		diskNeeded:   gauge("disk_needed_bytes", "Bytes of disk that the last plan of a manifest asked for; 0 once nothing is left of it to do.", "manifest"),
		resumedBytes: counter("resumed_bytes_total", "Bytes that were not transferred again, because a download continued where it had stopped.", "manifest"),

		shown: map[infoKey][]string{},
	}
	value := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}
	}
	m.reloadOK = prometheus.NewGauge(value("config_last_reload_successful", "Whether the last reading of the configuration succeeded, at start or by SIGHUP."))
	m.reloadSuccess = prometheus.NewGauge(value("config_last_reload_success_timestamp_seconds", "When the configuration was last read with success."))
	build := gauge("build_info", "The version of syncd and of Go that built it; always 1.", "version", "goversion")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	diskFree := prometheus.NewGaugeFunc(value("disk_free_bytes", "Bytes that syncd may still write to the data directory's file system."), asked.DiskFree)
	coolDown := prometheus.NewGaugeFunc(value("cool_down_until_timestamp_seconds", "Until when the configured origin asked not to be called; 0 when it may be called."),
		func() float64 { return seconds(asked.CoolDown()) })
	reg.MustRegister(m.syncRuns, m.syncDuration, m.lastCheck, m.lastSuccess, m.releaseInfo, m.downloadBytes, m.filesDownloaded,
		m.verifyFailures, m.refusals, m.mirrorBytes, m.httpRequests, m.httpRetries, build, diskFree, coolDown,
		m.state, m.newest, m.behind, m.pinned, m.activeSince, m.diskNeeded, m.resumedBytes, m.reloadOK, m.reloadSuccess)
	return m
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

// Resumed counts bytes that a download did not have to fetch again.
func (m *Metrics) Resumed(name string, bytes int64) {
	m.resumedBytes.WithLabelValues(name).Add(float64(bytes))
}

// FileDownloaded counts a proven file.
func (m *Metrics) FileDownloaded(name string) { m.filesDownloaded.WithLabelValues(name).Inc() }

// VerifyFailed counts a file whose digest was not the promised one.
func (m *Metrics) VerifyFailed(name string) { m.verifyFailures.WithLabelValues(name).Inc() }

// Request counts a request to the provider; with Retry it is a transport.Observer.
// A status without a meaning is counted by its first digit: no provider makes
// hundreds of series by making up statuses.
func (m *Metrics) Request(endpoint, code string) {
	if status, err := strconv.Atoi(code); err == nil && http.StatusText(status) == "" {
		code = code[:1] + "xx"
	}
	m.httpRequests.WithLabelValues(endpoint, code).Inc()
}

// Retry counts a request that is tried again.
func (m *Metrics) Retry(endpoint string) { m.httpRetries.WithLabelValues(endpoint).Inc() }
