package syncer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/manifest/expiry"
	"syncd/internal/manifest/layout"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/export"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// quarter lets a release be used for three months: September until the end of 1 December.
var quarter = expiry.Rule{After: expiry.Span{Months: 3}}

// withdrawn is quarter for data that is withdrawn.
var withdrawn = expiry.Rule{After: expiry.Span{Months: 3}, Withdraw: true}

// expires gives the manifest "data" a rule.
func (w *world) expires(rule expiry.Rule) {
	w.Helper()
	w.target("data", func(t *golive.Target) { t.Expires = rule })
}

func noon(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 12, 0, 0, 0, time.UTC)
}

// at makes it a time, by the clock and by the provider.
func (w *world) at(now time.Time) { w.by(now, now) }

// by sets the clock and the last Date header.
func (w *world) by(clock, header time.Time) {
	w.present = &expiry.Present{Clock: clock, Header: header, SeenAt: clock}
}

// withdraw does what a daemon does after each sync.
func (w *world) withdraw() report.Sync {
	w.Helper()
	result, err := golive.Withdraw(w.Context(), w.syncer.Tree())
	must(w, err)
	must(w, w.cfg.Outbox.NotifyAging(golive.Aging(w.syncer.Tree())))
	return result
}

// isGone requires that nothing of "data" is served, and that the status says why.
func (w *world) isGone(release string) {
	w.Helper()
	if _, err := os.Lstat(filepath.Join(w.dir, "current/data")); !errors.Is(err, os.ErrNotExist) {
		w.Errorf("current/data: %v", err)
	}
	m := w.only()
	if m.State != report.StateExpired || m.Release != "" || m.Withdrawn == nil || m.Withdrawn.Release != release || m.Expires == "" {
		w.Errorf("status %+v", m)
	}
	if got := w.metric("syncd_manifest_state", "manifest=data", "state=expired"); got == 0 { // -1 right after a start
		w.Errorf("state metric %v", got)
	}
	if got := w.metric("syncd_release_info", "manifest=data"); got == 1 {
		w.Error("syncd_release_info shows what is not served")
	}
	w.whole()
}

func TestAnExpiredReleaseIsNotDownloaded(t *testing.T) {
	w := served(t)
	w.expires(quarter)
	w.publish("data", "2026.10", october())
	w.at(noon(2027, 1, 2)) // october expired yesterday
	m := w.refuses(refusal.Expired)
	if len(w.downloads()) > 0 || !strings.Contains(m.Error, "release 2026.10 of data expired on 2027-01-01") {
		t.Errorf("%s after downloads %s", m.Error, w.downloads())
	}
	w.at(noon(2027, 1, 1)) // its last day
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "expires", w.only().Expires, "2027-01-01")
	equal(t, "metric", w.metric("syncd_manifest_expires_timestamp_seconds", "manifest=data"), float64(noon(2027, 1, 1).Add(12*time.Hour).Unix()))
	w.at(noon(2027, 1, 2)) // what is served stays
	w.expect(w.demand(), "data", report.Unchanged)
	w.serves("data", october())
}

func TestTheFirstReleaseOfAllIsRefusedAndForced(t *testing.T) {
	w := start(t, "data")
	w.expires(withdrawn)
	w.publish("data", "2026.09", september())
	w.at(noon(2027, 1, 2))
	w.refuses(refusal.Expired)
	w.expect(w.force(), "data", report.Updated)
	w.withdraw()
	w.serves("data", september())
}

