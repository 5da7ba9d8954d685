package sync_test

import (
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestAReleaseThatIsLateIsTold(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "old", "new")
	for _, release := range []string{"2026.05", "2026.06", "2026.07"} {
		h.Provider.SetManifest("old", release, emulator.File{Name: "old.dat", Content: emulator.Text(release)})
	}
	h.Provider.SetManifest("new", "2026.07", emulator.File{Name: "new.dat", Content: emulator.Text("new")})
	h.Sync(0)
	h.Contains("explain", h.Expect(0, "explain", "old").Stdout, "up to date with 2026.07", "; the release after 2026.07 was expected by 2026-09-01 00:00 UTC and is late; ")
	h.Contains("status --json", h.Expect(0, "status", "--json").Stdout, `"expected": "2026-09-01T00:00:00Z"`, `"late": true`, `"expected": null`)
	p := h.Daemon()
	h.Eventually("a metric", func() bool {
		_, metrics := p.Get("/metrics")
		return strings.Contains(metrics, `syncd_release_expected_timestamp_seconds{manifest="old"} 1.7882208e+09`) &&
			strings.Contains(metrics, `syncd_release_expected_timestamp_seconds{manifest="new"} 0`)
	})
	_, page := p.Get("/")
	h.Contains("page", page, "<dt>Next release</dt><dd>late, expected ")
	p.Terminate()
}
