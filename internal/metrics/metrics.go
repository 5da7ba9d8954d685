package metrics

import (
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const namespace = "syncd"

// Metrics holds all series. Its methods are safe for concurrent use.
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
	hookDeliveries  *prometheus.CounterVec

	state       *prometheus.GaugeVec
	newest      *prometheus.GaugeVec
	behind      *prometheus.GaugeVec
	pinned      *prometheus.GaugeVec
	activeSince *prometheus.GaugeVec
	diskNeeded  *prometheus.GaugeVec
	expected    *prometheus.GaugeVec
	forecast    *prometheus.GaugeVec

	stagedSince, quarantinedSince, heldUntil, expires *prometheus.GaugeVec

	probeSuccess, probedAt *prometheus.GaugeVec
	probeDuration          prometheus.Histogram

	resumedBytes  *prometheus.CounterVec
	destroyed     *prometheus.CounterVec
	reloadOK      prometheus.Gauge
	reloadSuccess prometheus.Gauge
	scrubRead     prometheus.Counter
	upload        *uploadSeries
	sources       *sourceSeries

	viewState    *prometheus.GaugeVec
	exportState  *prometheus.GaugeVec
	exportBehind *prometheus.GaugeVec

	mu    sync.Mutex
	shown map[infoKey][]string // the labels of the info series that exist
}

// Probes are called at each scrape.
type Probes struct {
	DiskFree func() float64   // bytes; NaN when unknown
	CoolDown func() time.Time // end of the wait that the provider asked for; zero for no wait
	Orphaned func() float64   // what is served although they left the configuration
	Overdue  func() float64   // manifests with data that was to be destroyed by now
	Hooks    func() []HookQueue

	Scrub     func() Scrub
	Bandwidth func() float64 // bytes per second that downloads may use now; 0 for no limit
	Fleet     func() Fleet
	Patches   func() Patches

	RetryingSince   func() time.Time // when the first request began that is retried; zero while none is
	UpstreamExpires func() time.Time // until when what the upstream signed is believed; zero without a trust file

	LastProgress func() time.Time // when the provider was last heard of while a sync waits for it; zero while none does
}

