package syncer_test

import (
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/manifest/layout"
	"syncd/internal/report"
)

// A comparing gate that reads a view compares the served view with the new one.
func TestAComparingGateSeesTheServedViews(t *testing.T) {
	for name, isNew := range map[string]bool{"a view that is served": false, "a view that comes with the release": true} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			if !isNew {
				w.view(ref(layout.Flat, "data"))
				w.demand()
			}
			w.target("data", func(t *golive.Target) {
				t.Gate = gate.Gate{Command: []string{"/bin/sh", "-c", `cat "$SYNCD_VIEW_REF"/*`}, Timeout: time.Minute, Compare: true}
			})
			if isNew {
				w.view(ref(layout.Flat, "data"))
			}
			w.publish("data", "2026.10", october())
			result := w.demand()
			w.expect(result, "data", report.Refused)
			equal(t, "reason", result.Manifests[0].Reason, "gate")
			if q := w.only().Quarantined; q == nil || len(q.Differences) != 1 {
				t.Errorf("differences: %+v, %s", q, result.Manifests[0].Error)
			}
			w.target("data", func(t *golive.Target) { t.Gate.Changed = 1 })
			w.expect(w.demand(), "data", report.Updated)
			w.serves("ref", october())
		})
	}
}