func TestNothingExpiredGoesLiveByCommand(t *testing.T) {
	expired := func(t *testing.T, err error) {
		t.Helper()
		if refusal.ReasonOf(err) != refusal.Expired {
			t.Errorf("got %v", err)
		}
	}
	t.Run("rollback", func(t *testing.T) {
		w := threeMonths(t)
		w.expires(quarter)
		w.at(noon(2026, 12, 2))
		_, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{})
		expired(t, err)
		w.serves("data", october())
		w.rollback(request.Rollback{Force: true})
		w.serves("data", september())
		w.expires(withdrawn)
		w.withdraw()
		w.serves("data", september())
	})
	t.Run("activate", func(t *testing.T) {
		w := served(t)
		w.policy(manual)
		w.publish("data", "2026.10", october())
		w.demand()
		w.expires(quarter)
		w.at(noon(2027, 1, 2))
		_, err := w.activate("data")
		expired(t, err)
		w.policy(always())
		if w.syncer.Tree().HasDue(time.Now()) {
			t.Error("an expired revision is due")
		}
		w.serves("data", september())
		_, err = golive.Activate(t.Context(), w.syncer.Tree(), request.Activate{Force: true, Trigger: request.TriggerActivate})
		must(t, err)
		w.serves("data", october())
	})
	t.Run("pin", func(t *testing.T) {
		w := threeMonths(t)
		w.expires(quarter)
		w.at(noon(2026, 12, 2))
		pin := request.Order{Manifests: []string{"data"}, Release: "2026.09", Trigger: request.TriggerPin}
		_, err := golive.Order(t.Context(), w.syncer.Tree(), pin)
		expired(t, err)
		equal(t, "pin", w.only().Pin, "")
		pin.Force = true
		w.orders(pin)
		w.expect(w.poll(), "data", report.Updated)
		w.serves("data", september())
		w.expires(withdrawn)
		w.withdraw()
		w.serves("data", september())
	})
	t.Run("adopt", func(t *testing.T) {
		w := start(t, "data")
		w.expires(quarter)
		w.publish("data", "2026.09", september())
		w.at(noon(2026, 12, 2))
		folder := t.TempDir()
		must(t, os.WriteFile(filepath.Join(folder, "a.dat"), []byte(september()["a.dat"]), 0o600))
		adopted, err := w.syncer.Adopt(t.Context(), request.Adopt{Folder: folder})
		must(t, err)
		if m := adopted.Manifests[0]; adopted.OK() || m.Reason != string(refusal.Expired) || adopted.FilesAdopted > 0 {
			t.Errorf("%+v", adopted)
		}
		adopted, err = w.syncer.Adopt(t.Context(), request.Adopt{Folder: folder, Force: true})
		must(t, err)
		if !adopted.OK() || adopted.FilesAdopted != 1 {
			t.Errorf("%+v", adopted)
		}
	})
}

func TestAGateTellsHowLongARevisionMayBeUsed(t *testing.T) {
	w := start(t, "data")
	w.expires(quarter)
	w.at(noon(2026, 11, 1))
	w.gatedBy("data", "echo syncd-expires: 2026-11-20")
	w.publish("data", "2026.09", september())
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "expires", w.only().Expires, "2026-11-20")
	w.publish("data", "2026.10", october())
	w.gatedBy("data", "echo syncd-expires: 2027-12-31") // the rule is earlier
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "expires", w.only().Expires, "2027-01-01")

	w.loseState()
	w.rollback(request.Rollback{})
	equal(t, "expires", w.only().Expires, "2026-11-20")
	w.expect(w.force(), "data", report.Updated)
	w.at(noon(2026, 11, 21))
	w.gatedBy("data", "true") // it tells nothing any more
	w.loseState()
	if _, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{}); refusal.ReasonOf(err) != refusal.Expired {
		t.Errorf("rollback: %v", err)
	}
}

func TestARevisionThatItsGateSaysIsExpiredIsRefused(t *testing.T) {
	w := served(t)
	w.at(noon(2026, 11, 21))
	w.told()
	w.gatedBy("data", "echo syncd-expires: 2026-11-20")
	w.publish("data", "2026.10", october())
	w.refuses(refusal.Expired)
	w.refuses(refusal.Expired) // and again, without a download or a gate
	if len(w.downloads()) > 0 {
		t.Errorf("downloads %s", w.downloads())
	}
	w.wantTold("refused")
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", october())
}

func TestAGateThatTellsNoUsableDayRefuses(t *testing.T) {
	for _, day := range []string{"0001-01-01", "9999-12-31", "2026-02-30", "never", ""} {
		w := served(t)
		w.gatedBy("data", "echo syncd-expires: "+day)
		w.publish("data", "2026.10", october())
		result := w.demand()
		if m := w.expect(result, "data", report.Refused); m.Reason != string(refusal.Gate) || !strings.Contains(m.Error, "told no usable day") {
			t.Errorf("%q: %+v", day, m)
		}
		equal(t, "state", w.only().State, report.StateQuarantined)
		w.serves("data", september())
	}
}

func TestExpiredDataLeavesUntilTheNextRelease(t *testing.T) {
	w := served(t)
	w.expires(withdrawn)
	w.at(noon(2026, 12, 1))
	w.told()
	w.withdraw()
	w.withdraw()
	w.serves("data", september())
	w.wantTold("expiring")

	w.at(noon(2026, 12, 2))
	if result := w.withdraw(); !result.Changed || len(result.Removed) != 1 {
		t.Errorf("%+v", result)
	}
	w.isGone("2026.09")
	if told := w.wantTold("expired"); told[0].Release != "2026.09" || told[0].Expires != "2026-12-01" {
		t.Errorf("told %+v", told)
	}
	w.withdraw()
	m := w.expect(w.demand(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.Expired))
	w.isGone("2026.09")
	w.restart()
	w.configure()
	w.withdraw()
	w.isGone("2026.09")
	w.wantTold("refused")
	if _, err := rollback.Do(t.Context(), w.syncer.Tree(), request.Rollback{}); refusal.ReasonOf(err) != refusal.Expired {
		t.Errorf("rollback: %v", err)
	}
	w.isGone("2026.09")

	w.expect(w.force(), "data", report.Updated)
	for range 3 {
		w.withdraw()
		w.poll()
	}
	w.restart()
	w.withdraw()
	w.serves("data", september())
	if m := w.only(); !m.Expired || m.Withdrawn != nil || m.State != report.StateInSync {
		t.Errorf("forced: %+v", m)
	}

	w.publish("data", "2026.10", october())
	w.expect(w.demand(), "data", report.Updated)
	w.withdraw()
	w.serves("data", october())
	w.at(noon(2027, 1, 2))
	w.withdraw()
	w.isGone("2026.10")
	w.loseState()
	w.isGone("2026.10")
}

