package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/emulator"
)

// stagedStatus is what `status --json` says of a manifest and what is staged of it.
type stagedStatus struct {
	Name, Release, State, Reason, Error, Explanation string

	Staged      *struct{ Release, Revision, Since string }
	Quarantined *struct {
		Release            string
		Lines, Differences []string
	}
	OpensAt string `json:"opens_at"`
}

func (h *host) stagedStatus(name string) stagedStatus {
	h.Helper()
	var status struct{ Manifests []stagedStatus }
	h.must(json.Unmarshal([]byte(h.expect(0, "status", "--json").stdout), &status))
	for _, m := range status.Manifests {
		if m.Name == name {
			return m
		}
	}
	h.Fatalf("no %s in %+v", name, status)
	return stagedStatus{}
}

// month publishes one file of a manifest.
func (h *host) month(name, release, content string) {
	h.provider.SetManifest(name, release, emulator.File{Name: name + ".dat", Content: emulator.Text(content)})
}

func (h *host) servedContent(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.data, "current", name, name+".dat"))
	return string(text)
}

func TestManualActivationByCommand(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m", "n").withRace()
	h.settings.more = "activate: manual\ngroups: [{name: both, manifests: [m, n]}]"
	h.configure()
	h.month("m", "2026.10", "m1")
	h.month("n", "2026.10", "n1")
	out := h.expect(0, "sync")
	if !strings.Contains(out.stdout, "m  -  ") && !strings.Contains(out.stdout, "staged") {
		t.Errorf("sync said\n%s", out.stdout)
	}
	same(h, "state", "staged", h.stagedStatus("m").State)
	same(h, "staged release", "2026.10", h.stagedStatus("m").Staged.Release)
	h.expect(2, "activate", "nothing")
	h.expect(0, "activate", "both")
	same(h, "content", "m1n1", h.servedContent("m")+h.servedContent("n"))
	h.proven()

	p := h.daemon()
	p.logged("sync")
	h.month("m", "2026.11", "m2")
	p.signal(syscall.SIGUSR1)
	p.loggedTimes("sync", 2)
	if s := h.stagedStatus("m"); s.State != "staged" || !strings.Contains(s.Explanation, "2026.11") {
		t.Errorf("status %+v", s)
	}
	if out := h.expect(1, "activate", "m"); !strings.Contains(out.stderr, "n is at 2026.10, not at 2026.11") {
		t.Errorf("activate said\n%s", out.stderr)
	}
	h.month("n", "2026.11", "n2")
	p.signal(syscall.SIGUSR1)
	p.loggedTimes("sync", 3)
	h.expect(0, "activate", "m")
	same(h, "content", "m2n2", h.servedContent("m")+h.servedContent("n"))
	p.logged("activate")

	h.month("m", "2026.12", "m3")
	h.sync(0)
	h.expect(0, "activate", "--discard", "m")
	same(h, "state", "in_sync", h.stagedStatus("m").State)
	h.expect(0, "activate")
	p.terminate()
	same(h, "content", "m2n2", h.servedContent("m")+h.servedContent("n"))
}

// A window opens while the daemon runs, without a sync.
func TestTheDaemonActivatesWhenTheWindowOpens(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	h.month("m", "2026.10", "m1")
	h.sync(0)
	far := time.Now().Add(3 * time.Hour)
	h.settings.more = fmt.Sprintf("activate: {window: '%d %d * * *', for: 1h}", far.Minute(), far.Hour())
	h.configure()
	h.month("m", "2026.11", "m2")
	p := h.daemon()
	p.logged("sync")
	s := h.stagedStatus("m")
	same(h, "state", "staged", s.State)
	if s.OpensAt == "" || !strings.Contains(s.Explanation, "goes live when its window opens") {
		t.Errorf("status %+v", s)
	}
	p.terminate()
	same(h, "content", "m1", h.servedContent("m"))
	p = h.daemon() // a start outside of the window
	p.logged("sync")
	same(h, "state", "staged", h.stagedStatus("m").State)
	p.terminate()
	same(h, "content", "m1", h.servedContent("m"))

	h.settings.more = "activate: {window: '* * * * *', for: 1m}"
	h.settings.url = "http://127.0.0.1:1" // no provider is needed
	h.configure()
	p = h.daemon()
	p.logged("activate")
	same(h, "content", "m2", h.servedContent("m"))
	p.terminate()
}

