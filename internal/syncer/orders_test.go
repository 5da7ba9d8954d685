package syncer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func (w *world) orders(req request.Order) {
	w.Helper()
	if req.Manifests == nil {
		req.Manifests = []string{"data"}
	}
	_, err := golive.Order(context.Background(), w.syncer.Tree(), req)
	must(w, err)
}

func (w *world) only() report.ManifestStatus {
	w.Helper()
	return w.status().Manifests[0]
}

// threeMonths serves October, and September is on disk, too.
func threeMonths(t *testing.T) *world {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Updated)
	return w
}

func TestAPinGoesBeforeTheConfigurationAndSurvivesALostState(t *testing.T) {
	w := threeMonths(t)
	w.orders(request.Order{Release: "2026.09", Trigger: request.TriggerPin})
	equal(t, "pin", w.only().Pin, "2026.09")
	w.serves("data", october())
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", september())
	w.loseState()
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.force(), "data", report.Unchanged)
	w.serves("data", september())
	equal(t, "pin", w.only().Pin, "2026.09")
	w.orders(request.Order{Trigger: request.TriggerUnpin})
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", october())
	equal(t, "pin", w.only().Pin, "")
	equal(t, "trigger", w.history().Entries[1].Trigger, "unpin")
}

// Nothing of the data changes, so that there is nothing to stage or to judge.
func TestAPinToTheServedReleaseEndsARollbackAtOnce(t *testing.T) {
	w := threeMonths(t)
	_, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{})
	must(t, err)
	w.policy(manual)
	w.gatedBy("data", "false")
	w.orders(request.Order{Release: w.only().Release, Trigger: request.TriggerPin})
	w.expect(w.demand(), "data", report.Updated)
	w.staged("data", "", report.StateInSync)
	w.expect(w.demand(), "data", report.Unchanged)
}

func TestAHoldKeepsWhatIsServedUntilItEnds(t *testing.T) {
	w := served(t)
	w.orders(request.Order{Until: time.Now().Add(time.Hour), Trigger: request.TriggerHold})
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Unchanged)
	w.loseState()
	w.expect(w.demand(), "data", report.Unchanged)
	if m := w.only(); m.State != report.StateHeld || m.HoldUntil == nil {
		t.Errorf("status %+v", m)
	}
	w.serves("data", september())
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", october())
	if m := w.only(); m.State != report.StateInSync || m.HoldUntil != nil {
		t.Errorf("status %+v", m)
	}

	// A hold that ends by itself, and one that is ended.
	w.orders(request.Order{Until: time.Now().Add(time.Hour), Trigger: request.TriggerHold})
	w.orders(request.Order{Until: time.Now().Add(-time.Second), Trigger: request.TriggerHold})
	w.publish("data", "2026.11", september())
	w.expect(w.poll(), "data", report.Updated)
}

func TestAHoldKeepsWhatIsStaged(t *testing.T) {
	w := stagedOctober(t)
	w.orders(request.Order{Until: time.Now().Add(time.Hour), Trigger: request.TriggerHold})
	if _, err := w.activate("data"); err == nil || !strings.Contains(err.Error(), "held until") {
		t.Errorf("activate: %v", err)
	}
	w.policy(always())
	if w.window(); w.syncer.Tree().HasDue(time.Now()) {
		t.Error("due")
	}
	w.serves("data", september())
	w.expect(w.force(), "data", report.Updated) // ends the hold, which binds nothing of the same sync
	w.serves("data", october())
	w.expect(w.poll(), "data", report.Unchanged)
}

func TestASkippedReleaseIsPassedOver(t *testing.T) {
	w := served(t)
	w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerSkip})
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Unchanged)
	w.expect(w.poll(), "data", report.Unchanged)
	if asked := w.asked("/"); len(asked) != 1 {
		t.Errorf("a poll without news asked %v", asked)
	}
	equal(t, "skips", w.only().Skips, []string{"2026.10"})
	equal(t, "behind", w.metric("syncd_releases_behind", "manifest=data"), 0.0)
	w.publish("data", "2026.11", november())
	w.expect(w.poll(), "data", report.Updated)
	w.serves("data", november())
	if _, err := golive.Order(context.Background(), w.syncer.Tree(), request.Order{Manifests: []string{"data"}, Release: "2026.11", Trigger: request.TriggerSkip}); err == nil {
		t.Error("the served release was skipped")
	}
	w.orders(request.Order{Release: "2026.10", Undo: true, Trigger: request.TriggerSkip})
	equal(t, "skips", w.only().Skips, []string{})
}

func TestSkippingDropsWhatIsStaged(t *testing.T) {
	w := stagedOctober(t)
	w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerSkip})
	w.staged("data", "", report.StateInSync)
	w.expect(w.demand(), "data", report.Unchanged)
	w.staged("data", "", report.StateInSync)
}

func TestOrdersDuringADownloadCount(t *testing.T) {
	for name, req := range map[string]request.Order{
		"hold": {Until: time.Now().Add(time.Hour), Trigger: request.TriggerHold},
		"pin":  {Release: "2026.09", Trigger: request.TriggerPin},
		"skip": {Release: "2026.11", Trigger: request.TriggerSkip},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			gate := w.gate("c.txt")
			w.publish("data", "2026.11", november())
			sync := w.background("data")
			w.downloading("data")
			w.orders(req)
			close(gate)
			w.expect(sync.wait(), "data", report.Unchanged)
			w.serves("data", september())
		})
	}
}

func TestARollbackKeepsTheOrders(t *testing.T) {
	w := threeMonths(t)
	w.orders(request.Order{Release: "2026.12", Trigger: request.TriggerSkip})
	w.rollback(request.Rollback{})
	equal(t, "skips", w.only().Skips, []string{"2026.12"})
}

func TestAnOrderNeedsData(t *testing.T) {
	w := start(t, "data")
	if _, err := golive.Order(context.Background(), w.syncer.Tree(), request.Order{Manifests: []string{"data"}, Release: "2026.09", Trigger: request.TriggerPin}); err == nil || !strings.Contains(err.Error(), "no data yet") {
		t.Errorf("got %v", err)
	}
}

func TestAStagedRevisionThatOrdersDroppedIsToldAgain(t *testing.T) {
	w := served(t)
	w.policy(manual)
	w.publish("data", "2026.10", october())
	w.demand()
	w.wantTold("activated", "staged")
	w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerSkip})
	w.staged("data", "", report.StateInSync)
	w.orders(request.Order{Release: "2026.10", Undo: true, Trigger: request.TriggerSkip})
	w.demand()
	w.wantTold("staged")
	w.policy(staging.Policy{})
}
