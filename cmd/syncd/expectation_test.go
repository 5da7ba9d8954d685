package main

import (
	"strings"
	"testing"

	"syncd/internal/emulator"
)

func TestAReleaseThatIsLateIsTold(t *testing.T) {
	t.Parallel()
	h := newHost(t, "old", "new")
	for _, release := range []string{"2026.05", "2026.06", "2026.07"} {
		h.provider.SetManifest("old", release, emulator.File{Name: "old.dat", Content: emulator.Text(release)})
	}
	h.provider.SetManifest("new", "2026.07", emulator.File{Name: "new.dat", Content: emulator.Text("new")})
	h.sync(0)
	h.contains("explain", h.expect(0, "explain", "old").stdout, "up to date with 2026.07", "; the release after 2026.07 was expected by 2026-09-01 00:00 UTC and is late; ")
	h.contains("status --json", h.expect(0, "status", "--json").stdout, `"expected": "2026-09-01T00:00:00Z"`, `"late": true`, `"expected": null`)
	p := h.daemon()
	h.eventually("a metric", func() bool {
		_, metrics := p.get("/metrics")
		return strings.Contains(metrics, `syncd_release_expected_timestamp_seconds{manifest="old"} 1.7882208e+09`) &&
			strings.Contains(metrics, `syncd_release_expected_timestamp_seconds{manifest="new"} 0`)
	})
	_, page := p.get("/")
	h.contains("page", page, "<dt>Next release</dt><dd>late, expected ")
	p.terminate()
}