// notesWhatItPasses is the script of a gate that passes everything, and notes it in a file.
func notesWhatItPasses(file string) string {
	return `echo "$SYNCD_MANIFEST $SYNCD_RELEASE-$SYNCD_REVISION" >>"` + file + `"`
}

// wantPassed requires that a gate which notes what it passes has passed all that is served,
// except the first release of a host.
func (h *host) wantPassed(file string) {
	h.Helper()
	passed, err := os.ReadFile(file)
	for _, name := range []string{"m", "n"} {
		text, readErr := os.ReadFile(filepath.Join(h.data, "current", name+".json"))
		h.must(readErr)
		var r struct{ Release, Revision string }
		h.must(json.Unmarshal(text, &r))
		line := name + " " + r.Release + "-" + r.Revision + "\n"
		if r.Release != "2026.10" && !strings.Contains(string(passed), line) {
			h.Errorf("%s is served and did not pass the gate (%v):\n%s", line, err, passed)
		}
	}
}

// withGate writes a gate that runs a script, which sees the paths of the contract.
func (h *host) withGate(script, more string) {
	h.Helper()
	h.write("gate.sh", "#!/bin/sh\n"+script+"\n", 0o755)
	h.settings.more = "gate: {command: [" + h.path("gate.sh") + "], timeout: 1m" + more + "}"
	h.configure()
}

func TestAGateDecidesAndTheReasonIsTold(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	h.withGate(`echo "looking at $SYNCD_RELEASE" >&2; env > "$0.env"; grep -q good "$SYNCD_PATH/m.dat"`, "")
	h.month("m", "2026.10", "good 1")
	h.sync(0)
	same(h, "content", "good 1", h.servedContent("m"))
	env, err := os.ReadFile(h.path("gate.sh.env"))
	h.must(err)
	h.secretFree("environment of the gate", string(env))
	for _, line := range []string{"SYNCD_MANIFEST=m\n", "SYNCD_RELEASE=2026.10\n", "SYNCD_CURRENT=\n"} {
		if !strings.Contains(string(env), line) {
			t.Errorf("no %q in\n%s", line, env)
		}
	}

	h.month("m", "2026.11", "bad")
	out := h.expect(1, "sync")
	if !strings.Contains(out.stderr, "looking at 2026.11") || !strings.Contains(out.stderr, "(gate)") {
		t.Errorf("sync said\n%s", out.stderr)
	}
	s := h.stagedStatus("m")
	same(h, "state", "quarantined", s.State)
	same(h, "reason", "gate", s.Reason)
	same(h, "lines", "looking at 2026.11", strings.Join(s.Quarantined.Lines, "|"))
	same(h, "content", "good 1", h.servedContent("m"))
	h.must(os.Remove(h.path("gate.sh.env")))
	h.sync(1)
	if _, err := os.Stat(h.path("gate.sh.env")); err == nil {
		t.Error("the gate was asked again without need")
	}
	h.expect(1, "activate", "m")
	h.expect(1, "activate", "--again", "m")
	same(h, "content", "good 1", h.servedContent("m"))

	// Another revision of the same release, then the same one after the gate was mended.
	h.month("m", "2026.11", "still not right")
	h.sync(1)
	h.write("gate.sh", "#!/bin/sh\nexit 0\n", 0o755)
	h.sync(1)
	h.expect(0, "activate", "--again", "m")
	same(h, "content", "still not right", h.servedContent("m"))
	same(h, "state", "in_sync", h.stagedStatus("m").State)
	h.sync(0)
}

