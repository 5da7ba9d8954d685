package daemon_test

import (
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

// A command says so when the daemon has an earlier configuration than the file.
func TestCommandsTellOfAConfigurationThatTheDaemonDidNotLoad(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Month("m", "2026.10", "october")
	p := h.SyncedDaemon()
	h.Month("new", "2026.10", "october")
	h.Settings.Manifests = append(h.Settings.Manifests, "new")
	h.ConfigureWith("views: [{name: v, layout: flat, manifests: [m], export: " + h.Path("srv", "v") + "}]")
	h.Contains("status", h.Expect(0, "status").Stderr, "the running syncd does not know new yet: send it SIGHUP")
	h.Contains("sync", h.Expect(0, "sync").Stderr, "new was not synced: the running syncd does not know it yet: send it SIGHUP")
	h.Contains("sync new", h.Expect(2, "sync", "new").Stderr, `manifest "new" is not in the configuration of the running syncd: send it SIGHUP`)
	h.Contains("take over", h.Expect(1, "sync", "--take-over", "v").Stderr, `view "v" has no export in the configuration of the running syncd: send it SIGHUP`)
	p.Signal(syscall.SIGHUP)
	p.Logged("configuration reloaded")
	e2e.Same(h, "warnings of status", "", h.Expect(0, "status").Stderr)
	e2e.Same(h, "warnings", "", h.Expect(0, "sync", "--take-over", "v", "--quiet").Stderr)
}
