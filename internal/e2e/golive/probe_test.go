package golive_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
)

// probeWithin is within of the probes here.
const probeWithin = 2 * time.Second

// withProbe gives a host a consumer that works with every content but broken ones. It reads
// what is served, as a program would.
func withProbe(h *e2e.Host, more string) {
	h.Helper()
	h.Write("consumer.sh", fmt.Sprintf(`#!/bin/sh
echo "asked about $SYNCD_MANIFEST $SYNCD_RELEASE"
(setsid sleep 1000 & echo $! >>%s) # it forks away
! grep -q broken "$SYNCD_PATH/$SYNCD_MANIFEST.dat"
`, h.Path("forked")), 0o755)
	h.ConfigureWith(fmt.Sprintf("probe: {command: [%s], within: %s, every: 100ms}\n%s", h.Path("consumer.sh"), probeWithin, more))
}

// activations counts how often each tree of a manifest went live.
func activations(h *e2e.Host, name string) map[string]int {
	h.Helper()
	counts := map[string]int{}
	files, err := filepath.Glob(filepath.Join(h.Data, "state", "audit", "events*"))
	h.Must(err)
	for _, file := range files {
		f, err := os.Open(file)
		h.Must(err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var event struct{ Name, Tree string }
			if json.Unmarshal(lines.Bytes(), &event) == nil && event.Name == name && event.Tree != "" {
				counts[event.Tree]++
			}
		}
	}
	return counts
}

// monthNumber is a month that no clock is behind.
func monthNumber(n int) string { return fmt.Sprintf("%d.%02d", 2001+n/12, 1+n%12) }

// Releases that every gate passes break the consumer, and syncd is killed at any moment
// between swap and verdict: each goes back in time, once.
func TestReleasesThatBreakTheConsumerGoBack(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	withProbe(h, `gate: {command: ["true"], timeout: 1m}`)
	random, rounds := e2e.NewRandom(t), e2e.Times(4, 100)
	good, n := "good 0", 0
	h.Month("m", monthNumber(n), good)
	h.Sync(0)
	p := h.SyncedDaemon()
	kills, longest := 0, time.Duration(0)
	live := map[string]int{} // how often each broken release was
	for round := range rounds {
		n++
		broken := fmt.Sprintf("broken %d", n)
		live[monthNumber(n)] = 0
		h.Month("m", monthNumber(n), broken)
		p.Signal(syscall.SIGUSR1)
		h.Eventually("the swap", func() bool { return h.ServedContent("m") == broken })
		swapped := time.Now()
		if round%4 != 3 {
			time.Sleep(time.Duration(random.Int64N(int64(probeWithin + probeWithin/2))))
			p.Signal(syscall.SIGKILL)
			p.Wait()
			p = h.Daemon()
			kills++
		}
		h.Eventually("the way back", func() bool { return h.ServedContent("m") == good })
		longest = max(longest, time.Since(swapped))
		if took := time.Since(swapped); e2e.Times(0, 1) == 1 && took > probeWithin+10*time.Second {
			t.Errorf("round %d: back after %s", round, took)
		}
		p.Signal(syscall.SIGUSR1)             // it is not tried again
		if round%5 == 4 && round < rounds-1 { // another one is
			n++
			good = fmt.Sprintf("good %d", n)
			h.Month("m", monthNumber(n), good)
			p.Signal(syscall.SIGUSR1)
			h.Eventually("a release that works", func() bool { return h.ServedContent("m") == good })
		}
	}
	h.Eventually("the last verdict", func() bool {
		return strings.Contains(h.Expect(0, "status", "--json").Stdout, `"state": "proven"`)
	})
	h.Sync(1) // the last one stays refused
	p.Terminate()
	counts := activations(h, "m")
	for release := range live {
		for tree, times := range counts {
			if strings.HasPrefix(tree, release+"-") {
				live[release] += times
			}
		}
		if live[release] != 1 {
			t.Errorf("%s broke the consumer and was live %d times", release, live[release])
		}
	}
	h.Proven()
	t.Logf("the longest way back took %s, with %d kills", longest.Round(time.Millisecond), kills)
	e2e.Reliability(t, "releases that break the consumer", fmt.Sprintf("gone back within %s + 10 s, with %d kills", probeWithin, kills), rounds)
}