// New registers every series on reg. It panics when reg has one of them already.
func New(reg prometheus.Registerer, version string, probes Probes) *Metrics {
	factory := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &Metrics{
		syncRuns: counter("sync_runs_total", "Syncs of a manifest, by result: updated, unchanged, failed or refused.", "manifest", "result"),
		syncDuration: factory.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "sync_duration_seconds", Help: "Duration of whole syncs, with all their manifests.",
			Buckets: []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600},
			// The same as a native histogram, for scrapes by protobuf.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}),
		lastCheck:       gauge("last_check_timestamp_seconds", "Time of the last check of a manifest at the provider, whether it found a change or not.", "manifest"),
		lastSuccess:     gauge("last_success_timestamp_seconds", "Time when a manifest was last up to date.", "manifest"),
		releaseInfo:     gauge("release_info", "The served release and revision of a manifest; always 1.", "manifest", "release", "revision"),
		downloadBytes:   counter("download_bytes_total", "Bytes of files received from the provider.", "manifest"),
		filesDownloaded: counter("files_downloaded_total", "Files that were downloaded and verified.", "manifest"),
		verifyFailures:  counter("verify_failures_total", "Files whose digest was not the expected one: each attempt of a download, and each file re-read.", "manifest"),
		refusals:        counter("refusals_total", "Syncs of a manifest that were refused, by reason.", "manifest", "reason"),
		mirrorBytes:     gauge("mirror_bytes", "Size of the served revision of a manifest.", "manifest"),
		httpRequests:    counter("http_requests_total", "Requests to the provider, by endpoint and status code. Unknown codes count as 7xx and the like; code error means that there was no response.", "endpoint", "code"),
		httpRetries:     counter("http_retries_total", "Retries of requests to the provider.", "endpoint"),
		hookDeliveries:  counter("hook_deliveries_total", "Attempts to deliver an event to a hook, by result: delivered or failed. Events that were given up count as gave_up.", "hook", "result"),

		state:            gauge("manifest_state", "State of a manifest after its last sync: 1 for in_sync, failed, refused, held, pending, staged, quarantined or expired, 0 for the others.", "manifest", "state"),
		newest:           gauge("newest_release_info", "The newest release of a manifest that the provider listed; always 1.", "manifest", "release"),
		behind:           gauge("releases_behind", "Months from the served release of a manifest to the newest listed one; 0 while one of them is unknown.", "manifest"),
		pinned:           gauge("release_pinned", "1 when the configuration names a release of the manifest instead of latest.", "manifest"),
		activeSince:      gauge("active_since_timestamp_seconds", "Time when the served revision of a manifest was published.", "manifest"),
		diskNeeded:       gauge("disk_needed_bytes", "Disk space that the last sync of a manifest needed; 0 once it is done.", "manifest"),
		stagedSince:      gauge("staged_since_timestamp_seconds", "Time since when a revision of a manifest is staged, so that it waits to go live; 0 for none.", "manifest"),
		quarantinedSince: gauge("quarantined_since_timestamp_seconds", "Time when the gate or the probe refused the revision of a manifest that is in quarantine; 0 for none.", "manifest"),
		heldUntil:        gauge("held_until_timestamp_seconds", "End of the hold of a manifest by `syncd hold`; 0 without one.", "manifest"),
		expires:          gauge("manifest_expires_timestamp_seconds", "End of the last day on which the data of a manifest may be used, served or withdrawn; 0 if it does not expire.", "manifest"),
		expected:         gauge("release_expected_timestamp_seconds", "Time when the release after the newest one of a manifest is due, by past releases; 0 while that is unknown.", "manifest"),
		forecast:         gauge("disk_forecast_bytes", "Disk space that the next three releases of a manifest will probably take at most, beyond what pruning frees; 0 while that is unknown.", "manifest"),
		destroyed:        counter("destroyed_bytes_total", "Size of the contents that were destroyed for good, without those that another revision shares.", "manifest"),
		probeSuccess:     gauge("probe_success", "1 when the consumer of a manifest passed its last probe, else 0. See the time of the last probe.", "manifest"),
		probedAt:         gauge("probe_last_timestamp_seconds", "Time of the last probe of the consumer of a manifest; 0 for never.", "manifest"),
		probeDuration: factory.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "probe_duration_seconds", Help: "Time from a swap to the verdict of the probe.",
			Buckets: []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900, 3600},
		}),
		resumedBytes: counter("resumed_bytes_total", "Bytes that a resumed download did not transfer again.", "manifest"),

		viewState:    gauge("view_state", "State of a view after its last sync: 1 for in_sync, refused, failed or pending, 0 for the others.", "view", "state"),
		exportState:  gauge("export_state", "State of the exported folder of a view: 1 for in_sync, behind, refused, failed or pending, 0 for the others.", "view", "state"),
		exportBehind: gauge("export_behind_since_timestamp_seconds", "Time since when the exported folder of a view does not follow it; 0 while it does.", "view"),

		reloadOK:      factory.NewGauge(gaugeOpts("config_last_reload_successful", "1 when the last load of the configuration succeeded, at start or by SIGHUP.")),
		reloadSuccess: factory.NewGauge(gaugeOpts("config_last_reload_success_timestamp_seconds", "Time of the last successful load of the configuration.")),

		shown: map[infoKey][]string{},
	}
	gauge("build_info", "The version of syncd, and of Go that built it; always 1.", "version", "goversion").WithLabelValues(version, runtime.Version()).Set(1)
	probes.register(reg)
	m.registerScrub(reg, probes.Scrub)
	registerPatches(reg, probes.Patches)
	m.sources = newSourceSeries(reg)
	m.upload = newUploadSeries(reg, []string{"published", "unchanged", "standby", uploadFailed})
	return m
}

