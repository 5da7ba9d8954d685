package syncer_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/manifest"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func (w *world) discard() {
	w.Helper()
	_, err := golive.Activate(context.Background(), w.syncer.Tree(), request.Activate{Names: []string{"data"}, Discard: true, Trigger: request.TriggerDiscard})
	must(w, err)
}

// explained is the sentence of `explain`.
func (w *world) explained() string {
	w.Helper()
	s := w.status()
	s.Explain(time.Now())
	return s.Manifests[0].Explanation
}

// An operator discards a release that the gate refused, and mends the gate. The release
// comes back by each of the ways that `explain` and the documents name.
func TestADiscardedReleaseComesBackWhenTheOperatorWantsIt(t *testing.T) {
	const mended = "true"
	for name, wantAgain := range map[string]func(*world){
		"sync --force": func(w *world) { w.force() },
		"pin": func(w *world) {
			w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerPin})
			w.poll()
		},
		"another gate": func(w *world) {
			w.gatedBy("data", mended)
			w.poll()
		},
		"another configuration": func(w *world) {
			w.target("data", func(t *golive.Target) { t.Filter.Exclude = []string{"d.lic"} })
			w.poll()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			verdict := t.TempDir() + "/refuse"
			w.gatedBy("data", "! test -e "+verdict)
			writeFile(t, verdict)
			w.publish("data", "2026.10", october())
			w.expect(w.poll(), "data", report.Refused)
			w.discard()
			w.staged("data", "", report.StateInSync)
			for range 2 { // not now
				w.expect(w.poll(), "data", report.Unchanged)
				w.restart()
			}
			w.expect(w.demand(), "data", report.Unchanged)
			if text := w.explained(); !strings.Contains(text, "2026.10 was dropped by `syncd activate --discard`, `syncd sync --force data` fetches it again") || strings.Contains(text, "the next sync will") {
				t.Errorf("explain: %s", text)
			}
			_, err := golive.Activate(t.Context(), w.syncer.Tree(), request.Activate{Names: []string{"data"}, Again: true, Trigger: request.TriggerActivate})
			if err == nil || !strings.Contains(err.Error(), "syncd sync --force data") {
				t.Errorf("activate --again: %v", err)
			}
			removeFile(t, verdict)
			wantAgain(w)
			equal(t, "release", w.only().Release, "2026.10")
		})
	}
}

func TestADiscardOfAnEarlierSyncdIsKept(t *testing.T) {
	e := staging.Revision{Manifest: "data", Dropped: true, Verdict: &staging.Verdict{Gate: "one"}}
	if !e.IsLeft("one of now", staging.Gate{ID: "one"}) || e.IsLeft("another of now", staging.Gate{ID: "another"}) {
		t.Error("it does not go by the gate")
	}
}

// After a rollback, the operator forces the release back. It waits as the policy says, and
// then goes live.
func TestAForcedReleaseGoesLiveAfterARollbackWhateverItWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		policy staging.Policy
		gate   string
		stages bool
	}{
		"manual":            {manual, "", true},
		"manual and a gate": {manual, "true", true},
		"a window":          {never(), "", true},
		"a gate":            {staging.Policy{}, "true", false},
		"at once":           {staging.Policy{}, "", false},
	} {
		for _, group := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " in a group"}[group], func(t *testing.T) {
				w := start(t, "data", "more")
				if group {
					w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"data", "more"}}}
					w.configure()
				}
				for _, release := range []string{"2026.09", "2026.10"} {
					w.publish("data", release, files{"a": release})
					w.publish("more", release, files{"a": release})
					w.demand()
				}
				w.rollback(request.Rollback{})
				w.policy(tt.policy)
				for _, name := range []string{"data", "more"} {
					if tt.gate != "" {
						w.gatedBy(name, tt.gate)
					}
				}
				w.demand()
				w.serves("data", files{"a": "2026.09"})
				for range 2 { // the second one finds it staged
					w.force()
				}
				if tt.stages {
					w.staged("data", "2026.10", report.StateStaged)
					w.restart()
					w.demand()
					if tt.policy.Manual {
						_, err := w.activate("data", "more")
						must(t, err)
					} else {
						w.policy(always())
						w.window()
					}
				}
				w.serves("data", files{"a": "2026.10"})
				w.serves("more", files{"a": "2026.10"})
				equal(t, "held from", w.only().HeldFrom, "")
			})
		}
	}
}