func TestNothingIsWithdrawnOnAWrongClock(t *testing.T) {
	before, after := noon(2026, 12, 1), noon(2027, 1, 2)
	for name, row := range map[string]struct {
		clock, header, seenAt time.Time
		live                  bool // october, which expires on 2027-01-01, goes live
	}{
		"a clock a month ahead":    {after, before, after, true},
		"a clock a month behind":   {before, after, before, false},
		"no header":                {after, time.Time{}, time.Time{}, false},
		"a header of 3 days ago":   {after, after, after.Add(-72 * time.Hour), false},
		"a header of another year": {after, noon(1970, 1, 1), after, false},
		"set back since":           {before, after, after, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.expires(expiry.Rule{After: expiry.Span{Months: 3}, Withdraw: true})
			w.present = &expiry.Present{Clock: row.clock, Header: row.header, SeenAt: row.seenAt}
			w.withdraw()
			w.serves("data", september())
			if m := w.status(); m.Manifests[0].ExpiryDoubt == "" && name != "set back since" {
				t.Errorf("%+v", m)
			}
			w.publish("data", "2026.10", october())
			result := w.demand()
			if (result.Manifests[0].Result == report.Updated) != row.live {
				t.Errorf("%+v", result.Manifests)
			}
		})
	}
}

func TestAWithdrawnManifestKeepsItsOrders(t *testing.T) {
	w := served(t)
	w.orders(request.Order{Release: "2026.10", Trigger: request.TriggerSkip})
	w.expires(withdrawn)
	w.at(noon(2026, 12, 2))
	w.withdraw()
	w.isGone("2026.09")
	equal(t, "skips", w.only().Skips, []string{"2026.10"})
	w.orders(request.Order{Release: "2026.11", Trigger: request.TriggerPin})
	w.loseState()
	equal(t, "pin", w.only().Pin, "2026.11")
	w.publish("data", "2026.11", november())
	w.publish("data", "2026.12", october())
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", november())
	if m := w.only(); m.Pin != "2026.11" || len(m.Skips) != 1 {
		t.Errorf("%+v", m)
	}
}

// A gate's day is not in the release's name, so that the release is asked for again.
func TestWhatAGateSaidOfAWithdrawnRevisionCounts(t *testing.T) {
	w := start(t, "data")
	w.expires(expiry.Rule{Withdraw: true})
	w.gatedBy("data", "echo syncd-expires: 2026-11-20")
	w.at(noon(2026, 11, 1))
	w.publish("data", "2026.09", september())
	w.expect(w.demand(), "data", report.Updated)
	w.at(noon(2026, 11, 21))
	w.withdraw()
	w.isGone("2026.09")
	w.loseState()
	m := w.expect(w.demand(), "data", report.Refused)
	equal(t, "reason", m.Reason, string(refusal.Expired))
	if len(w.downloads()) > 0 {
		t.Errorf("downloads %s", w.downloads())
	}
	w.isGone("2026.09")
	w.gatedBy("data", "echo syncd-expires: 2026-12-20") // republished
	w.publish("data", "2026.09", october())
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", october())
}