func gaugeOpts(name, help string) prometheus.GaugeOpts {
	return prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}
}

// register registers the series that have their values from probes.
func (p Probes) register(reg prometheus.Registerer) {
	probe := func(name, help string, read func() float64) {
		promauto.With(reg).NewGaugeFunc(gaugeOpts(name, help), read)
	}
	probe("disk_free_bytes", "Bytes that syncd may still write to the file system of the data directory.", p.DiskFree)
	probe("cool_down_until_timestamp_seconds", "End of the wait that the provider asked for; 0 without such a wait.", func() float64 { return seconds(p.CoolDown()) })
	probe("sync_last_progress_timestamp_seconds", "Time when the provider was last heard of by the wait of a sync that is silent longest; 0 while no sync waits for the provider.",
		func() float64 { return seconds(p.LastProgress()) })
	probe("sync_retrying_since_timestamp_seconds", "Time when the first request to the provider began that is being retried without success; 0 while none is.",
		func() float64 { return seconds(p.RetryingSince()) })
	probe("upstream_expires_timestamp_seconds", "End of the statement of the upstream that was believed last; 0 without source.trust_file, and before the first.",
		func() float64 { return seconds(p.UpstreamExpires()) })
	probe("orphaned_manifests", "Manifests and views that left the configuration and are still served.", p.Orphaned)
	probe("overdue_destructions", "Manifests with data that was to be destroyed by now, and is still here; the status says why.", p.Overdue)
	probe("bandwidth_limit_bytes_per_second", "Bytes per second that all downloads together may use now, by transfers.bandwidth; 0 without a limit.", p.Bandwidth)
	probe("bandwidth_limit_bytes", "Deprecated, gone in 0.3.0: use syncd_bandwidth_limit_bytes_per_second.", p.Bandwidth)
	reg.MustRegister(newHookCollector(p.Hooks), newFleetCollector(p.Fleet))
}

// Synced counts a result of one manifest; reason is "" unless the result is refused.
func (m *Metrics) Synced(name, result, reason string) {
	m.syncRuns.WithLabelValues(name, result).Inc()
	if reason != "" {
		m.refusals.WithLabelValues(name, reason).Inc()
	}
}

// SyncTook observes the duration of a whole sync.
func (m *Metrics) SyncTook(d time.Duration) { m.syncDuration.Observe(d.Seconds()) }

// Downloaded counts bytes that a manifest received.
func (m *Metrics) Downloaded(name string, bytes int64) {
	m.downloadBytes.WithLabelValues(name).Add(float64(bytes))
}

// Resumed counts bytes that a download did not have to fetch again.
func (m *Metrics) Resumed(name string, bytes int64) {
	m.resumedBytes.WithLabelValues(name).Add(float64(bytes))
}

// FileDownloaded counts a file that was downloaded and verified.
func (m *Metrics) FileDownloaded(name string) { m.filesDownloaded.WithLabelValues(name).Inc() }

// Destroyed counts contents that were destroyed.
func (m *Metrics) Destroyed(name string, bytes int64) {
	m.destroyed.WithLabelValues(name).Add(float64(bytes))
}

// VerifyFailed counts a file whose digest was not the expected one.
func (m *Metrics) VerifyFailed(name string) { m.verifyFailures.WithLabelValues(name).Inc() }

// Request counts a request to the provider; code is the status or "error". Metrics
// implements transport.Observer with Request and Retry. Unknown statuses count by
// their first digit, so that a provider cannot create hundreds of series.
func (m *Metrics) Request(endpoint, code string) {
	if status, err := strconv.Atoi(code); err == nil && http.StatusText(status) == "" {
		code = code[:1] + "xx"
	}
	m.httpRequests.WithLabelValues(endpoint, code).Inc()
}

// Retry counts a retry of a request.
func (m *Metrics) Retry(endpoint string) { m.httpRetries.WithLabelValues(endpoint).Inc() }
