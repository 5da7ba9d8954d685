package golive_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
)

func TestManualActivationByCommand(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m", "n").WithRace()
	h.ConfigureWith("activate: manual\ngroups: [{name: both, manifests: [m, n]}]")
	h.Month("m", "2026.10", "m1")
	h.Month("n", "2026.10", "n1")
	out := h.Expect(0, "sync")
	if !strings.Contains(out.Stdout, "m  -  ") && !strings.Contains(out.Stdout, "staged") {
		t.Errorf("sync said\n%s", out.Stdout)
	}
	e2e.Same(h, "state", "staged", h.StagedStatus("m").State)
	e2e.Same(h, "staged release", "2026.10", h.StagedStatus("m").Staged.Release)
	h.Expect(2, "activate", "nothing")
	h.Expect(0, "activate", "both")
	e2e.Same(h, "content", "m1n1", h.ServedContent("m")+h.ServedContent("n"))
	h.Proven()

	p := h.SyncedDaemon()
	h.Month("m", "2026.11", "m2")
	p.Signal(syscall.SIGUSR1)
	p.LoggedTimes("sync", 2)
	if s := h.StagedStatus("m"); s.State != "staged" || !strings.Contains(s.Explanation, "2026.11") {
		t.Errorf("status %+v", s)
	}
	if out := h.Expect(1, "activate", "m"); !strings.Contains(out.Stderr, "n is at 2026.10, not at 2026.11") {
		t.Errorf("activate said\n%s", out.Stderr)
	}
	h.Month("n", "2026.11", "n2")
	p.Signal(syscall.SIGUSR1)
	p.LoggedTimes("sync", 3)
	h.Expect(0, "activate", "m")
	e2e.Same(h, "content", "m2n2", h.ServedContent("m")+h.ServedContent("n"))
	p.Logged("activate")

	h.Month("m", "2026.12", "m3")
	h.Sync(0)
	h.Expect(0, "activate", "--discard", "m")
	e2e.Same(h, "state", "in_sync", h.StagedStatus("m").State)
	h.Expect(0, "activate")
	p.Terminate()
	e2e.Same(h, "content", "m2n2", h.ServedContent("m")+h.ServedContent("n"))
}

// A window opens while the daemon runs, without a sync.
func TestTheDaemonActivatesWhenTheWindowOpens(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	h.Month("m", "2026.10", "m1")
	h.Sync(0)
	far := time.Now().Add(3 * time.Hour)
	h.ConfigureWith(fmt.Sprintf("activate: {window: '%d %d * * *', for: 1h}", far.Minute(), far.Hour()))
	h.Month("m", "2026.11", "m2")
	p := h.SyncedDaemon()
	s := h.StagedStatus("m")
	e2e.Same(h, "state", "staged", s.State)
	if s.OpensAt == "" || !strings.Contains(s.Explanation, "goes live when its window opens") {
		t.Errorf("status %+v", s)
	}
	p.Terminate()
	e2e.Same(h, "content", "m1", h.ServedContent("m"))
	p = h.Daemon() // a start outside of the window
	p.Logged("sync")
	e2e.Same(h, "state", "staged", h.StagedStatus("m").State)
	p.Terminate()
	e2e.Same(h, "content", "m1", h.ServedContent("m"))

	h.Settings.More = "activate: {window: '* * * * *', for: 1m}"
	h.Settings.URL = "http://127.0.0.1:1" // no provider is needed
	h.Configure()
	p = h.Daemon()
	p.Logged("activate")
	e2e.Same(h, "content", "m2", h.ServedContent("m"))
	p.Terminate()
}

func TestAGateDecidesAndTheReasonIsTold(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	h.WithGate(`echo "looking at $SYNCD_RELEASE" >&2; env > "$0.env"; grep -q good "$SYNCD_PATH/m.dat"`, "")
	h.Month("m", "2026.10", "good 1")
	h.Sync(0)
	e2e.Same(h, "content", "good 1", h.ServedContent("m"))
	env := h.Read("gate.sh.env")
	h.SecretFree("environment of the gate", string(env))
	for _, line := range []string{"SYNCD_MANIFEST=m\n", "SYNCD_RELEASE=2026.10\n", "SYNCD_CURRENT=\n"} {
		if !strings.Contains(string(env), line) {
			t.Errorf("no %q in\n%s", line, env)
		}
	}

	h.Month("m", "2026.11", "bad")
	out := h.Expect(1, "sync")
	if !strings.Contains(out.Stderr, "looking at 2026.11") || !strings.Contains(out.Stderr, "(gate)") {
		t.Errorf("sync said\n%s", out.Stderr)
	}
	s := h.StagedStatus("m")
	e2e.Same(h, "state", "quarantined", s.State)
	e2e.Same(h, "reason", "gate", s.Reason)
	e2e.Same(h, "lines", "looking at 2026.11", strings.Join(s.Quarantined.Lines, "|"))
	e2e.Same(h, "content", "good 1", h.ServedContent("m"))
	h.Must(os.Remove(h.Path("gate.sh.env")))
	h.Sync(1)
	if _, err := os.Stat(h.Path("gate.sh.env")); err == nil {
		t.Error("the gate was asked again without need")
	}
	h.Expect(1, "activate", "m")
	h.Expect(1, "activate", "--again", "m")
	e2e.Same(h, "content", "good 1", h.ServedContent("m"))

	// Another revision of the same release, then the same one after the gate was mended.
	h.Month("m", "2026.11", "still not right")
	h.Sync(1)
	h.Write("gate.sh", "#!/bin/sh\nexit 0\n", 0o755)
	h.Sync(1)
	h.Expect(0, "activate", "--again", "m")
	e2e.Same(h, "content", "still not right", h.ServedContent("m"))
	e2e.Same(h, "state", "in_sync", h.StagedStatus("m").State)
	h.Sync(0)
}

