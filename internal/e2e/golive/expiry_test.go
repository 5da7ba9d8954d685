package golive_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// monthsAgo is the release of an earlier month.
func monthsAgo(n int) string {
	now := time.Now().UTC()
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, -n, 0).Format("2006.01")
}

// aged is what `status --json` says about the age of data.
type aged struct {
	State, Release, Expires, Explanation string
	Expired                              bool
	Doubt                                string `json:"expiry_doubt"`
	Withdrawn                            *struct{ Release string }
}

func agedStatus(h *e2e.Host) aged {
	h.Helper()
	var status struct{ Manifests []aged }
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	return status.Manifests[0]
}

// A daemon takes expired data out of service after a reload, and brings the next release.
func TestADaemonWithdrawsExpiredDataUntilTheNextRelease(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	r := e2e.NewReceiver(h)
	r.Up()
	h.ConfigureWith(e2e.HookText(r, "activated, expiring, expired, refused"))
	old := monthsAgo(3)
	h.Month("m", old, "old")
	p := h.SyncedDaemon()
	h.Settings.Manifests = []string{"m\n    expires: {after: 40d}\n    on_expiry: withdraw"}
	h.Configure()
	p.Signal(syscall.SIGHUP)
	h.Eventually("the withdrawal", func() bool { return agedStatus(h).State == "expired" })
	if s := agedStatus(h); s.Release != "" || s.Withdrawn == nil || s.Withdrawn.Release != old || s.Expires == "" {
		t.Errorf("status %+v", s)
	}
	if _, err := os.Lstat(h.Path("data", "current", "m")); !os.IsNotExist(err) {
		t.Errorf("current/m: %v", err)
	}
	for _, args := range [][]string{{"sync"}, {"rollback"}, {"pin", "m", old}} {
		if out := h.Expect(1, args...); !strings.Contains(out.Stderr, "expired on") {
			t.Errorf("%s said %s", args, out.Stderr)
		}
	}
	h.Must(p.Cmd.Process.Kill())
	<-p.Done
	h.Sync(1)
	e2e.Same(h, "state", "expired", agedStatus(h).State)
	p = h.Daemon()
	p.Logged("sync")
	h.Expect(0, "sync", "--force")
	e2e.Same(h, "content", "old", h.ServedContent("m"))
	p.Terminate()
	h.Sync(0)
	e2e.Same(h, "content", "old", h.ServedContent("m"))
	h.Month("m", monthsAgo(0), "new")
	h.Sync(0)
	if s := agedStatus(h); s.State != "in_sync" || s.Expired || h.ServedContent("m") != "new" {
		t.Errorf("status %+v", s)
	}
	r.WantsAfterEnds("activated "+old, "expired "+old, "refused "+old, "activated "+old, "activated "+monthsAgo(0))
}

// A clock of this machine that is a month ahead looks like a provider whose Date is a month
// behind.
func TestAWrongClockWithdrawsNothing(t *testing.T) {
	t.Parallel()
	for name, date := range map[string]string{"a month ahead": "-744h", "no Date header": "none"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m")
			h.Provider.AddFault(emulator.Fault{Kind: emulator.KindDate, Date: date})
			h.Month("m", monthsAgo(2), "old")
			h.Sync(0)
			yesterday := time.Now().UTC().AddDate(0, 0, -1)
			first, err := time.Parse("2006.01", monthsAgo(2))
			h.Must(err)
			days := int(yesterday.Sub(first).Hours() / 24)
			h.Settings.Manifests = []string{fmt.Sprintf("m\n    expires: {after: %dd}\n    on_expiry: withdraw", days)}
			h.Configure()
			h.Sync(0)
			h.Sync(0)
			e2e.Same(h, "content", "old", h.ServedContent("m"))
			if s := agedStatus(h); s.State != "in_sync" || s.Doubt == "" || !strings.Contains(s.Explanation, "Date header") || s.Expires != yesterday.Format(time.DateOnly) {
				t.Errorf("status %+v", s)
			}
			h.Provider.ClearFaults()
			h.Sync(0)
			e2e.Same(h, "state", "expired", agedStatus(h).State)
		})
	}
}

// A clock that is a month behind looks like a provider whose Date is a month ahead.
func TestNothingExpiredGoesLiveOnASlowClock(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	h.Month("m", monthsAgo(1), "old")
	h.Sync(0)
	first, err := time.Parse("2006.01", monthsAgo(1))
	h.Must(err)
	days := int(time.Since(first).Hours()/24) + 10 // by this machine's clock, ten days are left
	h.Settings.Manifests = []string{fmt.Sprintf("m\n    expires: {after: %dd}\n    on_expiry: withdraw", days)}
	h.Configure()
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindDate, Date: "744h"})
	h.Sync(0)
	e2e.Same(h, "content", "old", h.ServedContent("m"))
	if s := agedStatus(h); s.State != "in_sync" || !strings.Contains(s.Doubt, "not by this machine's clock") {
		t.Errorf("status %+v", s)
	}
	h.Month("m", monthsAgo(1), "republished")
	if out := h.Expect(1, "sync"); !strings.Contains(out.Stderr, "refused (expired)") {
		t.Errorf("sync said %s", out.Stderr)
	}
	e2e.Same(h, "content", "old", h.ServedContent("m"))
}

// The provider's own lookup tells how long a revision may be used.
func TestAGateTellsTheDay(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	gate := func(tells string) {
		h.ConfigureWith("gate: {command: [/bin/sh, -c, 'echo looked up; echo \"" + tells + "\"']}")
	}
	gate("syncd-expires: " + day(5))
	h.Month("m", monthsAgo(1), "old")
	h.Sync(0)
	if s := agedStatus(h); s.Expires != day(5) || !strings.Contains(s.Explanation, "expires soon") {
		t.Errorf("status %+v", s)
	}
	h.Must(os.Remove(h.Path("data", "state", "syncd.db")))
	e2e.Same(h, "expires", day(5), agedStatus(h).Expires)
	h.Month("m", monthsAgo(0), "new")
	for tells, says := range map[string]string{
		"syncd-expires: 0001-01-01": "refused (gate)", "syncd-expires: 9999-12-31": "refused (gate)", "syncd-expires: 2026-02-30": "refused (gate)",
		"syncd-expires: " + day(-1): "refused (expired)",
	} {
		gate(tells)
		if out := h.Expect(1, "sync"); !strings.Contains(out.Stderr, says) {
			t.Errorf("%s: %s", tells, out.Stderr)
		}
		e2e.Same(h, "content", "old", h.ServedContent("m"))
	}
}
