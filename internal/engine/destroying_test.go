package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest/expiry"
	"syncd/internal/report/request"
)

// dueAt destroys what is due at a time by the clock and by the provider.
func dueAt(t *testing.T, e *Engine, at time.Time) {
	t.Helper()
	tree := e.active.Load().syncer.Tree()
	present := tree.Present
	tree.Present = func() expiry.Present { return expiry.Present{Clock: at, Header: at, SeenAt: at} }
	defer func() { tree.Present = present }()
	must(t, e.Destruction.by(e.active.Load()).DestroyDue(t.Context()))
}

// revisions counts those of a manifest on disk.
func revisions(e *Engine, name string) int { return len(e.mirror.Records.RevisionIDs(name)) }

// An upstream's short destroy_after must not take away what a broken release goes back to.
func TestDestroyAfterWaitsForTheVerdictOfAProbe(t *testing.T) {
	c := consume(t, "one")
	c.cfg.Manifests[0].DestroyAfter = time.Hour
	c.cfg.Manifests[0].Probe.Within = time.Minute
	e := c.engine()
	syncOf(t, e)
	c.brings("2026.10", "one")
	release := c.holds()
	done := make(chan struct{})
	go func() {
		defer close(done)
		syncOf(t, e)
	}()
	for c.about("one 2026.10") == 0 {
		time.Sleep(time.Millisecond)
	}
	why := ""
	for range 100 { // the sync looks by itself, too
		dueAt(t, e, time.Now().Add(24*time.Hour))
		if why = e.destructions.Waiting()["one"]; why != "" {
			break
		}
	}
	if !strings.Contains(why, "a probe that has no verdict yet may go back to it") {
		t.Errorf("it stays because %q", why)
	}
	if n := revisions(e, "one"); n != 2 {
		t.Errorf("%d revisions while the probe has no verdict", n)
	}
	release()
	<-done
	dueAt(t, e, time.Now().Add(24*time.Hour))
	if n := revisions(e, "one"); n != 1 {
		t.Errorf("%d revisions after the verdict", n)
	}
}

// An operator who fetches a destroyed release again wants to use it: its time begins again.
func TestWhatWasFetchedAgainIsDueAfterThat(t *testing.T) {
	w := start(t, "one")
	w.cfg.Manifests[0].DestroyAfter = time.Hour
	w.cfg.Manifests[0].Activate = config.Activation{Manual: true}
	e := w.open()
	defer e.Close()
	activate := func() {
		_, err := operation.Activate.Do(t.Context(), e.Operations(), request.Activate{})
		must(t, err)
	}
	syncOf(t, e)
	activate()
	w.publish("one", "2026.10", "one 2026.10")
	syncOf(t, e)
	activate()
	left := time.Now()
	dueAt(t, e, left.Add(2*time.Hour))
	if n := revisions(e, "one"); n != 1 {
		t.Fatalf("%d revisions after an hour", n)
	}
	_, err := operation.Order.Do(t.Context(), e.Operations(), request.Order{Manifests: []string{"one"}, Release: "2026.09", Trigger: request.TriggerPin})
	must(t, err)
	syncOf(t, e)
	if n := revisions(e, "one"); n != 2 {
		t.Fatalf("%d revisions after it was pinned", n)
	}
	dueAt(t, e, left.Add(time.Hour+time.Nanosecond))
	if n := revisions(e, "one"); n != 2 {
		t.Errorf("%d revisions, an hour after it left and less after it came back", n)
	}
	dueAt(t, e, time.Now().Add(2*time.Hour))
	if n := revisions(e, "one"); n != 1 {
		t.Errorf("%d revisions, an hour after it came back", n)
	}
}

// A consumer that does not work may quote the data.
func TestWhatAConsumerSaidIsDestroyedWithTheData(t *testing.T) {
	c, e := one(t)
	syncOf(t, e)
	notes := filepath.Join(c.cfg.DataDir, "state/probes/one")
	if text, err := os.ReadFile(notes); err != nil || !strings.Contains(string(text), "serving one 2026.10") {
		t.Fatalf("no answer in %s, %v", text, err)
	}
	_, err := operation.Destroy.Do(t.Context(), e.Operations(), request.Destroy{Manifest: "one", Releases: []string{"2026.10"}})
	must(t, err)
	if text, err := os.ReadFile(notes); err != nil || strings.Contains(string(text), "serving one 2026.10") {
		t.Errorf("%s, %v", text, err)
	}
	c.wants("the destroyed release", "2026.09 unchanged ", outcome(syncOf(t, e), "one"))
}