// TestADaemonKilledWithItsGateLeavesNothingRunning also shows that the next start asks the
// gate again, and never publishes what it has not passed.
func TestADaemonKilledWithItsGateLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	h.Month("m", "2026.10", "m1")
	h.Sync(0)
	h.WithGate(`echo run >> "$0.runs"; setsid sleep 1000 & echo $! > "$0.pid"; sleep 1000`, "")
	h.Month("m", "2026.11", "m2")
	for round := 1; round <= 2; round++ {
		p := h.Daemon()
		h.Eventually("the gate runs", func() bool {
			runs, _ := os.ReadFile(h.Path("gate.sh.runs"))
			_, err := os.Stat(h.Path("gate.sh.pid"))
			return strings.Count(string(runs), "run") == round && err == nil
		})
		var pid string
		h.Eventually("its child runs", func() bool {
			text, _ := os.ReadFile(h.Path("gate.sh.pid"))
			pid = strings.TrimSpace(string(text))
			return pid != ""
		})
		h.Must(p.Cmd.Process.Kill())
		p.Wait()
		h.Eventually("the child of the gate ends", func() bool { return !isRunning(pid) })
		h.Must(os.Remove(h.Path("gate.sh.pid")))
		e2e.Same(h, "content", "m1", h.ServedContent("m"))
		e2e.Same(h, "staged", "2026.11", h.StagedStatus("m").Staged.Release)
	}
	h.Write("gate.sh", "#!/bin/sh\nexit 7\n", 0o755)
	h.Sync(1)
	e2e.Same(h, "content", "m1", h.ServedContent("m"))
	e2e.Same(h, "state", "quarantined", h.StagedStatus("m").State)
}

// A gate that misbehaves refuses the revision, the reason is told, and nothing of it is
// left running.
func TestAGateThatMisbehavesKeepsTheOldData(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ script, more, says string }{
		"hangs":           {`setsid sleep 1000 & echo $! >"$0.pid"; sleep 1000`, ", timeout: 1s", "timeout: it was still running after 1s"},
		"prints 100 MiB":  {`sleep 1000 & echo $! >"$0.pid"; head -c 104857600 /dev/zero | tr '\0' '\n'; echo last; exit 3`, "", "exit status 3: last"},
		"leaves children": {`(setsid sh -c 'trap "" TERM HUP; echo $$ >"$0"; sleep 1000' "$0.pid" &); until test -s "$0.pid"; do sleep 0.01; done; exit 4`, "", "exit status 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m").WithRace()
			h.Month("m", "2026.10", "m1")
			h.Sync(0)
			h.Write("gate.sh", "#!/bin/sh\n"+row.script+"\n", 0o755)
			h.ConfigureWith("gate: {command: [" + h.Path("gate.sh") + "]" + row.more + "}")
			h.Month("m", "2026.11", "m2")
			h.Sync(1)
			s := h.StagedStatus("m")
			e2e.Same(h, "state", "quarantined", s.State)
			e2e.Same(h, "content", "m1", h.ServedContent("m"))
			if !strings.Contains(s.Error, row.says) {
				t.Errorf("told %q, want %q", s.Error, row.says)
			}
			pid := h.Read("gate.sh.pid")
			if isRunning(strings.TrimSpace(string(pid))) {
				t.Errorf("process %s is left", pid)
			}
		})
	}
}

// isRunning is false for a process that ended, whether its parent knows it or not.
func isRunning(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestAGateThatIsMissingRefuses(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	h.ConfigureWith("gate: {command: [/no/such/gate]}")
	h.Month("m", "2026.10", "m1")
	if out := h.Expect(1, "sync"); !strings.Contains(out.Stderr, "cannot be run") {
		t.Errorf("sync said\n%s", out.Stderr)
	}
	e2e.Same(h, "state", "quarantined", h.StagedStatus("m").State)
}

func TestComparingProbesOfTwoReleases(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	h.WithGate(`cat "$SYNCD_PATH/m.dat"`, `, compare: {max_changed: "2%"}`)
	probes := func(nth int) string {
		var text strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&text, "probe %d: %v\n", i, nth > 0 && i%nth == 0)
		}
		return text.String()
	}
	h.Month("m", "2026.10", probes(0))
	h.Sync(0)
	h.Month("m", "2026.11", probes(100))
	h.Sync(0)
	e2e.Same(h, "content", probes(100), h.ServedContent("m"))
	h.Month("m", "2026.12", strings.ReplaceAll(probes(33), "probe", "probe"))
	h.Sync(1)
	s := h.StagedStatus("m")
	e2e.Same(h, "state", "quarantined", s.State)
	if len(s.Quarantined.Differences) != 20 || !strings.Contains(s.Error, "of 10000 lines differ") {
		t.Errorf("status %+v", s)
	}
	if out := h.Expect(0, "explain", "m"); !strings.Contains(out.Stdout, s.Quarantined.Differences[19]) {
		t.Errorf("explain said\n%s", out.Stdout)
	}
	e2e.Same(h, "content", probes(100), h.ServedContent("m"))
}
