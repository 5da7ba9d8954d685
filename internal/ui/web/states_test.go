package web

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/report"
)

// troubledScenes are the states in which someone should look.
func troubledScenes(idle *scene) map[string]*scene {
	all := map[string]*scene{}
	with := func(name string, change func(s *scene, data, bins, zips *report.ManifestStatus)) {
		next := *idle
		next.status.Manifests = slices.Clone(idle.status.Manifests)
		zips := next.status.Manifests[0]
		zips.Name, zips.Revision, zips.Files, zips.Bytes = "dq_zips", "95c3f0117be2", 9, 212*mib
		next.status.Manifests = append(next.status.Manifests, zips)
		change(&next, &next.status.Manifests[0], &next.status.Manifests[1], &next.status.Manifests[2])
		all[name] = &next
	}
	const silent = "dial tcp 203.0.113.7:443: connect: connection refused"
	with("healthy", func(*scene, *report.ManifestStatus, *report.ManifestStatus, *report.ManifestStatus) {})
	with("retrying", func(s *scene, data, bins, zips *report.ManifestStatus) {
		bins.Wanted, bins.Failing, bins.Newest, bins.Reason, bins.Error = "latest", "2026.11", "2026.11", "shrink", "3 files, were 12" // by the sync before
		for i, m := range []*report.ManifestStatus{data, bins, zips} {
			m.State, m.UnreachableSince = report.StateSyncing, ago(12*time.Minute)
			m.Progress = &report.ManifestProgress{Name: m.Name, Phase: report.PhaseChecking, Retry: &report.Retry{
				Error: "ManifestReleases /ManifestReleases/" + m.Name + ": " + silent, Attempt: 17 - i, Since: *ago(12*time.Minute - time.Duration(i)*time.Second), NextAt: *ago(-45 * time.Second),
			}}
		}
	})
	with("blip", func(s *scene, data, bins, zips *report.ManifestStatus) {
		zips.State, zips.UnreachableSince = report.StateSyncing, ago(4*time.Second)
		zips.Progress = &report.ManifestProgress{Name: zips.Name, Phase: report.PhaseChecking, Retry: &report.Retry{Error: "no answer for 2s", Attempt: 1, Since: *ago(4 * time.Second)}}
	})
	with("dead", func(s *scene, data, bins, zips *report.ManifestStatus) {
		for _, m := range []*report.ManifestStatus{data, bins, zips} {
			m.State, m.UnreachableSince, m.Error = report.StateFailed, ago(3*time.Hour), "ask for the releases of "+m.Name+": "+silent
		}
	})
	with("errors", func(s *scene, data, bins, zips *report.ManifestStatus) {
		bins.State = report.StateSyncing
		bins.Progress = &report.ManifestProgress{Name: bins.Name, Phase: report.PhaseChecking, Retry: &report.Retry{
			Error: "ManifestReleases /ManifestReleases/dq_addr_bins: status 503 Service Unavailable", Status: 503, Attempt: 4, Since: *ago(2 * time.Minute), NextAt: *ago(-9 * time.Second),
		}}
	})
	with("refused", func(s *scene, data, bins, zips *report.ManifestStatus) {
		bins.Wanted = "latest"
		bins.State, bins.Newest, bins.Failing, bins.Reason, bins.RetryAt = report.StateRefused, "2026.11", "2026.11", "shrink", ago(-100*time.Minute)
		bins.Error = "3 files, were 12"
	})
	with("late", func(s *scene, data, bins, zips *report.ManifestStatus) {
		zips.Late, zips.Expected = true, ago(3*24*time.Hour)
	})
	with("behind", func(s *scene, data, bins, zips *report.ManifestStatus) { data.Newest = "2026.11" })
	with("held", func(s *scene, data, bins, zips *report.ManifestStatus) {
		data.State, data.Release, data.HeldFrom = report.StateHeld, "2026.09", "2026.10"
		zips.State, zips.HoldUntil = report.StateHeld, ago(-5*24*time.Hour)
	})
	with("ready", func(s *scene, data, bins, zips *report.ManifestStatus) {
		data.State, data.Newest, data.Staged = report.StateStaged, "2026.11", &report.StagedRevision{Release: "2026.11", Revision: "77d1c09be25a", Since: *ago(9 * time.Hour)}
		data.OpensAt = ago(-5 * time.Hour)
	})
	with("cooling", func(s *scene, data, bins, zips *report.ManifestStatus) {
		for _, m := range []*report.ManifestStatus{data, bins, zips} {
			m.CoolingUntil = ago(-40 * time.Minute)
		}
	})
	with("damaged", func(s *scene, data, bins, zips *report.ManifestStatus) {
		s.status.Damage = "/var/lib/syncd/current is missing, although dq_addr_data 2026.10 was served: run `syncd sync`, which rebuilds it from what is on disk, then `syncd verify`"
		for _, m := range []*report.ManifestStatus{data, bins, zips} {
			m.State, m.Error = report.StateFailed, s.status.Damage
		}
	})
	with("read-only", func(s *scene, data, bins, zips *report.ManifestStatus) {
		s.status.ReadOnly = true
		data.State, data.Error = report.StateFailed, "open /var/lib/syncd/state/syncd.db: read-only file system"
	})
	with("mixed", func(s *scene, data, bins, zips *report.ManifestStatus) {
		bins.State, bins.Newest, bins.Failing, bins.Reason, bins.Error = report.StateRefused, "2026.11", "2026.11", "shrink", "3 files, were 12"
		data.State = report.StateSyncing
		data.Progress = &report.ManifestProgress{Name: data.Name, Phase: report.PhaseDownloading, FilesTotal: 31, FilesDone: 12, BytesTotal: 2600 * mib, BytesDone: 1170 * mib, BytesPerSecond: 11.5 * float64(mib), SecondsLeft: 124}
		zips.State, zips.Release = report.StateOrphaned, "2026.08"
	})
	return all
}