func TestViewsFoldersAndMatesFollowAWithdrawal(t *testing.T) {
	w := start(t, "data", "mate")
	w.cfg.Groups = []golive.Group{{Name: "g", Manifests: []string{"data", "mate"}}}
	maps := func() (map[string]*layout.Map, error) { return nil, nil }
	folders := t.TempDir()
	for _, v := range []layout.View{{Name: "both", Manifests: []string{"data", "mate"}}, {Name: "alone", Manifests: []string{"data"}}} {
		v.Layout = layout.Native
		w.cfg.Views = append(w.cfg.Views, golive.ViewTarget{View: v, ReadMaps: maps})
		w.cfg.Exports = append(w.cfg.Exports, export.Target{View: v.Name, Path: filepath.Join(folders, v.Name), DataDir: w.dir})
	}
	w.publish("data", "2026.09", files{"d": "september"})
	w.publish("mate", "2026.09", files{"m": "mate"})
	w.expires(withdrawn)
	w.at(noon(2026, 11, 1))
	w.demand()
	w.serves("both", files{"d": "september", "m": "mate"})
	exported := func(name string) string {
		found, err := filepath.Glob(filepath.Join(folders, name, "[a-z]*"))
		must(t, err)
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		return strings.Join(found, " ")
	}
	equal(t, "exported", exported("both")+", "+exported("alone"), "d m, d")
	generation := w.generation()
	w.at(noon(2026, 12, 2))
	w.withdraw()
	w.isGone("2026.09")
	equal(t, "generation", w.generation(), generation+1)
	w.serves("both", files{"m": "mate"})
	w.serves("alone", files{})
	w.serves("mate", files{"m": "mate"})
	equal(t, "exported", exported("both")+", "+exported("alone"), "m, ")
	w.demand()
	equal(t, "exported", exported("both")+", "+exported("alone"), "m, ")

	w.publish("data", "2026.10", files{"d": "october"})
	w.demand()
	w.publish("mate", "2026.10", files{"m": "mate of october"})
	w.demand()
	w.serves("both", files{"d": "october", "m": "mate of october"})
	w.serves("alone", files{"d": "october"})
	equal(t, "exported", exported("both")+", "+exported("alone"), "d m, d")
}

// A view that cannot be made must not keep expired data.
func TestAViewThatCannotFollowIsEmpty(t *testing.T) {
	w := start(t, "data", "mate")
	broken := false
	w.cfg.Views = []golive.ViewTarget{{
		View: layout.View{Name: "v", Manifests: []string{"data", "mate"}, Layout: layout.Native},
		ReadMaps: func() (map[string]*layout.Map, error) {
			if broken {
				return nil, errors.New("no map")
			}
			return nil, nil
		},
	}}
	w.publish("data", "2026.09", files{"d": "september"})
	w.publish("mate", "2026.09", files{"m": "mate"})
	w.expires(withdrawn)
	w.at(noon(2026, 11, 1))
	w.demand()
	broken = true
	w.at(noon(2026, 12, 2))
	w.withdraw()
	w.isGone("2026.09")
	w.serves("v", files{})
	broken = false
	w.demand()
	w.serves("v", files{"m": "mate"})
}

// A crash can come before or after the swap of a withdrawal.
func TestAWithdrawalThatACrashCutOffIsCompleted(t *testing.T) {
	w := served(t)
	w.expires(withdrawn)
	w.at(noon(2026, 12, 2))
	stop := errors.New("killed")
	ctx, kill := context.WithCancelCause(t.Context())
	kill(stop)
	if _, err := golive.Withdraw(ctx, w.syncer.Tree()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	w.serves("data", september())
	gone := w.cfg.Mirror.Current().Records["data"]
	must(t, w.cfg.Lifespans.Withdraw("data", lifespan.Withdrawn{Release: gone.Release, Revision: gone.Revision, Expired: "2026-12-01"}))
	w.restart()
	if m := w.only(); m.State != report.StateInSync || m.Withdrawn != nil {
		t.Errorf("noted, and served: %+v", m)
	}
	w.told()
	if _, err := golive.Withdraw(t.Context(), w.syncer.Tree()); err != nil { // killed before hooks were told
		t.Fatal(err)
	}
	w.wantTold()
	w.restart()
	w.isGone("2026.09")
	w.withdraw()
	w.wantTold("expired")
	w.withdraw()
	w.wantTold()
}

func TestAForcedSyncKeepsWhatIsNotWithdrawnYet(t *testing.T) {
	w := served(t)
	w.expires(withdrawn)
	w.by(noon(2026, 12, 2), time.Time{}) // nothing proves it yet
	w.expect(w.force(), "data", report.Unchanged)
	w.at(noon(2026, 12, 3))
	w.withdraw()
	w.serves("data", september())
}

func TestAGateThatToldAWrongDayIsAskedAgain(t *testing.T) {
	w := served(t)
	w.at(noon(2026, 11, 21))
	day := filepath.Join(t.TempDir(), "day")
	w.gatedBy("data", "echo syncd-expires: $(cat "+day+")")
	must(t, os.WriteFile(day, []byte("2025-12-01"), 0o600))
	w.publish("data", "2026.10", october())
	w.refuses(refusal.Expired)
	must(t, os.WriteFile(day, []byte("2026-12-01"), 0o600))
	w.refuses(refusal.Expired) // a sync does not ask it again
	result, err := golive.Activate(t.Context(), w.syncer.Tree(), request.Activate{Names: []string{"data"}, Again: true, Trigger: request.TriggerActivate})
	must(t, err)
	w.expect(result, "data", report.Updated)
	w.serves("data", october())
	equal(t, "expires", w.only().Expires, "2026-12-01")
}
