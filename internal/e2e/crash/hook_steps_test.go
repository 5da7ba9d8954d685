package crash_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"syncd/internal/e2e"
)

// TestFaultAtAnyStepLosesNoEvent kills or fails a sync at each change on disk, among them
// those that save and remove deliveries. The next sync must have told everything.
func TestFaultAtAnyStepLosesNoEvent(t *testing.T) {
	t.Parallel()
	origin := e2e.NewHost(t, "m").WithRace()
	logEvents(origin)
	origin.Offer("2026.10")
	origin.Sync(0)
	origin.Offer("2026.11")
	undisturbed := copied(origin, t)
	undisturbed.Environ = []string{"SYNCD_STEPS=" + undisturbed.Path("steps")}
	undisturbed.Sync(0)
	steps := len(stepsOf(undisturbed))
	wantTold(undisturbed)
	rows, every := steps*len(stepFaults), e2e.Times(47, 1)
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync of %d steps on disk with a hook killed before or after one of them, or failing there", steps)
		e2e.Reliability(t, "events", did, int(done.Load()))
	})
	for row := e2e.NewRandom(t).IntN(every); row < rows; row += every {
		number, fault := row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d %s", number, fault.name), func(t *testing.T) {
			t.Parallel()
			done.Add(1)
			h := copied(origin, t)
			h.Environ = []string{fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault.what)}
			h.Syncd("sync")
			h.Environ = nil
			h.Sync(0)
			wantTold(h)
		})
	}
}

// logEvents configures a hook that writes each event to a file of the host.
func logEvents(h *e2e.Host) {
	h.ConfigureWith("hooks:\n  - {name: log, on: [activated], command: [/bin/sh, -c, 'echo \"$SYNCD_RELEASE $SYNCD_EVENT_ID\" >>\"$0\"', " + h.Path("events") + "]}\n")
}

// copied returns another host in the same state, with the same provider.
func copied(h *e2e.Host, t *testing.T) *e2e.Host {
	t.Helper()
	other := *h
	other.T, other.Dir = t, e2e.NewDir(t)
	other.Data = other.Path("data")
	for _, name := range []string{"data", "events", "id"} {
		if out, err := exec.Command("cp", "-a", h.Path(name), other.Path(name)).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
	logEvents(&other)
	return &other
}

// wantTold requires that the hook was told about both releases, in order. An event may
// come twice.
func wantTold(h *e2e.Host) {
	h.Helper()
	text := h.Read("events")
	var releases []string
	for line := range strings.Lines(string(text)) {
		release, _, _ := strings.Cut(line, " ")
		releases = append(releases, release)
	}
	if got := slices.Compact(releases); !slices.Equal(got, []string{"2026.10", "2026.11"}) {
		h.Errorf("told %q", text)
	}
}
