package golive_test

import (
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// A forced sync ends a hold and brings its own revision live, also one that was staged for a
// gate.
func TestAForcedSyncEndsAHoldBehindAGate(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.WithGate("true", "")
	h.Month("m", "2026.09", "september")
	h.Sync(0)
	h.Month("m", "2026.10", "october")
	h.Expect(0, "hold", "m", "--for", "7d")
	h.Sync(0)
	e2e.Same(h, "held", "september", h.ServedContent("m"))
	h.Sync(0, "--force")
	e2e.Same(h, "forced", "october", h.ServedContent("m"))
	h.Expect(0, "rollback")
	h.Expect(0, "hold", "m", "--for", "7d")
	h.Sync(0, "--force")
	e2e.Same(h, "forced after a rollback", "october", h.ServedContent("m"))
	e2e.Same(h, "state", "in_sync", h.StagedStatus("m").State)
	h.Proven()
}

// A revision whose probe failed takes the pin back with it. When it is tried again and works,
// the pin comes with it, or the next sync would go back.
func TestAPinFollowsTheRevisionThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	withProbe(h, "")
	h.Month("m", "2026.09", "september")
	h.Sync(0)
	h.Month("m", "2026.10", "broken")
	h.Expect(0, "pin", "m", "2026.10")
	h.Contains("sync", h.Expect(1, "sync").Stderr, "went back to 2026.09, to which it is pinned now")
	h.Write("consumer.sh", "#!/bin/sh\n", 0o755) // the consumer is mended
	h.Contains("activate", h.Expect(0, "activate", "--again", "m").Stdout, "m  2026.10", "is pinned to 2026.10 now, and was to 2026.09")
	h.Sync(0)
	e2e.Same(h, "after the next sync", "broken", h.ServedContent("m"))
	h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "pinned to 2026.10 by `syncd pin`")
	h.Proven()
}

// A lock file ends a hold by `syncd hold` only with --force: whoever holds a manifest did not
// know of the file.
func TestALockFileKeepsAHold(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m", "n")
	h.Month("m", "2026.09", "m september")
	h.Month("n", "2026.09", "n september")
	h.Sync(0)
	h.Expect(0, "lock", "-o", h.Path("lock.json"))
	h.Month("m", "2026.10", "m october")
	h.Month("n", "2026.10", "n october")
	h.Sync(0)
	h.Expect(0, "hold", "m", "--for", "7d")
	h.Contains("sync", h.Expect(1, "sync", "--locked", h.Path("lock.json")).Stderr, "m is held until", "`syncd hold m --for 0s` ends that")
	e2e.Same(h, "held, and nothing in parts", "m october n october", h.ServedContent("m")+" "+h.ServedContent("n"))
	h.Expect(0, "sync", "--locked", h.Path("lock.json"), "--force")
	e2e.Same(h, "forced", "m september n september", h.ServedContent("m")+" "+h.ServedContent("n"))
	h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "2026.10 is available")
	h.Proven()
}

// An operator has decided about a release that the probe refused: by `syncd skip` or by
// `activate --discard`. Nothing goes on about it, and no command brings it back by itself.
func TestARefusedReleaseIsSettledBySkipAndDiscard(t *testing.T) {
	t.Parallel()
	for _, settle := range [][]string{{"skip", "m", "2026.10"}, {"activate", "--discard", "m"}} {
		t.Run(settle[0], func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m")
			withProbe(h, "")
			h.Month("m", "2026.09", "september")
			h.Sync(0)
			h.Month("m", "2026.10", "broken")
			h.Sync(1)
			e2e.Same(h, "refused", "quarantined", h.StagedStatus("m").State)
			h.Expect(0, settle...)
			if state := h.StagedStatus("m"); state.State == "quarantined" || strings.Contains(state.Explanation, "--again") {
				t.Errorf("after %v the state is %+v", settle, state)
			}
			h.Sync(0)
			h.Write("consumer.sh", "#!/bin/sh\n", 0o755)
			h.Syncd("activate", "--again", "m")
			e2e.Same(h, "served", "september", h.ServedContent("m"))
			h.Month("m", "2026.11", "november")
			h.Sync(0)
			e2e.Same(h, "the next release", "november", h.ServedContent("m"))
			h.Proven()
		})
	}
}

// An operator writes days instead of months. Correcting that brings back what it took away.
func TestACorrectedLifetimeBringsBackWhatWasWithdrawn(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	after := func(span string) {
		h.Settings.Manifests = []string{"m\n    expires: {after: " + span + "}\n    on_expiry: withdraw"}
		h.Configure()
	}
	h.Month("m", monthsAgo(2), "data")
	h.Sync(0)
	after("3d")
	h.Sync(0)
	e2e.Same(h, "withdrawn", "expired", agedStatus(h).State)
	after("12mo")
	h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "was withdrawn at", "may be used until", "the next sync brings it back")
	h.Sync(0)
	e2e.Same(h, "content", "data", h.ServedContent("m"))
	e2e.Same(h, "state", "in_sync", agedStatus(h).State)
	h.Proven()
}

// What --force brought live stays until the next release, and no longer than the manifest.
func TestAForgottenManifestIsNotServedByForceAgain(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m", "n")
	const ages = "m\n    expires: {after: 3d}\n    on_expiry: withdraw"
	manifests := func(names ...string) {
		h.Settings.Manifests = names
		h.Configure()
	}
	h.Month("m", monthsAgo(2), "m data")
	h.Month("n", monthsAgo(2), "n data")
	manifests(ages, "n")
	h.Sync(1)
	h.Expect(0, "sync", "--force", "m")
	e2e.Same(h, "forced", "m data", h.ServedContent("m"))
	manifests("n")
	h.Expect(0, "forget", "m")
	manifests("m", "n")
	h.Sync(0)
	e2e.Same(h, "without a lifetime", "m data", h.ServedContent("m"))
	manifests(ages, "n")
	h.Syncd("sync")
	e2e.Same(h, "state", "expired", agedStatus(h).State)
	h.Proven()
}
