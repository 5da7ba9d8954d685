package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values are the values that labels can have.
type Values struct {
	Results []string // of a sync
	Reasons []string // of a refusal
	States  []string // of a manifest
}

// Manifest makes every series of a configured manifest exist, at 0 until it has a value.
func (m *Metrics) Manifest(name string, values Values) {
	for _, result := range values.Results {
		m.syncRuns.WithLabelValues(name, result)
	}
	for _, reason := range values.Reasons {
		m.refusals.WithLabelValues(name, reason)
	}
	for _, state := range values.States {
		m.state.WithLabelValues(name, state)
	}
	for _, vec := range []*prometheus.CounterVec{m.downloadBytes, m.filesDownloaded, m.verifyFailures, m.resumedBytes} {
		vec.WithLabelValues(name)
	}
	for _, vec := range []*prometheus.GaugeVec{m.lastCheck, m.lastSuccess, m.mirrorBytes, m.behind, m.pinned, m.activeSince, m.diskNeeded} {
		vec.WithLabelValues(name)
	}
}

// Forget drops the series of a manifest that is configured no longer.
func (m *Metrics) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := prometheus.Labels{"manifest": name}
	for _, vec := range []*prometheus.CounterVec{m.syncRuns, m.downloadBytes, m.filesDownloaded, m.verifyFailures, m.refusals, m.resumedBytes} {
		vec.DeletePartialMatch(labels)
	}
	for _, vec := range []*prometheus.GaugeVec{
		m.lastCheck, m.lastSuccess, m.mirrorBytes, m.state, m.behind, m.pinned, m.activeSince, m.diskNeeded,
	} {
		vec.DeletePartialMatch(labels)
	}
	for _, vec := range []*prometheus.GaugeVec{m.releaseInfo, m.newest} {
		vec.DeletePartialMatch(labels)
		delete(m.shown, infoKey{vec, name})
	}
}

// Standing is how a manifest stands: what status tells of it.
type Standing struct {
	State    string // one of States
	States   []string
	Release  string // served; "" for none
	Revision string
	Bytes    int64
	Since    time.Time // in service
	Newest   string    // release seen; "" for not known
	Behind   int       // months
	Checked  time.Time
	Success  time.Time
}

// Stands shows how a manifest stands; what is zero is left as it is shown, but
// for the state and the months behind.
func (m *Metrics) Stands(name string, s Standing) {
	for _, state := range s.States {
		m.state.WithLabelValues(name, state).Set(truth(state == s.State))
	}
	m.behind.WithLabelValues(name).Set(float64(s.Behind))
	if s.Release != "" {
		m.info(m.releaseInfo, name, s.Release, s.Revision)
		m.mirrorBytes.WithLabelValues(name).Set(float64(s.Bytes))
	}
	if s.Newest != "" {
		m.info(m.newest, name, s.Newest)
	}
	setTime(m.activeSince.WithLabelValues(name), s.Since)
	setTime(m.lastCheck.WithLabelValues(name), s.Checked)
	setTime(m.lastSuccess.WithLabelValues(name), s.Success)
}

// infoKey names an info series, of which a manifest has one at a time.
type infoKey struct {
	vec      *prometheus.GaugeVec
	manifest string
}

// info replaces an info series when it changed, so that a scrape finds it there
// while nothing does.
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

// Pinned tells whether the configuration names the manifest's release.
func (m *Metrics) Pinned(name string, pinned bool) {
	m.pinned.WithLabelValues(name).Set(truth(pinned))
}

// DiskNeeded tells what the plan of a manifest will take; 0 when nothing is left to do.
func (m *Metrics) DiskNeeded(name string, bytes int64) {
	m.diskNeeded.WithLabelValues(name).Set(float64(bytes))
}

// Reloaded tells whether the configuration could be read.
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

// seconds is a time as Prometheus has it, 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