// A one-shot sync is killed after the swap, and no daemon runs: the next command goes on.
func TestTheNextSyncEndsTheProbeOfAKilledOne(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	withProbe(h, "")
	longer := strings.Replace(string(h.Read("syncd.yaml")), "within: "+probeWithin.String(), "within: 8s", 1) // the kill comes before the verdict
	h.Write("syncd.yaml", longer, 0o644)
	h.Month("m", "2026.10", "good")
	h.Sync(0)
	h.Month("m", "2026.11", "broken")
	p := h.Start("sync")
	h.Eventually("the swap", func() bool { return h.ServedContent("m") == "broken" })
	p.Signal(syscall.SIGKILL)
	p.Wait()
	h.Contains("status", h.Expect(0, "status").Stdout, "the probe has no verdict about 2026.11 yet")
	r := h.Sync(1)
	e2e.Same(h, "the next sync", "2026.10 refused probe", r.Manifests[0].Release+" "+r.Manifests[0].Result+" "+r.Manifests[0].Reason)
	e2e.Same(h, "served", "good", h.ServedContent("m"))
	h.Contains("explain", h.Expect(0, "explain", "m").Stdout, "asked about m 2026.11", "stays in quarantine until `syncd activate --again m`", "  probe: asked about m 2026.11")
	h.Contains("history", h.Expect(0, "history").Stdout, "probe", "refused (probe)")
	h.Contains("probe", h.Expect(0, "probe").Stdout, "m  the consumer works with 2026.10-")
	h.Write("consumer.sh", "#!/bin/sh\nexit 1\n", 0o755)
	h.Contains("probe", h.Expect(1, "probe", "m").Stdout, "m  the consumer does not work with 2026.10-", "exit status 1")
	h.Expect(2, "probe", "other")
	h.Eventually("the end of all that the consumers forked away", func() bool { return len(sleepers(h)) == 0 })
}

// sleepers lists what the consumers of a host left running.
func sleepers(h *e2e.Host) (left []string) {
	h.Helper()
	forked := strings.Fields(string(h.Read("forked")))
	if len(forked) == 0 {
		h.Fatal("no consumer forked away")
	}
	for _, pid := range forked {
		if words, _ := os.ReadFile("/proc/" + pid + "/cmdline"); string(words) == "sleep\x001000\x00" {
			left = append(left, pid)
		}
	}
	return left
}

// The consumer hears of the swap before it is asked, and a hook that fails does not hold up
// the probe.
func TestHooksAreToldBeforeTheProbe(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	loaded := h.Path("loaded")
	withProbe(h, fmt.Sprintf(`hooks:
  - {on: [activated, rolled_back], command: [sh, -c, 'sleep 0.5; cp "$SYNCD_PATH/m.dat" %s']}
  - {on: [activated], command: ["false"]}
`, loaded))
	h.Write("consumer.sh", "#!/bin/sh\n! cmp -s "+loaded+" \"$SYNCD_PATH/m.dat\" && echo not loaded yet && exit 1\n! grep -q broken "+loaded+"\n", 0o755)
	h.Month("m", "2026.10", "good")
	h.Sync(0)
	wantLoaded := func() {
		t.Helper()
		text, err := os.ReadFile(loaded)
		h.Must(err)
		e2e.Same(h, "loaded", "good", string(text))
	}
	wantLoaded()
	h.Month("m", "2026.11", "broken")
	h.Sync(1)
	wantLoaded()
	if out := h.Expect(0, "explain", "m").Stdout; strings.Contains(out, "not loaded yet") {
		t.Errorf("asked before the hook: %s", out)
	}
}
