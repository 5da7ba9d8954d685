package main

import (
	"fmt"
	"testing"

	"syncd/internal/emulator"
)

// The kernel would kill the daemon otherwise, at every start.
func TestAListThatExceedsTheMemoryLimitIsRefusedAndOthersArePublished(t *testing.T) {
	t.Parallel()
	h := newHost(t, "huge", "small")
	var files []emulator.File
	for i := range 6000 {
		files = append(files, emulator.File{Name: fmt.Sprintf("f%d", i), Content: emulator.Text("same")})
	}
	h.provider.SetManifest("huge", "2026.10", files...)
	h.provider.SetManifest("small", "2026.10", files[:3]...)
	h.environ = append(h.environ, "GOMEMLIMIT=70MiB")
	result := h.expect(1, "sync", "--json")
	h.contains("the result", result.stdout, `"reason": "too_large"`, "has 6000 files", "raise it (MemoryMax of the unit")
	if got := len(h.published("small")); got != 3 {
		t.Errorf("%d files of small are published", got)
	}
	h.environ = nil
	h.expect(0, "sync", "--quiet")
}
