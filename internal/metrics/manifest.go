package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LabelValues are the values that labels can have.
type LabelValues struct {
	Results []string // of a sync
	Reasons []string // of a refusal
	States  []string // of a manifest
}

// CreateManifest creates every series of a configured manifest, with the value 0.
func (m *Metrics) CreateManifest(name string, values LabelValues) {
	for _, result := range values.Results {
		m.syncRuns.WithLabelValues(name, result)
	}
	for _, reason := range values.Reasons {
		m.refusals.WithLabelValues(name, reason)
	}
	for _, state := range values.States {
		m.state.WithLabelValues(name, state)
	}
	for _, vec := range []*prometheus.CounterVec{m.downloadBytes, m.filesDownloaded, m.verifyFailures, m.resumedBytes, m.destroyed} {
		vec.WithLabelValues(name)
	}
	for _, vec := range []*prometheus.GaugeVec{m.lastCheck, m.lastSuccess, m.mirrorBytes, m.behind, m.pinned, m.activeSince, m.diskNeeded, m.expected, m.forecast, m.stagedSince, m.quarantinedSince, m.heldUntil, m.probeSuccess, m.probedAt, m.expires} {
		vec.WithLabelValues(name)
	}
}

// DropManifest drops the series of a manifest that left the configuration.
func (m *Metrics) DropManifest(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := prometheus.Labels{"manifest": name}
	for _, vec := range []*prometheus.CounterVec{m.syncRuns, m.downloadBytes, m.filesDownloaded, m.verifyFailures, m.refusals, m.resumedBytes, m.destroyed} {
		vec.DeletePartialMatch(labels)
	}
	for _, vec := range []*prometheus.GaugeVec{
		m.lastCheck, m.lastSuccess, m.mirrorBytes, m.state, m.behind, m.pinned, m.activeSince, m.diskNeeded, m.expected, m.forecast, m.stagedSince, m.quarantinedSince, m.heldUntil, m.probeSuccess, m.probedAt, m.expires,
	} {
		vec.DeletePartialMatch(labels)
	}
	for _, vec := range []*prometheus.GaugeVec{m.releaseInfo, m.newest} {
		vec.DeletePartialMatch(labels)
		delete(m.shown, infoKey{vec, name})
	}
}

// ManifestStatus is the status of a manifest.
type ManifestStatus struct {
	State    string // one of States
	States   []string
	Release  string // served; "" for none
	Revision string
	Bytes    int64
	Since    time.Time // publication
	Newest   string    // release that the provider listed; "" when unknown
	Expected time.Time // when the next one is due; zero when unknown
	Behind   int       // months
	Checked  time.Time
	Success  time.Time

	Staged      time.Time // since when something is staged; zero for nothing
	Quarantined time.Time // when the gate refused what is in quarantine; zero for nothing
	HeldUntil   time.Time // by command; zero for no hold
	Expires     time.Time // when the data may be used no more; zero for never
	Withdrawn   bool      // nothing is served, because it has expired
}

// SetManifest sets the series of a manifest's status. Zero fields leave their series
// as they are, except for State, Behind, Expected and the last ones.
func (m *Metrics) SetManifest(name string, s ManifestStatus) {
	setState(m.state, name, s.State, s.States)
	m.behind.WithLabelValues(name).Set(float64(s.Behind))
	m.expected.WithLabelValues(name).Set(seconds(s.Expected))
	m.stagedSince.WithLabelValues(name).Set(seconds(s.Staged))
	m.quarantinedSince.WithLabelValues(name).Set(seconds(s.Quarantined))
	m.heldUntil.WithLabelValues(name).Set(seconds(s.HeldUntil))
	m.expires.WithLabelValues(name).Set(seconds(s.Expires))
	switch {
	case s.Release != "":
		m.info(m.releaseInfo, name, s.Release, s.Revision)
		m.mirrorBytes.WithLabelValues(name).Set(float64(s.Bytes))
	case s.Withdrawn:
		m.dropInfo(m.releaseInfo, name)
		m.mirrorBytes.WithLabelValues(name).Set(0)
		m.activeSince.WithLabelValues(name).Set(0)
	}
	setTime(m.activeSince.WithLabelValues(name), s.Since)
	if s.Newest != "" {
		m.info(m.newest, name, s.Newest)
	}
	setTime(m.lastCheck.WithLabelValues(name), s.Checked)
	setTime(m.lastSuccess.WithLabelValues(name), s.Success)
}

// infoKey identifies an info series. A manifest has one at a time in each vector.
type infoKey struct {
	vec      *prometheus.GaugeVec
	manifest string
}

// info replaces an info series if its labels changed. While they are the same it
// stays untouched, so that no scrape misses it.
func (m *Metrics) info(vec *prometheus.GaugeVec, name string, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := infoKey{vec, name}
	if slices.Equal(m.shown[key], labels) {
		return
	}
	vec.DeletePartialMatch(prometheus.Labels{"manifest": name})
	vec.WithLabelValues(append([]string{name}, labels...)...).Set(1)
	m.shown[key] = labels
}

// dropInfo removes the info series of a manifest.
func (m *Metrics) dropInfo(vec *prometheus.GaugeVec, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	vec.DeletePartialMatch(prometheus.Labels{"manifest": name})
	delete(m.shown, infoKey{vec, name})
}

// Forecast sets the disk space that the next releases of a manifest will take.
func (m *Metrics) Forecast(name string, bytes int64) {
	m.forecast.WithLabelValues(name).Set(float64(bytes))
}

// Pinned sets whether the configuration names the manifest's release.
func (m *Metrics) Pinned(name string, pinned bool) {
	m.pinned.WithLabelValues(name).Set(truth(pinned))
}

// DiskNeeded sets the disk space that the sync of a manifest needs; 0 when it is done.
func (m *Metrics) DiskNeeded(name string, bytes int64) {
	m.diskNeeded.WithLabelValues(name).Set(float64(bytes))
}

// Reloaded sets whether the last load of the configuration succeeded.
func (m *Metrics) Reloaded(ok bool) {
	m.reloadOK.Set(truth(ok))
	if ok {
		setTime(m.reloadSuccess, time.Now())
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func setTime(gauge prometheus.Gauge, t time.Time) {
	if !t.IsZero() {
		gauge.Set(seconds(t))
	}
}

// seconds is a time as Prometheus shows it, 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
