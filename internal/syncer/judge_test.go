package syncer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/gate"
	"syncd/internal/report"
	"syncd/internal/syncer"
	"syncd/internal/view"
)

// Two manifests that become complete at once are both judged, and with views that show
// the new files of the whole group.
func TestEachManifestOfAGroupIsJudgedWithTheOthers(t *testing.T) {
	w := start(t, "a", "b")
	w.cfg.Groups = []syncer.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	seen := filepath.Join(t.TempDir(), "seen")
	script := fmt.Sprintf(`cat "$SYNCD_VIEW_V/a" "$SYNCD_VIEW_V/b" > %s.$SYNCD_MANIFEST`, seen)
	for _, name := range []string{"a", "b"} {
		w.target(name, func(t *syncer.Target) {
			t.Gate = gate.Gate{Command: []string{"/bin/sh", "-c", script}, Timeout: time.Minute, Env: os.Environ()}
		})
	}
	w.view(view.View{Name: "v", Manifests: []string{"a", "b"}, Layout: view.Flat})
	for month := 9; month <= 12; month++ {
		release := fmt.Sprintf("2026.%02d", month)
		w.publish("a", release, files{"a": release})
		w.publish("b", release, files{"b": release})
		result := w.demand()
		w.expect(result, "a", report.Updated)
		w.expect(result, "b", report.Updated)
		for _, name := range []string{"a", "b"} {
			if text, err := os.ReadFile(seen + "." + name); err != nil || string(text) != release+release {
				t.Errorf("the gate of %s saw %q, %v", name, text, err)
			}
		}
	}
	equal(t, "generation", w.generation(), 4)
}