var rowPattern = regexp.MustCompile(`<details class="card (\w+)" id="card-([^"]*)" [^>]*data-fold="[^"/]*/([^"]*)"( open)?>`)

// rows are the manifests of a page in their order: name, badge, level, and whether they are open.
func rows(body string) (all []string) {
	for _, m := range rowPattern.FindAllStringSubmatch(body, -1) {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s, %s%s", m[2], m[3], m[1], m[4])))
	}
	return all
}

func TestEachStateAtAGlance(t *testing.T) {
	all := scenes()
	seen := map[string]bool{"idle": true, "syncing": true, "failed": true, "empty": true, "staged": true, "bucket": true, "followers": true, "views": true}
	for _, row := range []struct {
		scene, title, icon string
		rows               []string
		banner             string // a part of it; "" for none
	}{
		{"idle", "2 of 2 current", "good", []string{"dq_addr_data: in sync, good", "dq_addr_bins: in sync, good"}, ""},
		{"healthy", "3 of 3 current", "good", []string{"dq_addr_data: in sync, good", "dq_addr_bins: in sync, good", "dq_zips: in sync, good"}, ""},
		{"syncing", "1 of 2 current, 1 syncing", "busy", []string{"dq_addr_data: syncing, busy", "dq_addr_bins: in sync, good"}, ""},
		{"empty", "0 of 1 current, 1 pending", "warn", []string{"dq_addr_data: pending, warn open"}, ""},
		{"retrying", "2 of 3 current, 1 refused, provider unreachable for 12 min", "bad",
			[]string{"dq_addr_bins: refused, bad open", "dq_addr_data: retrying, warn", "dq_zips: retrying, warn"}, "Attempt 17 failed, next try in 4"},
		{"blip", "3 of 3 current, provider unreachable for 4 s", "warn",
			[]string{"dq_zips: retrying, warn", "dq_addr_data: in sync, good", "dq_addr_bins: in sync, good"}, "Attempt 1 waits for an answer."},
		{"dead", "0 of 3 current, 3 failed, provider unreachable for 3 h", "bad",
			[]string{"dq_addr_data: failed, bad open", "dq_addr_bins: failed, bad open", "dq_zips: failed, bad open"}, "Next try in 38 minutes."},
		{"errors", "3 of 3 current, provider answers with errors for 2 min", "bad",
			[]string{"dq_addr_bins: retrying, warn", "dq_addr_data: in sync, good", "dq_zips: in sync, good"}, "The provider answers with status 503"},
		{"failed", "1 of 2 current, 1 refused", "bad", []string{"dq_addr_data: refused, bad open", "dq_addr_bins: in sync, good"}, ""},
		{"refused", "2 of 3 current, 1 refused", "bad",
			[]string{"dq_addr_bins: refused, bad open", "dq_addr_data: in sync, good", "dq_zips: in sync, good"}, ""},
		{"late", "2 of 3 current, 1 late", "warn", []string{"dq_zips: late, warn open", "dq_addr_data: in sync, good", "dq_addr_bins: in sync, good"}, ""},
		{"behind", "2 of 3 current, 1 behind", "warn", []string{"dq_addr_data: behind, warn open", "dq_addr_bins: in sync, good", "dq_zips: in sync, good"}, ""},
		{"held", "1 of 3 current, 2 held", "warn", []string{"dq_addr_data: held, warn open", "dq_zips: held, warn open", "dq_addr_bins: in sync, good"}, ""},
		{"ready", "2 of 3 current, 1 staged", "warn", []string{"dq_addr_data: staged, warn open", "dq_addr_bins: in sync, good", "dq_zips: in sync, good"}, ""},
		{"cooling", "0 of 3 current, 3 cooling down", "warn",
			[]string{"dq_addr_data: cooling down, warn open", "dq_addr_bins: cooling down, warn open", "dq_zips: cooling down, warn open"}, ""},
		{"damaged", "0 of 3 current, 3 damaged", "bad",
			[]string{"dq_addr_data: damaged, bad open", "dq_addr_bins: damaged, bad open", "dq_zips: damaged, bad open"}, `run <code class="command">syncd sync</code>`},
		{"read-only", "2 of 3 current, 1 failed, file system read-only", "bad",
			[]string{"dq_addr_data: failed, bad open", "dq_addr_bins: in sync, good", "dq_zips: in sync, good"}, "The file system is read-only"},
		{"mixed", "0 of 2 current, 1 refused, 1 orphaned, 1 syncing", "bad",
			[]string{"dq_addr_bins: refused, bad open", "dq_zips: orphaned, warn open", "dq_addr_data: syncing, busy"}, ""},
		{"staged", "0 of 2 current, 1 quarantined, 1 staged, 1 hook fails", "bad", []string{"dq_addr_bins: quarantined, bad open", "dq_addr_data: staged, warn open"}, ""},
		{"bucket", "2 of 2 current, bucket failed", "bad", []string{"dq_addr_data: in sync, good", "dq_addr_bins: in sync, good"}, ""},
		{"followers", "2 of 2 current, 1 release stopped", "bad", []string{"dq_addr_data: in sync, good", "dq_addr_bins: in sync, good"}, ""},
		{"views", "2 of 2 current, 1 view fails, 1 exported folder fails", "bad", []string{"dq_addr_data: in sync, good", "dq_addr_bins: in sync, good"}, ""},
	} {
		seen[row.scene] = true
		body := pageOf(t, all[row.scene])
		for _, want := range []string{"<title>" + row.title + " – syncd</title>", `<link rel="icon" href="/assets/icon-` + row.icon + `.svg"`, `<div class="verdict ` + row.icon + `"`, row.banner} {
			if !strings.Contains(body, want) {
				title, _, _ := strings.Cut(body[strings.Index(body, "<title>"):], "\n")
				t.Errorf("%s: no %q, but %s", row.scene, want, title)
			}
		}
		if diff := cmp.Diff(row.rows, rows(body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.scene, diff)
		}
		if has := strings.Contains(body, `class="banner`); has != (row.banner != "") {
			t.Errorf("%s: banner %v", row.scene, has)
		}
	}
	for name := range maps.Keys(all) {
		if !seen[name] {
			t.Errorf("the table has no row for %s", name)
		}
	}
}