// TestADaemonKilledWithItsGateLeavesNothingRunning also shows that the next start asks the
// gate again, and never publishes what it has not passed.
func TestADaemonKilledWithItsGateLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	h.month("m", "2026.10", "m1")
	h.sync(0)
	h.withGate(`echo run >> "$0.runs"; setsid sleep 1000 & echo $! > "$0.pid"; sleep 1000`, "")
	h.month("m", "2026.11", "m2")
	for round := 1; round <= 2; round++ {
		p := h.daemon()
		h.eventually("the gate runs", func() bool {
			runs, _ := os.ReadFile(h.path("gate.sh.runs"))
			_, err := os.Stat(h.path("gate.sh.pid"))
			return strings.Count(string(runs), "run") == round && err == nil
		})
		var pid string
		h.eventually("its child runs", func() bool {
			text, _ := os.ReadFile(h.path("gate.sh.pid"))
			pid = strings.TrimSpace(string(text))
			return pid != ""
		})
		h.must(p.cmd.Process.Kill())
		p.wait()
		h.eventually("the child of the gate ends", func() bool { return !isRunning(pid) })
		h.must(os.Remove(h.path("gate.sh.pid")))
		same(h, "content", "m1", h.servedContent("m"))
		same(h, "staged", "2026.11", h.stagedStatus("m").Staged.Release)
	}
	h.write("gate.sh", "#!/bin/sh\nexit 7\n", 0o755)
	h.sync(1)
	same(h, "content", "m1", h.servedContent("m"))
	same(h, "state", "quarantined", h.stagedStatus("m").State)
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
			h := newHost(t, "m").withRace()
			h.month("m", "2026.10", "m1")
			h.sync(0)
			h.write("gate.sh", "#!/bin/sh\n"+row.script+"\n", 0o755)
			h.settings.more = "gate: {command: [" + h.path("gate.sh") + "]" + row.more + "}"
			h.configure()
			h.month("m", "2026.11", "m2")
			h.sync(1)
			s := h.stagedStatus("m")
			same(h, "state", "quarantined", s.State)
			same(h, "content", "m1", h.servedContent("m"))
			if !strings.Contains(s.Error, row.says) {
				t.Errorf("told %q, want %q", s.Error, row.says)
			}
			pid, err := os.ReadFile(h.path("gate.sh.pid"))
			h.must(err)
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
	h := newHost(t, "m").withRace()
	h.settings.more = "gate: {command: [/no/such/gate]}"
	h.configure()
	h.month("m", "2026.10", "m1")
	if out := h.expect(1, "sync"); !strings.Contains(out.stderr, "cannot be run") {
		t.Errorf("sync said\n%s", out.stderr)
	}
	same(h, "state", "quarantined", h.stagedStatus("m").State)
}

func TestComparingProbesOfTwoReleases(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	h.withGate(`cat "$SYNCD_PATH/m.dat"`, `, compare: {max_changed: "2%"}`)
	probes := func(nth int) string {
		var text strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&text, "probe %d: %v\n", i, nth > 0 && i%nth == 0)
		}
		return text.String()
	}
	h.month("m", "2026.10", probes(0))
	h.sync(0)
	h.month("m", "2026.11", probes(100))
	h.sync(0)
	same(h, "content", probes(100), h.servedContent("m"))
	h.month("m", "2026.12", strings.ReplaceAll(probes(33), "probe", "probe"))
	h.sync(1)
	s := h.stagedStatus("m")
	same(h, "state", "quarantined", s.State)
	if len(s.Quarantined.Differences) != 20 || !strings.Contains(s.Error, "of 10000 lines differ") {
		t.Errorf("status %+v", s)
	}
	if out := h.expect(0, "explain", "m"); !strings.Contains(out.stdout, s.Quarantined.Differences[19]) {
		t.Errorf("explain said\n%s", out.stdout)
	}
	same(h, "content", probes(100), h.servedContent("m"))
}
