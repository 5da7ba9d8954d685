package status

import (
	"encoding/json"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/forecast"
	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/store"
)

// PastOf finds the past releases of a manifest in the history, whose newest entries come
// first. The first release that it knows did not arrive then: it was there before.
func PastOf(history []json.RawMessage, name string) forecast.Past {
	var past forecast.Past
	var newest manifest.Release
	for _, raw := range slices.Backward(history) {
		var entry report.HistoryEntry
		if json.Unmarshal(raw, &entry) != nil {
			continue
		}
		for _, m := range entry.Manifests {
			release := manifest.Release(m.Release)
			if m.Name != name || m.Result != report.Updated || !release.IsMonth() {
				continue
			}
			if release.Newer(newest) && newest != "" {
				past.Arrive(release, entry.Time)
			}
			past.Download(release, m.BytesDownloaded)
			newest = max(newest, release)
		}
	}
	return past
}

// past is what the state knows of past releases.
func past(saved store.Manifest) forecast.Past {
	if saved.Past == nil {
		return forecast.Past{}
	}
	return *saved.Past
}

// due is when the next release of a manifest is due; zero if that is unknown.
func due(saved store.Manifest) time.Time { return past(saved).Due(manifest.Release(saved.Newest)) }

// ShowForecast puts the space that the next releases of a manifest will take into the
// metrics. kept is how many revisions are on disk, retain how many stay beside the served.
func ShowForecast(m *metrics.Metrics, name string, saved store.Manifest, kept, retain int) {
	m.Forecast(name, past(saved).Growth(max(kept-1, 0), retain))
}
