package syncer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/manifest/layout"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// gatedBy gives a manifest a shell script as its gate.
func (w *world) gatedBy(name, script string) {
	w.target(name, func(t *golive.Target) {
		t.Gate = gate.Gate{Command: []string{"/bin/sh", "-c", script}, Timeout: time.Minute, Env: os.Environ()}
	})
}

// Two manifests that become complete at once are both judged, and with views that show
// the new files of the whole group.
func TestEachManifestOfAGroupIsJudgedWithTheOthers(t *testing.T) {
	w := start(t, "a", "b")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	seen := filepath.Join(t.TempDir(), "seen")
	script := fmt.Sprintf(`cat "$SYNCD_VIEW_V/a" "$SYNCD_VIEW_V/b" > %s.$SYNCD_MANIFEST`, seen)
	for _, name := range []string{"a", "b"} {
		w.gatedBy(name, script)
	}
	w.view(layout.View{Name: "v", Manifests: []string{"a", "b"}, Layout: layout.Flat})
	for month := 9; month <= 12; month++ {
		release := fmt.Sprintf("2026.%02d", month)
		w.publish("a", release, files{"a": release})
		w.publish("b", release, files{"b": release})
		result := w.demand()
		w.expect(result, "a", report.Updated)
		w.expect(result, "b", report.Updated)
		for _, name := range []string{"a", "b"} {
			if text, err := os.ReadFile(seen + "." + name); err != nil || string(text) != release+release {
				t.Errorf("the gate of %s saw %q, %v", name, text, err)
			}
		}
	}
	equal(t, "generation", w.generation(), 4)
}

// All activations while the gate runs take its verdict.
func TestARefusalIsToldOnce(t *testing.T) {
	w := served(t)
	runs, end := w.slowGate()
	w.target("data", func(t *golive.Target) { t.Gate.Command[2] += "; false" })
	w.publish("data", "2026.10", october())
	w.told()
	synced := w.background()
	eventually(t, "the gate runs", func() bool { return runs() == 1 })
	const asking = 5
	var waiting sync.WaitGroup
	for range asking {
		waiting.Go(func() {
			if _, err := w.activate("data"); err == nil || !strings.Contains(err.Error(), "refused it") {
				t.Errorf("activate: %v", err)
			}
		})
	}
	stacks := make([]byte, 1<<20)
	eventually(t, "the activations wait for the gate", func() bool {
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("claims.(*Set).Take(")) == asking
	})
	end()
	w.expect(synced.wait(), "data", report.Refused)
	waiting.Wait()
	equal(t, "runs of the gate", runs(), 1)
	w.wantTold("refused")
}

func TestARevisionWhoseGateWasRemovedIsNotRefusedAnyLonger(t *testing.T) {
	w := served(t)
	w.policy(manual)
	w.gatedBy("data", "false")
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Refused)
	w.staged("data", "", report.StateQuarantined)
	w.target("data", func(t *golive.Target) { t.Gate = gate.Gate{} })
	w.demand()
	w.staged("data", "2026.10", report.StateStaged)
	_, err := w.activate("data")
	must(t, err)
	w.serves("data", october())
}

// writing is a gate that changes a file.
const writing = `chmod u+w "$SYNCD_PATH/b.dat"; echo more >>"$SYNCD_PATH/b.dat"`

// A gate runs as syncd's user, so it can write into the tree that it looks at.
func TestWhatAGateChangedIsNeverServed(t *testing.T) {
	for name, activate := range map[string]staging.Policy{"at once": {}, "manual": manual} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.policy(activate)
			w.gatedBy("data", writing)
			w.publish("data", "2026.10", october())
			result := w.demand()
			w.expect(result, "data", report.Refused)
			if m := result.Manifests[0]; m.Reason != "gate" || !strings.Contains(m.Error, "changed the content of 1 files, such as b.dat") {
				t.Errorf("refused %q: %s", m.Reason, m.Error)
			}
			w.serves("data", september())
			w.target("data", func(t *golive.Target) { t.Gate.Command = []string{"/bin/true"} })
			w.configure()
			w.demand()
			_, err := w.activate()
			must(t, err)
			w.serves("data", october())
		})
	}
}

func TestWhatAGateChangedOutsideOfASyncIsNeverServed(t *testing.T) {
	w := stagedOctober(t)
	w.told()
	w.gatedBy("data", writing)
	w.configure()
	if _, err := w.activate("data"); err == nil || !strings.Contains(err.Error(), "b.dat") {
		t.Errorf("activate: %v", err)
	}
	w.serves("data", september())
	if told := w.wantTold("refused"); told[0].Release != "2026.10" {
		t.Errorf("told %+v", told)
	}
}

// A gate can take much memory and many reads.
func TestFewGatesRunAtOnce(t *testing.T) {
	const most, waiting = 4, 3
	dir := t.TempDir()
	var names []string
	for i := range most + waiting {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	w := start(t, names...)
	for _, name := range names {
		w.gatedBy(name, fmt.Sprintf(`cd %s; : >$SYNCD_MANIFEST; until test -e end; do sleep 0.01; done`, dir))
		w.publish(name, "2026.09", files{"a": name})
	}
	w.configure()
	synced := w.background()
	stacks := make([]byte, 4<<20)
	eventually(t, "some gates wait", func() bool {
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("semaphore.(*Weighted).Acquire(")) == waiting
	})
	eventually(t, "the others run", func() bool {
		begun, err := os.ReadDir(dir)
		must(t, err)
		return len(begun) == most
	})
	must(t, os.WriteFile(filepath.Join(dir, "end"), nil, 0o600))
	for _, name := range names {
		w.expect(synced.wait(), name, report.Updated)
	}
}

// Without Metadata, the sizes are known only once the files are on disk.
func TestAFileThatShrankIsRefusedBeforeTheGateLooks(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", files{"a.dat": strings.Repeat("x", 200_000)})
	w.expect(w.demand(), "data", report.Updated)
	seen := filepath.Join(t.TempDir(), "seen")
	w.gatedBy("data", "touch "+seen)
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	w.publish("data", "2026.10", files{"a.dat": strings.Repeat("y", 100)})
	m := w.expect(w.demand(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.Shrink))
	if _, err := os.Stat(seen); err == nil {
		t.Error("the gate looked at it")
	}
	if status := w.status().Manifests[0]; status.State != report.StateRefused || status.Staged != nil {
		t.Errorf("status %+v", status)
	}
}