// A release that was forced before a rollback does not undo the rollback.
func TestARollbackHoldsBackWhatWasForcedBefore(t *testing.T) {
	w := advanced(t)
	w.policy(manual)
	w.rollback(request.Rollback{})
	w.force()
	w.staged("data", "2026.11", report.StateStaged)
	w.rollback(request.Rollback{Generation: 1})
	if _, err := w.activate("data"); err == nil || !strings.Contains(err.Error(), "syncd sync --force") {
		t.Errorf("activate: %v", err)
	}
	w.serves("data", september())
}

// A hold says that it ends when another release is wanted, so the release that was left can
// be pinned.
func TestAPinnedReleaseGoesLiveAfterARollback(t *testing.T) {
	w := advanced(t)
	w.policy(manual)
	w.rollback(request.Rollback{})
	w.orders(request.Order{Release: "2026.11", Trigger: request.TriggerPin})
	w.demand()
	_, err := w.activate("data")
	must(t, err)
	w.serves("data", november())
}

// A rollback below a pin takes the pin along and says so. The next syncs leave it alone.
func TestARollbackBelowAPinMovesThePin(t *testing.T) {
	for name, held := range map[string]bool{"held before": true, "not held before": false} {
		t.Run(name, func(t *testing.T) {
			w := advanced(t)
			if held {
				w.rollback(request.Rollback{})
			}
			w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerPin})
			w.demand()
			w.serves("data", october())
			result := w.rollback(request.Rollback{Generation: 1})
			equal(t, "pinned before", result.Manifests[0].PinnedBefore, "2026.10")
			w.serves("data", september())
			equal(t, "pin", w.only().Pin, "2026.09")
			for range 2 {
				w.expect(w.poll(), "data", report.Unchanged)
				w.expect(w.demand(), "data", report.Unchanged)
				w.restart()
			}
			w.serves("data", september())
		})
	}
	w := advanced(t)
	w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerPin})
	result := w.rollback(request.Rollback{}) // to the pinned release
	equal(t, "pin that stays", w.only().Pin+result.Manifests[0].PinnedBefore, "2026.10")
}

// A gate that removes what it looks at fails by name.
func TestAGateThatRemovesTheRevisionIsNamed(t *testing.T) {
	for name, policy := range map[string]staging.Policy{"at once": {}, "manual": manual} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.policy(policy)
			w.gatedBy("data", `chmod -R u+w "$SYNCD_PATH"; rm -r "$SYNCD_PATH"`)
			w.publish("data", "2026.10", october())
			result := w.demand()
			w.expect(result, "data", report.Refused)
			if m := result.Manifests[0]; m.Reason != "gate" || !strings.Contains(m.Error, "the gate /bin/sh removed the folder of the revision") {
				t.Errorf("refused %q: %s", m.Reason, m.Error)
			}
			w.serves("data", september())
			w.target("data", func(t *golive.Target) { t.Gate = gate.Gate{} })
			w.demand()
			_, err := w.activate()
			must(t, err)
			w.serves("data", october())
		})
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	must(t, os.WriteFile(path, nil, 0o600))
}

func removeFile(t *testing.T, path string) {
	t.Helper()
	must(t, os.Remove(path))
}

// A pinned release that is served stays in sync when the provider delists it, and that is
// said once.
func TestADelistedPinnedReleaseIsKept(t *testing.T) {
	for name, delist := range map[string]func(*world){
		"the release": func(w *world) { w.provider.RemoveRelease("data", "2026.09") },
		"the manifest": func(w *world) {
			w.provider.RemoveRelease("data", "2026.09")
			w.provider.RemoveRelease("data", "2026.10")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.orders(request.Order{Release: "2026.09", Trigger: request.TriggerPin})
			w.publish("data", "2026.10", october())
			w.expect(w.demand(), "data", report.Unchanged)
			delist(w)
			w.log.Reset()
			for range 2 {
				w.expect(w.demand(), "data", report.Unchanged)
				w.expect(w.poll(), "data", report.Unchanged)
				w.pass(48 * time.Hour)
				w.expect(w.poll(), "data", report.Unchanged)
				w.restart()
			}
			w.serves("data", september())
			equal(t, "said", strings.Count(w.log.String(), "the provider has the wanted release no more"), 1)
			if m := w.only(); m.State != report.StateInSync || !m.Delisted || !strings.Contains(w.explained(), "the provider has 2026.09 no more") {
				t.Errorf("%s: %s", m.State, w.explained())
			}
			w.publish("data", "2026.09", september())
			w.expect(w.demand(), "data", report.Unchanged)
			if w.only().Delisted {
				t.Error("it is still delisted after it came back")
			}
		})
	}
}

