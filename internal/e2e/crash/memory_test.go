package crash_test

import (
	"fmt"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// The kernel would kill the daemon otherwise, at every start.
func TestAListThatExceedsTheMemoryLimitIsRefusedAndOthersArePublished(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "huge", "small")
	var files []emulator.File
	for i := range 6000 {
		files = append(files, emulator.File{Name: fmt.Sprintf("f%d", i), Content: emulator.Text("same")})
	}
	h.Provider.SetManifest("huge", "2026.10", files...)
	h.Provider.SetManifest("small", "2026.10", files[:3]...)
	h.Environ = append(h.Environ, "GOMEMLIMIT=70MiB")
	result := h.Expect(1, "sync", "--json")
	h.Contains("the result", result.Stdout, `"reason": "too_large"`, "has 6000 files", "raise it (MemoryMax of the unit")
	if got := len(h.Published("small")); got != 3 {
		t.Errorf("%d files of small are published", got)
	}
	h.Environ = nil
	h.Expect(0, "sync", "--quiet")
}
