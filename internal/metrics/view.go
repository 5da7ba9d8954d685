package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ViewState puts the state of a view into its series, of which states lists all.
func (m *Metrics) ViewState(name, state string, states []string) {
	setState(m.viewState, name, state, states)
}

// ExportState puts the state of a view's exported folder into its series, of which states
// lists all. behind is the time since when the folder does not follow; zero while it does.
func (m *Metrics) ExportState(view, state string, states []string, behind time.Time) {
	setState(m.exportState, view, state, states)
	m.exportBehind.WithLabelValues(view).Set(seconds(behind))
}

func setState(vec *prometheus.GaugeVec, name, state string, states []string) {
	for _, s := range states {
		vec.WithLabelValues(name, s).Set(truth(s == state))
	}
}

// DropView drops the series of a view that left the configuration, and of its folder.
func (m *Metrics) DropView(name string) {
	m.viewState.DeletePartialMatch(prometheus.Labels{"view": name})
	m.DropExport(name)
}

// DropExport drops the series of a view's folder.
func (m *Metrics) DropExport(view string) {
	m.exportState.DeletePartialMatch(prometheus.Labels{"view": view})
	m.exportBehind.DeleteLabelValues(view)
}
