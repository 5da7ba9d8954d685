package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"syncd/internal/manifest/refusal"
)

func TestExplanationOfEachState(t *testing.T) {
	now := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	at := func(hours int) *time.Time { t := now.Add(time.Duration(hours) * time.Hour); return &t }
	served := ManifestStatus{
		Name: "data", Wanted: "latest", Release: "2026.10", Newest: "2026.10", State: StateInSync,
		ActiveSince: at(-48), SyncedAt: at(-1), NextSync: at(1),
	}
	with := func(change func(m *ManifestStatus)) ManifestStatus { m := served; change(&m); return m }
	syncing := func(p ManifestProgress) ManifestStatus {
		return with(func(m *ManifestStatus) { m.State, m.Progress = StateSyncing, &p })
	}
	const since = ", in service since 2026-10-18 12:00 UTC, last confirmed at 2026-10-20 11:00 UTC; next check at 2026-10-20 13:00 UTC"
	for name, row := range map[string]struct {
		m      ManifestStatus
		alone  bool // without a daemon
		expect string
	}{
		"up to date": {m: served, expect: "up to date with 2026.10" + since},
		"up to date, no daemon": {m: with(func(m *ManifestStatus) { m.NextSync = nil }), alone: true,
			expect: "up to date with 2026.10, in service since 2026-10-18 12:00 UTC, last confirmed at 2026-10-20 11:00 UTC; no daemon is running: `syncd sync` checks now"},
		"a newer one is out": {m: with(func(m *ManifestStatus) { m.Newest = "2026.11" }),
			expect: "2026.11 is available, the next sync will fetch it; still serving 2026.10" + since},
		"an alias": {m: with(func(m *ManifestStatus) { m.Wanted, m.Release, m.Newest = "2026.Q4", "2026.Q4", "" }), expect: "up to date with 2026.Q4" + since},
		"pinned":   {m: with(func(m *ManifestStatus) { m.Wanted = "2026.10" }), expect: "pinned to 2026.10" + since},
		"pinned behind": {m: with(func(m *ManifestStatus) { m.Wanted, m.Newest = "2026.10", "2026.12" }),
			expect: "pinned to 2026.10; 2026.12 is available" + since},
		"pinned to what is not served yet": {m: with(func(m *ManifestStatus) { m.Wanted = "2026.08" }),
			expect: "pinned to 2026.08, which the next sync will fetch; still serving 2026.10" + since},
		"held": {m: with(func(m *ManifestStatus) { m.State, m.HeldFrom = StateHeld, "2026.11" }),
			expect: "held at 2026.10 after a rollback from 2026.11, until a newer release comes, that one changes, or `syncd sync --force data`; next check at 2026-10-20 13:00 UTC"},
		"cooling down": {m: with(func(m *ManifestStatus) { m.CoolingUntil = at(3) }),
			expect: "cooling down until 2026-10-20 15:00 UTC, as the provider asked; still serving 2026.10"},
		"cooling down after a failure": {m: with(func(m *ManifestStatus) { m.State, m.CoolingUntil, m.Error = StateFailed, at(3), "status 429" }),
			expect: "cooling down until 2026-10-20 15:00 UTC, as the provider asked; still serving 2026.10; the last sync failed: status 429"},
		"cooling down, said once": {m: with(func(m *ManifestStatus) {
			m.State, m.CoolingUntil, m.Error = StateFailed, at(3), "https://h asked to wait until 2026-10-20T15:00:00Z (Retry-After)"
		}),
			expect: "cooling down until 2026-10-20 15:00 UTC, as the provider asked; still serving 2026.10"},
		"a cool-down that is over": {m: with(func(m *ManifestStatus) { m.CoolingUntil = at(-1) }), expect: "up to date with 2026.10" + since},
		"refused": {m: with(func(m *ManifestStatus) {
			m.State, m.Failing, m.Reason, m.Error, m.RetryAt = StateRefused, "2026.11", "shrink", "3 files, were 9", at(4)
		}),
			expect: "refused 2026.11 because it, or one of its files, is far smaller than what is served (3 files, were 9); still serving 2026.10; the next scheduled try is after 2026-10-20 16:00 UTC; `syncd sync` tries at once"},
		"failed": {m: with(func(m *ManifestStatus) { m.State, m.Error = StateFailed, "status 503" }),
			expect: "the last sync failed: status 503; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
		"failed without an answer": {m: with(func(m *ManifestStatus) {
			m.State, m.Error, m.UnreachableSince = StateFailed, "connection refused", at(-3)
		}),
			expect: "the last sync failed: connection refused; no answer since 2026-10-20 09:00 UTC; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
		"failed with nothing served": {m: ManifestStatus{Wanted: "latest", State: StateFailed, Failing: "2026.10", Error: "status 503"}, alone: true,
			expect: "the last sync of 2026.10 failed: status 503; nothing is served yet; no daemon is running: `syncd sync` checks now"},
		"never synced": {m: ManifestStatus{Wanted: "latest", State: StatePending, NextSync: at(1)}, expect: "never synced yet; next check at 2026-10-20 13:00 UTC"},
		"not planned":  {m: ManifestStatus{Wanted: "latest", State: StatePending}, expect: "never synced yet; waiting for its first check"},
		"beginning":    {m: syncing(ManifestProgress{Phase: PhaseWaiting}), expect: "syncing: waiting to start; still serving 2026.10"},
		"checking":     {m: syncing(ManifestProgress{Phase: PhaseChecking}), expect: "syncing: asking the provider for releases; still serving 2026.10"},
		"downloading": {m: syncing(ManifestProgress{Phase: PhaseDownloading, FilesTotal: 10, FilesDone: 3, BytesTotal: 50 << 20, BytesDone: 20 << 20, BytesPerSecond: 5 << 20, SecondsLeft: 6}),
			expect: "syncing: 3 of 10 files, 20 MiB of 50 MiB, 5.0 MiB/s, about 6s left"},
		"downloading for hours": {m: syncing(ManifestProgress{Phase: PhaseDownloading, FilesTotal: 1, BytesTotal: 1 << 40, BytesPerSecond: 1 << 20, SecondsLeft: 1 << 20}),
			expect: "syncing: 0 of 1 files, 0 B of 1.0 TiB, 1.0 MiB/s, about 291h16m0s left"},
		"stuck": {m: syncing(ManifestProgress{Phase: PhaseDownloading, FilesTotal: 1, BytesTotal: 10, StuckSince: *at(-1)}),
			expect: "syncing: stuck since 2026-10-20 11:00 UTC, because the provider sends nothing, restart syncd; 0 of 1 files, 0 B of 10 B"},
		"stuck at a question": {m: syncing(ManifestProgress{Phase: PhaseChecking, StuckSince: *at(-1)}),
			expect: "syncing: asking the provider for releases; stuck since 2026-10-20 11:00 UTC, because the provider sends nothing, restart syncd; still serving 2026.10"},
		"staged": {m: with(func(m *ManifestStatus) {
			m.State, m.Staged = StateStaged, &StagedRevision{Release: "2026.11", Since: *at(-1)}
		}),
			expect: "2026.11 is staged since 2026-10-20 11:00 UTC and goes live with `syncd activate data`; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
		"staged without a group": {m: with(func(m *ManifestStatus) {
			m.State, m.Staged, m.OpensAt = StateStaged, &StagedRevision{Release: "2026.11", Since: *at(-1)}, &now
		}),
			expect: "2026.11 is staged since 2026-10-20 11:00 UTC and goes live with the next sync, or with `syncd activate data`; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
		"staged, and held": {m: with(func(m *ManifestStatus) {
			m.State, m.Staged, m.Blocked = StateStaged, &StagedRevision{Release: "2026.11", Since: *at(-1)}, "data is held"
		}),
			expect: "2026.11 is staged since 2026-10-20 11:00 UTC and waits: data is held; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
		"staged in a group": {m: with(func(m *ManifestStatus) {
			m.State, m.Staged, m.OpensAt, m.Grouped = StateStaged, &StagedRevision{Release: "2026.11", Since: *at(-1)}, &now, true
		}),
			expect: "2026.11 is staged since 2026-10-20 11:00 UTC and waits for the other manifests of its group, or for the next sync; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
		"stalled":             {m: syncing(ManifestProgress{Phase: PhaseDownloading, FilesTotal: 1, BytesTotal: 10}), expect: "syncing: 0 of 1 files, 0 B of 10 B"},
		"nothing to download": {m: syncing(ManifestProgress{Phase: PhaseDownloading}), expect: "syncing: all files are on disk already"},
		"publishing":          {m: syncing(ManifestProgress{Phase: PhasePublishing}), expect: "syncing: publishing"},
		"an error of many lines": {m: with(func(m *ManifestStatus) { m.State, m.Error = StateFailed, "bad\nREADY=1\n\x1b[31mred" }),
			expect: "the last sync failed: bad READY=1 [31mred; still serving 2026.10; next check at 2026-10-20 13:00 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			status := Status{Daemon: !row.alone, Manifests: []ManifestStatus{row.m}}
			status.Explain(now)
			if got := status.Manifests[0].Explanation; got != row.expect {
				t.Errorf("got  %s\nwant %s", got, row.expect)
			}
		})
	}
}

// A page shows times, errors and the served release beside the brief sentence.
func TestTheBriefSentenceLeavesOutWhatStandsBesideIt(t *testing.T) {
	now := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	staged := &StagedRevision{Release: "2026.11", Since: now}
	for name, row := range map[string]struct {
		m    ManifestStatus
		want string
	}{
		"up to date":        {ManifestStatus{State: StateInSync, ActiveSince: &now, SyncedAt: &now, NextSync: &later}, "up to date with 2026.10"},
		"late":              {ManifestStatus{State: StateInSync, Newest: "2026.10", Late: true, Expected: &now}, "up to date with 2026.10"},
		"a newer one":       {ManifestStatus{State: StateInSync, Newest: "2026.11"}, "2026.11 is available, the next sync will fetch it"},
		"discarded":         {ManifestStatus{State: StateInSync, Newest: "2026.11", Discarded: "2026.11"}, "2026.11 was dropped by `syncd activate --discard`, `syncd sync --force data` fetches it again"},
		"skips":             {ManifestStatus{State: StateInSync, Newest: "2026.11", Discarded: "2026.11", Skips: []string{"2026.08"}}, "skips 2026.08; 2026.11 was dropped by `syncd activate --discard`, `syncd sync --force data` fetches it again"},
		"refused":           {ManifestStatus{State: StateRefused, Failing: "2026.11", Reason: "shrink", Error: "3 files, were 9", RetryAt: &later}, "refused 2026.11 because it, or one of its files, is far smaller than what is served"},
		"failed":            {ManifestStatus{State: StateFailed, Failing: "2026.11", Error: "status 503"}, "the last sync of 2026.11 failed"},
		"quarantined":       {ManifestStatus{State: StateQuarantined, Failing: "2026.11", Error: "gate: no"}, "release 2026.11 stays in quarantine until `syncd activate --again data` or another revision"},
		"cooling down":      {ManifestStatus{State: StateFailed, CoolingUntil: &later, Error: "status 429"}, "cooling down, as the provider asked"},
		"held for a time":   {ManifestStatus{State: StateHeld, HoldUntil: &later}, "held at 2026.10 by `syncd hold` until `syncd hold data --for 0s`"},
		"staged":            {ManifestStatus{State: StateStaged, Staged: staged, OpensAt: &later}, "2026.11 is staged and goes live when its window opens, or with `syncd activate data`"},
		"retried":           {ManifestStatus{State: StateSyncing, Progress: &ManifestProgress{Phase: PhaseChecking, Retry: &Retry{Attempt: 2, Error: "no"}}}, "asking the provider for releases"},
		"a retried file":    {ManifestStatus{State: StateSyncing, Progress: &ManifestProgress{Phase: PhaseDownloading, FilesTotal: 2, BytesTotal: 10, Retry: &Retry{Attempt: 2, Error: "no"}}}, "0 of 2 files, 0 B of 10 B"},
		"nothing is served": {ManifestStatus{State: StatePending}, "never synced yet"},
	} {
		row.m.Name, row.m.Wanted, row.m.Release = "data", "latest", "2026.10"
		if got := row.m.Brief(now); got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, row.want)
		}
	}
}

func TestEveryRefusalReasonHasItsOwnText(t *testing.T) {
	seen := map[string]refusal.Reason{"": "", inWords("a reason of another version"): "none"}
	for _, reason := range refusal.Reasons() {
		words := inWords(reason)
		if other, twice := seen[words]; twice {
			t.Errorf("%s has the words of %q: %q", reason, other, words)
		}
		seen[words] = reason
	}
}

func TestHeadlineIsThatOfTheMostUrgentManifest(t *testing.T) {
	soon := time.Now().Add(time.Hour)
	order := []ManifestStatus{
		{Name: "in-sync", State: StateInSync}, {Name: "held", State: StateHeld}, {Name: "pending", State: StatePending},
		{Name: "cooling", State: StateInSync, CoolingUntil: &soon}, {Name: "syncing", State: StateSyncing}, {Name: "failed", State: StateFailed},
	}
	for i := range order {
		for _, manifests := range [][]ManifestStatus{order[:i+1], {order[i], order[0]}} {
			got := Status{Manifests: manifests}.Headline()
			if !strings.HasPrefix(got, order[i].Name+": ") {
				t.Errorf("%q, want the line of %s", got, order[i].Name)
			}
		}
	}
	if got := (Status{}).Headline(); got != "no manifest is configured" {
		t.Errorf("%q", got)
	}
	long := Status{Manifests: []ManifestStatus{{Name: "one", Explanation: strings.Repeat("ü", 1000)}}}.Headline()
	if utf8.RuneCountInString(long) != headlineLimit || !utf8.ValidString(long) {
		t.Errorf("%d characters", utf8.RuneCountInString(long))
	}
}

func TestExplainSaysUntilWhenDataMayBeUsed(t *testing.T) {
	at := time.Date(2026, 12, 2, 3, 4, 0, 0, time.UTC)
	gone := &WithdrawnRevision{Release: "2026.09", Revision: "a", At: at}
	served := ManifestStatus{Name: "m", Release: "2026.09", Wanted: "latest", State: StateInSync, Expires: "2026-12-01"}
	with := func(change func(*ManifestStatus)) ManifestStatus {
		m := served
		change(&m)
		return m
	}
	expired := func(change func(*ManifestStatus)) ManifestStatus {
		m := ManifestStatus{Name: "m", Wanted: "latest", State: StateExpired, Expires: "2026-12-01", Expired: true, Withdrawn: gone}
		change(&m)
		return m
	}
	for name, row := range map[string]struct {
		m    ManifestStatus
		says string
	}{
		"in time":   {served, "; may be used until 2026-12-01"},
		"soon":      {with(func(m *ManifestStatus) { m.Expiring = true }), "2026.09 expires soon: it may be used until 2026-12-01"},
		"expired":   {with(func(m *ManifestStatus) { m.Expired = true }), "2026.09 expired on 2026-12-01 and is still served"},
		"forced":    {with(func(m *ManifestStatus) { m.Expired, m.KeptByForce = true, true }), "2026.09 expired on 2026-12-01 and is served by --force"},
		"doubt":     {with(func(m *ManifestStatus) { m.Expired, m.ExpiryDoubt = true, "nothing confirms it" }), "is still served, but nothing confirms it"},
		"not yet":   {with(func(m *ManifestStatus) { m.ExpiryDoubt = "it is past by the clock" }), "the last day of 2026.09 is 2026-12-01, but it is past by the clock"},
		"withdrawn": {expired(func(*ManifestStatus) {}), "release 2026.09 expired on 2026-12-01 and was withdrawn at 2026-12-02 03:04 UTC; a newer release goes live by itself, `syncd sync --force m` brings this one back"},
		"pinned":    {expired(func(m *ManifestStatus) { m.Pin, m.Wanted = "2026.09", "2026.09" }), "goes live after `syncd unpin m`"},
		"by file":   {expired(func(m *ManifestStatus) { m.Wanted = "2026.09" }), "the configuration wants 2026.09"},
		"held":      {expired(func(m *ManifestStatus) { m.HoldUntil = &at }), "after the hold, which `syncd hold m --for 0s` ends"},
		"refused":   {expired(func(m *ManifestStatus) { m.Error, m.Reason = "it expired", "expired" }), "brings this one back; no daemon"},
	} {
		s := Status{Manifests: []ManifestStatus{row.m}}
		s.Explain(at)
		if got := s.Manifests[0].Explanation; !strings.Contains(got, row.says) {
			t.Errorf("%s: %q lacks %q", name, got, row.says)
		}
	}
}