// With healthy manifests, what is in trouble beside them comes first.
func TestAPartInTroubleComesBeforeHealthyOnes(t *testing.T) {
	for scene, want := range map[string][2]string{
		"bucket":    {`id="section-publish"`, `id="card-dq_addr_data"`},
		"views":     {`id="section-views"`, `id="card-dq_addr_data"`},
		"followers": {`id="section-followers"`, `id="card-dq_addr_data"`},
		"staged":    {`id="card-dq_addr_bins"`, `id="section-hooks"`},
		"idle":      {`id="card-dq_addr_bins"`, `id="section-disk"`},
	} {
		body := pageOf(t, scenes()[scene])
		if first, second := strings.Index(body, want[0]), strings.Index(body, want[1]); first < 0 || second < first {
			t.Errorf("%s: %s at %d, %s at %d", scene, want[0], first, want[1], second)
		}
	}
}

// Each error, release in trouble and command stands once on the page.
func TestAFactIsSaidOnce(t *testing.T) {
	for name, facts := range map[string][]string{
		"retrying": {"connection refused", "provider unreachable for 12 min", "The provider does not answer", "3 files, were 12"},
		"dead":     {"connection refused", "Next try in 38 minutes"},
		"errors":   {"status 503 Service Unavailable"},
		"refused":  {"3 files, were 12", "far smaller than what is served"},
		"damaged":  {"although dq_addr_data 2026.10 was served"},
		"staged":   {"412 of 10000 lines differ", "line 17: - 90210 BEVERLY HILLS CA", "HTTP status 503"},
	} {
		_, main, _ := strings.Cut(pageOf(t, scenes()[name]), "<main")
		main = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(main, "")
		for _, fact := range facts {
			if n := strings.Count(main, fact); n != 1 {
				t.Errorf("%s: %q stands %d times", name, fact, n)
			}
		}
	}
}

