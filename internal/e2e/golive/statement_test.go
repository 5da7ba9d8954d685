package golive_test

import (
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

// Each statement here was wrong once, in the moment after an order.
func TestWhatIsSaidAfterAnOrderIsTrue(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m", "n")
	h.WithGate(`! grep -q broken "$SYNCD_PATH"/*.dat`, "")
	explain := func(name, without string, parts ...string) {
		h.Helper()
		out := h.Expect(0, "explain", name).Stdout
		h.Contains("explain", out, parts...)
		if without != "" && strings.Contains(out, without) {
			t.Errorf("explain says %q:\n%s", without, out)
		}
	}
	h.Month("m", "2026.09", "m september")
	h.Month("n", "2026.09", "broken")
	h.Sync(1)
	h.Month("m", "2026.10", "broken")
	h.Sync(1)
	h.Expect(0, "skip", "m", "2026.10")
	explain("m", "refused", "skips 2026.10")
	h.Expect(0, "skip", "m", "2026.10", "--undo")
	h.Sync(1, "m")
	h.Expect(0, "hold", "m", "--for", "7d")
	h.Sync(0, "m")
	h.Expect(0, "skip", "m", "2026.10")
	h.Expect(0, "hold", "m", "--for", "0s")
	explain("m", "fetch it", "skips 2026.10")

	// Nothing of n was ever served, and nothing will be by itself.
	h.Expect(0, "destroy", "n", "2026.09", "--yes")
	h.Contains("sync", h.Expect(0, "sync", "n").Stdout, "n  nothing is served: `syncd explain n` says why")
	explain("n", "syncd pin", "2026.09 was destroyed", "only `syncd sync --force n` fetches it again")

	h.Month("m", "2026.11", "m november")
	h.Sync(0, "m")
	h.Expect(0, "rollback", "--manifest", "m")
	h.Expect(0, "hold", "m", "--for", "7d")
	h.Contains("hold", h.Expect(0, "hold", "m", "--for", "0s").Stdout, "m  a rollback still holds it")
	h.Expect(0, "destroy", "m", "2026.11", "--yes")
	explain("m", "", "held at 2026.09 after a rollback from 2026.11", "2026.11 was destroyed by `syncd destroy`")
	h.Proven()
}

// The folder of a view that waits for data does not follow with the next sync.
func TestAnExportSaysThatItsViewWaits(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Month("m", "2026.09", "september")
	h.ConfigureWith("views: [{name: v, export: " + h.Path("folder") + "}]")
	h.Sync(0)
	h.Settings.Manifests = append(h.Settings.Manifests, "n")
	h.ConfigureWith("views: [{name: w, export: " + h.Path("folder") + "}]")
	h.Sync(1) // the provider has no n
	h.Contains("explain", h.Expect(0, "explain").Stdout, "export of view w: view w waits for data of n")
}

// A sync that ends while the consumer is asked leaves a release without a verdict.
func TestAnInterruptedSyncSaysThatTheVerdictIsMissing(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Month("m", "2026.09", "september")
	h.Sync(0)
	h.ConfigureWith(`probe: {command: ["false"], within: 10m, every: 1s}`)
	h.Month("m", "2026.10", "october")
	p := h.Start("sync")
	h.Eventually("the swap", func() bool { return h.ServedContent("m") == "october" })
	h.Eventually("the question", func() bool { return strings.Contains(p.Stderr.String(), "asking whether the consumer works") })
	p.Signal(syscall.SIGINT)
	p.Wait()
	h.Contains("sync", p.Stderr.String(), "no verdict of its probe yet", "the next sync asks again")
	h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "the probe has no verdict about 2026.10 yet", "`syncd sync` asks again")
	h.Proven()
}
