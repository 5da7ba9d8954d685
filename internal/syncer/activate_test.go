package syncer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// stagedThree has october of the group of a and b staged, and of alone.
func stagedThree(t *testing.T) *world {
	t.Helper()
	w := start(t, "a", "b", "alone")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"a", "b"}}}
	w.configure()
	publish := func(release string) {
		for _, name := range []string{"a", "b", "alone"} {
			w.publish(name, release, files{name: release + " of " + name})
		}
	}
	publish("2026.09")
	w.demand()
	w.policy(manual)
	publish("2026.10")
	w.demand()
	w.told()
	return w
}

// stayed requires that only the manifest without a group went live.
func (w *world) stayed(result report.Sync) {
	w.Helper()
	w.expect(result, "alone", report.Updated)
	w.serves("alone", files{"alone": "2026.10 of alone"})
	for _, name := range []string{"a", "b"} {
		w.serves(name, files{name: "2026.09 of " + name})
	}
	w.wantTold("activated")
	if result.OK() || !result.Changed || !w.history().Entries[0].Changed {
		w.Errorf("result %+v", result)
	}
}

func TestAManifestThatCannotBeBuiltHoldsUpItsGroupOnly(t *testing.T) {
	for _, trigger := range []string{request.TriggerActivate, request.TriggerWindow} {
		t.Run(trigger, func(t *testing.T) {
			w := stagedThree(t)
			w.policy(always())
			trees, err := filepath.Glob(filepath.Join(w.dir, "revisions/b/2026.10-*"))
			must(t, err)
			must(t, os.Remove(filepath.Join(trees[0], "b")))
			must(t, os.Remove(w.objectPath(idOf("2026.10 of b"))))
			result, err := golive.Activate(t.Context(), w.syncer.Tree(), request.Activate{Trigger: trigger})
			must(t, err)
			w.stayed(result)
			for _, name := range []string{"a", "b"} {
				if m := w.expect(result, name, report.Failed); !strings.Contains(m.Error, "b: build revision 2026.10-") || m.Release != "2026.09" {
					t.Errorf("%+v", m)
				}
			}
			if !w.syncer.Tree().HasDue(time.Now()) {
				t.Error("the group is not tried again")
			}
			if _, err := golive.Activate(t.Context(), w.syncer.Tree(), request.Activate{Trigger: trigger}); err == nil || !strings.Contains(err.Error(), "build revision") {
				t.Errorf("alone: %v", err)
			}
			w.policy(manual)
		})
	}
}

func TestAManifestThatItsGateRefusesHoldsUpItsGroupOnly(t *testing.T) {
	w := stagedThree(t)
	w.target("b", func(t *golive.Target) {
		t.Gate = gate.Gate{Command: []string{"/bin/false"}, Timeout: time.Minute}
	})
	result, err := w.activate("g", "alone")
	must(t, err)
	w.expect(result, "alone", report.Updated)
	w.serves("a", files{"a": "2026.09 of a"})
	w.serves("b", files{"b": "2026.09 of b"})
	if m := w.expect(result, "b", report.Refused); m.Reason != "gate" {
		t.Errorf("%+v", m)
	}
	if m := w.expect(result, "a", report.Failed); m.Error != "release 2026.10 stays staged: the gate refused b" {
		t.Errorf("%+v", m)
	}
	w.wantTold("refused", "activated")
}