func TestRollBackNamesTheGenerationItLeadsTo(t *testing.T) {
	for scene, wants := range map[string][]string{
		"idle":    {`name="generation" value="6"`, "Roll back to 2026.09", `id="hold-dq_addr_data"`},
		"held":    {`id="unhold-dq_zips"`, `name="for" value="0s"`, "syncd sync --force dq_addr_data"},
		"mixed":   {`id="hold-dq_addr_bins"`},
		"damaged": {"Data is missing"},
	} {
		body := pageOf(t, scenes()[scene])
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %q", scene, want)
			}
		}
		if strings.Contains(body, `id="rollback-dq_addr_bins"`) {
			t.Errorf("%s: a rollback to the served revision", scene)
		}
	}
	s := scenes()["idle"]
	s.disk.Generations[0], s.disk.Generations[1] = s.disk.Generations[1], s.disk.Generations[0]
	s.disk.Generations[0].Current, s.disk.Generations[1].Current = true, false
	s.status.Manifests[0].Release, s.status.Manifests[0].Revision = "2026.09", "older"
	if body := pageOf(t, s); !strings.Contains(body, "Return to 2026.10") {
		t.Error("the way back from a rollback is no return")
	}
}

func TestTextsOfOthersStayTextAndKeepTheirPlace(t *testing.T) {
	const hostile = "<img src=x onerror=alert(1)>\u202egnp.exe `syncd forget all; curl evil` `rm -rf /`"
	s := scenes()["refused"]
	m := &s.status.Manifests[1]
	m.Error, m.Failing, m.Newest, m.Discarded = report.OneLine(hostile), "<b>2026.11", "<b>2026.11", "<b>2026.11"
	s.status.Damage = report.OneLine(hostile)
	s.fleet = &report.FleetStatus{Followers: []report.FollowerStatus{{Name: "<script>alert(2)</script>", Host: "db\"01", Following: report.Following{State: report.FollowerRefused, Refused: "<i>", Reason: "<u>"}}}}
	s.status.Explain(time.Now())
	body := pageOf(t, s)
	for _, bad := range []string{"<img src=x", "<script>", "<b>", "<i>", "<u>", "\u202e", `<code class="command">syncd forget all`, `<code class="command">rm`} {
		if strings.Contains(body, bad) {
			t.Errorf("%q in the page", bad)
		}
	}
	if !strings.Contains(body, "<code>syncd forget all; curl evil</code>") || !strings.Contains(body, "<bdi>&lt;script&gt;") {
		t.Error("the texts are missing")
	}
}
