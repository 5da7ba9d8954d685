package crash_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// TestFaultAtAnyStepOfAWithdrawalCompletesLater kills or fails the sync that takes expired
// data out of what is served, at each change on disk. Readers see it or nothing, and the next
// sync has told hooks.
func TestFaultAtAnyStepOfAWithdrawalCompletesLater(t *testing.T) {
	t.Parallel()
	origin := e2e.NewHost(t, "m").WithRace()
	logEvents(origin)
	release := time.Now().UTC().AddDate(0, -3, 0).Format("2006.01")
	origin.Month("m", release, "old")
	origin.Sync(0)
	expiring := func(t *testing.T) *e2e.Host {
		h := copied(origin, t)
		h.Settings.Manifests = []string{"m\n    expires: {after: 10d}\n    on_expiry: withdraw"}
		h.Settings.More = strings.Replace(h.Settings.More, "[activated]", "[expired]", 1)
		h.Configure()
		h.Must(os.Remove(h.Path("events")))
		return h
	}
	undisturbed := expiring(t)
	undisturbed.Environ = []string{"SYNCD_STEPS=" + undisturbed.Path("steps")}
	undisturbed.Sync(0)
	steps := stepsOf(undisturbed)
	withdrawn(undisturbed, release)
	if !slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(step, "state/expiry/m") }) {
		t.Fatalf("no withdrawal in %q", steps)
	}
	rows, every := len(steps)*len(stepFaults), e2e.Times(23, 1)
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync of %d steps on disk, which withdraws expired data, killed before or after one of them, or failing there", len(steps))
		e2e.Reliability(t, "withdrawals", did, int(done.Load()))
	})
	for row := e2e.NewRandom(t).IntN(every); row < rows; row += every {
		number, fault := row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d %s", number, fault.name), func(t *testing.T) {
			t.Parallel()
			done.Add(1)
			h := expiring(t)
			h.Environ = []string{fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault.what)}
			h.Syncd("sync")
			h.Environ = nil
			if content := h.ServedContent("m"); content != "old" && content != "" {
				t.Errorf("readers see %q", content)
			}
			h.Syncd("sync") // it withdraws, or is refused, because nothing is served
			withdrawn(h, release)
		})
	}
}

// withdrawn requires that nothing is served, and that the hook heard why.
func withdrawn(h *e2e.Host, release string) {
	h.Helper()
	e2e.Same(h, "content", "", h.ServedContent("m"))
	if _, err := os.Lstat(h.Path("data", "current", "m")); !os.IsNotExist(err) {
		h.Errorf("current/m: %v", err)
	}
	if out := h.Expect(0, "explain"); !strings.Contains(out.Stdout, "release "+release+" expired on") {
		h.Errorf("explain says %s", out.Stdout)
	}
	if told := string(h.Read("events")); !strings.HasPrefix(told, release+" ") {
		h.Errorf("told %q", told)
	}
}