// A pin reaches a revision that is kept on disk, although the provider has it no more.
func TestAPinReachesAReleaseThatOnlyTheDiskHas(t *testing.T) {
	for name, policy := range map[string]staging.Policy{"at once": {}, "manual": manual} {
		t.Run(name, func(t *testing.T) {
			w := advanced(t)
			w.policy(policy)
			w.provider.RemoveRelease("data", "2026.09")
			w.orders(request.Order{Release: "2026.09", Trigger: request.TriggerPin})
			result := w.demand()
			if policy.Manual {
				w.expect(result, "data", report.Unchanged)
				_, err := w.activate("data")
				must(t, err)
			} else {
				w.expect(result, "data", report.Updated)
			}
			w.serves("data", september())
			w.expect(w.demand(), "data", report.Unchanged)
			if asked := w.asked("/Download/"); len(asked) > 0 {
				t.Errorf("downloaded %v", asked)
			}
			w.orders(request.Order{Release: "2026.08", Trigger: request.TriggerPin})
			w.expect(w.demand(), "data", report.Failed) // no host has it
			w.serves("data", september())
		})
	}
}

// Files of a named release, and a product, stay in sync when the provider delists them. The
// other files of the entry go on.
func TestDelistedFilesOfAPinnedReleaseAreKept(t *testing.T) {
	suite := func(content string) emulator.File {
		return emulator.File{Class: emulator.ClassProduct, Name: "Suite", Content: emulator.Text(content)}
	}
	for name, references := range map[string][]string{
		"by the configuration": {"Product/2026.09/Suite", "Data/2026.09/ews.txt", so},
		"by a pin":             {"Product/latest/Suite", ews, "Library/LINUX/GCC48/64BIT/2026.08/lib.so"},
	} {
		t.Run(name, func(t *testing.T) {
			w := single(t, references...)
			w.provider.SetFiles("2026.08", sharedLib("lib of august"))
			w.provider.SetFiles("2026.09", suite("september"), data("ews.txt", "ews of september"))
			w.expect(w.demand(), "one", report.Updated)
			want := files{"Suite": "september", "ews.txt": "ews of september", soPath: "lib of august"}
			isPin := references[1] == ews
			if isPin {
				w.orders(request.Order{Manifests: []string{"one"}, Release: "2026.09", Trigger: request.TriggerPin})
			}
			w.provider.SetFiles("2026.09")
			w.provider.SetFiles("2026.10", suite("october"))
			if isPin {
				w.provider.SetFiles("2026.08")
			}
			w.log.Reset()
			for range 2 {
				w.expect(w.demand(), "one", report.Unchanged)
				for range 4 {
					w.expect(w.poll(), "one", report.Unchanged)
				}
				w.pass(48 * time.Hour)
				w.expect(w.poll(), "one", report.Unchanged)
				w.restart()
			}
			w.serves("one", want)
			equal(t, "said", strings.Count(w.log.String(), "the provider has the wanted release no more"), 1)
			if isPin && (!w.only().Delisted || !strings.Contains(w.explained(), "the provider has 2026.09 no more")) {
				t.Errorf("%s", w.explained())
			}
			if !isPin {
				w.provider.SetFiles("2026.11", sharedLib("lib of november"))
				w.expect(w.demand(), "one", report.Updated)
				want[soPath] = "lib of november"
				w.serves("one", want)
			}
			never, err := manifest.ParseReference("Data/2026.09/never.txt")
			must(t, err)
			w.target("one", func(t *golive.Target) { t.Files = append(t.Files, never) })
			w.expect(w.demand(), "one", report.Failed) // no host has it
		})
	}
}

// A follower of a bucket keeps a pinned release when the publisher has the manifest no
// more.
func TestAFollowerOfABucketKeepsAPinnedRelease(t *testing.T) {
	w := follow(t, "data")
	w.put(1, of("2026.09", september()))
	w.expect(w.demand(), "data", report.Updated)
	w.put(2, of("2026.10", october()))
	w.expect(w.demand(), "data", report.Updated)
	w.put(3, buckettest.Release{Manifest: "other", Release: "2026.10", Files: october()})
	w.expect(w.demand(), "data", report.Failed) // latest of nothing
	for _, release := range []string{"2026.10", "2026.09"} {
		w.orders(request.Order{Release: release, Trigger: request.TriggerPin})
		w.demand()
		w.log.Reset()
		for range 2 {
			w.expect(w.demand(), "data", report.Unchanged)
			w.expect(w.poll(), "data", report.Unchanged)
			w.pass(48 * time.Hour)
			w.expect(w.poll(), "data", report.Unchanged)
			w.restart()
		}
		if m := w.only(); m.Release != release || !m.Delisted || m.State != report.StateInSync {
			t.Errorf("%s %s: %s", m.Release, m.State, w.explained())
		}
	}
	w.serves("data", september())
}
