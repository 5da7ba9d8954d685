package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/changes"
	"syncd/internal/daemon/signals"
	"syncd/internal/emulator"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// scene is a Source with fixed answers.
type scene struct {
	Source
	status  report.Status
	history report.History
	disk    report.DiskUse
	fleet   *report.FleetStatus
	wanted  []request.Sync

	discarded []string
}

func (s *scene) TriggerActivation(_ context.Context, req request.Activate) error {
	if req.Discard {
		s.discarded = append(s.discarded, req.Names...)
	}
	return nil
}

func (s *scene) Status() (report.Status, error)      { return s.status, nil }
func (s *scene) History(int) (report.History, error) { return s.history, nil }
func (s *scene) DiskUse() (report.DiskUse, error)    { return s.disk, nil }

func (s *scene) Followers(most int) *report.FleetOverview {
	if s.fleet == nil {
		return nil
	}
	all := slices.SortedStableFunc(slices.Values(s.fleet.Followers), func(a, b report.FollowerStatus) int { return a.State.Compare(b.State) })
	view := &report.FleetOverview{States: map[report.FollowerState]int{}, Worst: all[:min(len(all), most)], Stopped: s.fleet.Stopped, Waiting: s.fleet.Waiting}
	for _, f := range all {
		view.States[f.State]++
	}
	return view
}

// Fleet has pages of the followers that fit, in their order.
func (s *scene) Fleet(req request.Fleet) (page report.FleetPage, err error) {
	if s.fleet == nil {
		return page, errors.New("no followers are served here")
	}
	page.Rings, page.Stopped, page.Waiting = s.fleet.Rings, s.fleet.Stopped, s.fleet.Waiting
	counts := map[report.FleetCount]int{}
	isAfter := req.After == nil || *req.After == request.Follower{}
	for _, f := range s.fleet.Followers {
		if req.Ring != "" && req.Ring != f.Ring || req.State != "" && req.State != string(f.State) || req.Release != "" && req.Release != string(f.Release) {
			continue
		}
		counts[report.FleetCount{Ring: f.Ring, Release: string(f.Release), State: f.State}]++
		key := request.Follower{Name: f.Name, Host: f.Host, Instance: f.Instance}
		switch {
		case !isAfter:
			isAfter = key == *req.After
		case req.Limit > 0 && len(page.Followers) == req.Limit:
			last := page.Followers[len(page.Followers)-1]
			page.Next = &request.Follower{Name: last.Name, Host: last.Host, Instance: last.Instance}
		default:
			page.Followers = append(page.Followers, f)
		}
	}
	for c, hosts := range counts {
		c.Hosts = hosts
		page.Counts = append(page.Counts, c)
	}
	slices.SortFunc(page.Counts, func(a, b report.FleetCount) int {
		return cmp.Or(cmp.Compare(a.Ring, b.Ring), cmp.Compare(b.Release, a.Release), a.State.Compare(b.State))
	})
	return page, nil
}

func (s *scene) Trigger(_ context.Context, req request.Sync) error {
	s.wanted = append(s.wanted, req)
	return nil
}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

func ago(d time.Duration) *time.Time {
	t := time.Now().Add(-d)
	return &t
}

// scenes are the states that a page can show.
func scenes() map[string]*scene {
	const day = 24 * time.Hour
	data := report.ManifestStatus{
		Name: "dq_addr_data", Wanted: "latest", Release: "2026.10", Revision: "4f0c2d91ab37", Files: 148, Bytes: 31 * gib / 2, Newest: "2026.10",
		State: report.StateInSync, CheckedAt: ago(22 * time.Minute), SyncedAt: ago(22 * time.Minute), NextSync: ago(-38*time.Minute - 30*time.Second), ActiveSince: ago(11 * day),
	}
	bins := data
	bins.Name, bins.Wanted, bins.Release, bins.Revision, bins.Files, bins.Bytes = "dq_addr_bins", "2026.09", "2026.09", "b81e77a3c0d5", 12, 84*mib
	bins.ActiveSince = ago(41 * day)
	idle := &scene{status: report.Status{DataDir: "/var/lib/syncd", Generation: 7, Daemon: true, Manifests: []report.ManifestStatus{data, bins}}}
	line := func(release string, age time.Duration, trigger string, m report.ManifestResult) {
		m.Name, m.Release = data.Name, release
		idle.history.Entries = append(idle.history.Entries, report.HistoryRow{HistoryEntry: report.HistoryEntry{
			Time: *ago(age), Trigger: trigger, Sync: report.Sync{Changed: true, Manifests: []report.ManifestResult{m}},
		}})
	}
	line("2026.10", 11*day, "schedule", report.ManifestResult{Result: report.Updated, FilesTotal: 148, FilesDownloaded: 31, FilesReused: 117, BytesDownloaded: 2600 * mib, BytesReused: 13 * gib, DurationSeconds: 262})
	line("2026.09", 12*day, "schedule", report.ManifestResult{Result: report.Refused, Reason: "hash_mismatch", FilesTotal: 148, FilesDownloaded: 30, BytesDownloaded: 2500 * mib, DurationSeconds: 301})
	line("2026.09", 41*day, "schedule", report.ManifestResult{Result: report.Updated, FilesTotal: 146, FilesDownloaded: 40, FilesReused: 106, BytesDownloaded: 4100 * mib, BytesReused: 11 * gib, DurationSeconds: 431})
	line("2026.08", 70*day, "rollback", report.ManifestResult{Result: report.Updated, FilesTotal: 145, FilesReused: 145, BytesReused: 15 * gib})
	line("2026.08", 72*day, "start", report.ManifestResult{Result: report.Updated, FilesTotal: 145, FilesDownloaded: 145, BytesDownloaded: 15 * gib, DurationSeconds: 1934})
	shows := []report.ManifestRelease{{Name: "dq_addr_bins", Release: "2026.09", Revision: bins.Revision}, {Name: "dq_addr_data", Release: "2026.10", Revision: data.Revision}}
	older := []report.ManifestRelease{{Name: "dq_addr_bins", Release: "2026.09", Revision: bins.Revision}, {Name: "dq_addr_data", Release: "2026.09", Revision: "3d9be7710c4f"}}
	idle.disk = report.DiskUse{Bytes: 18 * gib, Free: 212 * gib, Generations: []report.GenerationUse{
		{Number: 7, Current: true, PublishedAt: *ago(11 * day), Shows: shows, Bytes: 31*gib/2 + 84*mib, Own: 2600 * mib},
		{Number: 6, PublishedAt: *ago(41 * day), Shows: older, Bytes: 15 * gib, Own: 2400 * mib},
	}}
	all := map[string]*scene{"idle": idle}
	with := func(name string, change func(m *report.ManifestStatus)) {
		next := *idle
		next.status.Manifests = slices.Clone(idle.status.Manifests)
		change(&next.status.Manifests[0])
		all[name] = &next
	}
	with("syncing", func(m *report.ManifestStatus) {
		m.State, m.Newest = report.StateSyncing, "2026.11"
		m.Progress = &report.ManifestProgress{
			Name: m.Name, Phase: "downloading", FilesTotal: 31, FilesDone: 12, BytesTotal: 2600 * mib, BytesDone: 1170 * mib,
			BytesPerSecond: 11.5 * float64(mib), SecondsLeft: 124,
		}
	})
	with("failed", func(m *report.ManifestStatus) {
		m.State, m.Newest, m.Failing, m.Reason, m.RetryAt = report.StateRefused, "2026.11", "2026.11", "hash_mismatch", ago(-100*time.Minute)
		m.Error = "fetch ews.txt: digest sha256:9f86d081884c7d65 does not match the expected sha256:60303ae22b998861, also when fetched again"
	})
	views := *idle
	views.status.Views = []report.ViewStatus{
		{Name: "refdata", Layout: "provider", State: report.StateInSync, Fingerprint: "4f0c2d91ab37", Files: 160, Bytes: 31*gib/2 + 84*mib, ActiveSince: ago(11 * day), Explanation: "shows 160 files by layout provider"},
		{Name: "by_map", Layout: "map", State: report.StateRefused, Fingerprint: "b81e77a3c0d5", Files: 12, Bytes: 84 * mib, ActiveSince: ago(41 * day), Reason: "path_clash",
			Error: "view by_map: Data/2026.10/a.dat of dq_addr_data and Data/2026.09/A.dat of dq_addr_bins have one path", Explanation: "stays as it was: Data/2026.10/a.dat of dq_addr_data and Data/2026.09/A.dat of dq_addr_bins have one path"},
		{Name: "old_layout", Layout: "flat", State: report.StateOrphaned, Files: 12, Bytes: 84 * mib, ActiveSince: ago(70 * day), Explanation: "left the configuration and stays served as it is: `syncd forget old_layout` removes it"},
	}
	views.status.Exports = []report.ExportStatus{
		{View: "refdata", Path: "/srv/syncd/refdata", Generation: 7, State: report.ExportInSync},
		{View: "by_map", Path: "/srv/syncd/by_map", Generation: 6, State: report.ExportRefused, Since: ago(3 * time.Hour),
			Error: "export /srv/syncd/by_map: the folder was changed since it was exported: \"notes\" is new: `syncd sync --take-over by_map` replaces it and keeps it as /srv/syncd/by_map.before-syncd"},
	}
	all["views"] = &views
	all["staged"] = stagedScene(idle)
	all["followers"] = followersScene(idle)
	all["bucket"] = bucketScene(idle)
	empty := &scene{status: report.Status{DataDir: "/var/lib/syncd", Daemon: true, Manifests: []report.ManifestStatus{
		{Name: "dq_addr_data", Wanted: "latest", State: report.StatePending, NextSync: ago(-38*time.Minute - 30*time.Second)},
	}}}
	all["empty"] = empty
	maps.Copy(all, troubledScenes(idle))
	for _, s := range all {
		s.status.Explain(time.Now())
	}
	return all
}

// stagedScene shows a release that waits to go live, and one that the gate refused.
func stagedScene(idle *scene) *scene {
	staged := *idle
	staged.status.Manifests = slices.Clone(idle.status.Manifests)
	data, bins := &staged.status.Manifests[0], &staged.status.Manifests[1]
	waits := report.StagedRevision{Release: "2026.11", Revision: "77d1c09be25a", Since: *ago(9 * time.Hour)}
	data.State, data.Newest, data.Staged = report.StateStaged, "2026.11", &waits
	refused := report.StagedRevision{Release: "2026.10", Revision: "0c44e1f7a9d2", Since: *ago(10 * time.Hour)}
	bins.State, bins.Wanted, bins.Newest, bins.Pin, bins.Failing, bins.Reason = report.StateQuarantined, "2026.10", "2026.11", "2026.10", "2026.10", "gate"
	bins.Error = "gate: 412 of 10000 lines differ, more than 2%"
	bins.Quarantined = &report.QuarantinedRevision{StagedRevision: refused, RefusedAt: *ago(10 * time.Hour), Error: bins.Error, Differences: []string{
		"line 17: - 90210 BEVERLY HILLS CA", "line 17: + 90210 BEVERLY HILLS", "line 203: - 10001 NEW YORK NY", "line 203: + 10001",
	}}
	staged.status.Hooks = []report.HookStatus{
		{Name: "reload-geo", Receiver: "/usr/bin/reload-geo", On: []string{"activated", "rolled_back"}},
		{Name: "ops", Receiver: "https://ops.example.net", On: []string{"refused", "failed", "stale"}, Pending: 2, OldestAt: ago(10 * time.Hour), Attempts: 41, NextTry: ago(-20 * time.Minute), GivenUp: 1, Error: "HTTP status 503"},
	}
	staged.status.Scrub = &report.ScrubStatus{State: "running", StartedAt: ago(2 * time.Hour), Objects: 61, TotalObjects: 190, Bytes: 7 * gib, TotalBytes: 18 * gib, Damaged: 1, Repaired: 1}
	return &staged
}

func handlerOf(s Source) http.Handler { return Handler(s, prometheus.NewRegistry()) }

func TestPageIsCompleteWithoutScript(t *testing.T) {
	wants := map[string][]string{
		"idle": {
			`<span class="release">2026.10</span>`, "4f0c2d91ab37", ">11 days ago<", ">22 minutes ago<", ">in 38 minutes<", ">in sync<", `UTC">`,
			"<dd>2026.09</dd>", "pinned to 2026.09; 2026.10 is available", "31 of 148", "2.5 GiB", "13 GiB", "4m22s", "rolled back", "refused (hash mismatch)",
			"18 GiB", "212 GiB", "dq_addr_data 2026.09", `<rect class="down"`, `action="/api/v1/sync"`, "Generation <strong>7</strong>",
		},
		"syncing": {"12 of 31 files, 1.1 GiB of 2.5 GiB, 12 MiB/s, about 2m4s left", `value="45"`, "2026.11"},
		"failed":  {"refused 2026.11 because the content of a file does not match its digest", "fetch ews.txt: digest sha256:9f86d081884c7d65"},
		"views": {
			"Views", "refdata", "provider", "in sync", ">refused<", ">orphaned<", "stays as it was: Data/2026.10/a.dat", `<code class="command">syncd forget old_layout</code>`,
			"/srv/syncd/by_map", `<code class="command">syncd sync --take-over by_map</code>`,
		},
		"empty": {"Nothing is served yet", "not checked yet", ">pending<", "Sync now", ">in 38 minutes<"},
	}
	for name, s := range scenes() {
		got := ask(handlerOf(s), "GET", "/", "")
		body := got.Body.String()
		if got.Code != 200 || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
			t.Fatalf("%s: %d %v", name, got.Code, got.Header())
		}
		for _, want := range wants[name] {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %q in\n%s", name, want, body)
			}
		}
		for _, bad := range []string{"ZgotmplZ", "style=", "onclick", "http-equiv", "<script>", "%!", `="http`, `="//`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: %q in the page", name, bad)
			}
		}
	}
}

func TestPageShowsTheLastErrorDuringASync(t *testing.T) {
	s := scenes()["syncing"]
	s.status.Manifests[0].Error = "status 503"
	if body := ask(handlerOf(s), "GET", "/", "").Body.String(); !strings.Contains(body, `The last sync failed.</strong> <span class="quoted">status 503`) {
		t.Errorf("the error is missing in\n%s", body)
	}
}

func TestPageShowsWhatChanged(t *testing.T) {
	s := *scenes()["staged"]
	s.status.Manifests = slices.Clone(s.status.Manifests)
	m := &s.status.Manifests[slices.IndexFunc(s.status.Manifests, func(m report.ManifestStatus) bool { return m.Staged != nil })]
	staged := *m.Staged
	staged.Changes = &changes.Summary{Files: changes.FileCounts{Moved: 2}}
	m.Staged, m.Changes = &staged, &changes.Summary{Files: changes.FileCounts{Changed: 1}, Rows: &changes.RowCounts{Added: 1614, Gone: 640, Changed: 1}}
	body := ask(handlerOf(&s), "GET", "/", "").Body.String()
	for _, want := range []string{"<dd>1 file changed, 1,614 rows added, 640 rows gone, 1 row changed</dd>", "<dt>Changes when live</dt><dd>2 files moved</dd>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestPageOfARealDaemon(t *testing.T) {
	s := open(t)
	if body := s.ask("GET", "/", "").Body.String(); !strings.Contains(body, "Nothing is served yet") {
		t.Errorf("before the first sync:\n%s", body)
	}
	s.sync()
	body := s.ask("GET", "/", "").Body.String()
	for _, want := range []string{"1 of 1 current", "2026.09", "Past syncs", "Disk use by generation", "1 of 1", "1 B"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
}

func TestPageShowsFailedDeliveries(t *testing.T) {
	s := scenes()["idle"]
	s.status.Hooks = []report.HookStatus{
		{Name: "ops", Receiver: "https://ops.example", Pending: 3, OldestAt: ago(2 * time.Hour), NextTry: ago(-time.Hour), Attempts: 9, Error: "status <500>", GivenUp: 2},
		{Name: "reload", Receiver: "/usr/bin/reload-geo"},
	}
	w := httptest.NewRecorder()
	handlerOf(s).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/", nil))
	for _, want := range []string{"<h2 id=\"hooks\">Hooks</h2>", "status &lt;500&gt;", "waiting events: 3", "https://ops.example", "/usr/bin/reload-geo", "2 current, 1 hook fails"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageEscapesTextOfTheProvider(t *testing.T) {
	s := scenes()["failed"]
	s.status.Manifests[0].Error = `<script>alert(1)</script>" onload="x`
	s.status.Explain(time.Now())
	if body := ask(handlerOf(s), "GET", "/", "").Body.String(); strings.Contains(body, "<script>") || strings.Contains(body, `" onload="`) {
		t.Errorf("the page contains it unescaped:\n%s", body)
	}
}

func TestPageHasSecurityHeaders(t *testing.T) {
	handler := handlerOf(scenes()["idle"])
	for _, path := range []string{"/", "/assets/style.css", "/assets/live.js", "/assets/icon.svg", "/assets/icon-bad.svg", "/api/v1/status"} {
		got := ask(handler, "GET", path, "")
		if got.Code != 200 || got.Header().Get("Content-Security-Policy") != policy || got.Header().Get("X-Content-Type-Options") != "nosniff" ||
			got.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
	if got := ask(handler, "GET", "/assets/page.html", ""); got.Code != 404 {
		t.Errorf("the template file: %d", got.Code)
	}
}

func TestUnchangedAssetIsNotSentAgain(t *testing.T) {
	handler := handlerOf(scenes()["idle"])
	tag := ask(handler, "GET", "/assets/live.js", "").Header().Get("ETag")
	if got := ask(handler, "GET", "/assets/live.js", "", "If-None-Match", tag); tag == "" || got.Code != 304 {
		t.Errorf("tag %q: %d", tag, got.Code)
	}
}

// form has the headers that a browser sends with the form.
var form = []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html,*/*;q=0.8", "Sec-Fetch-Site", "same-origin"}

func TestPageFormRequestsASyncAndRedirectsBack(t *testing.T) {
	for body, want := range map[string]struct {
		manifests []string
		location  string
		note      string
	}{
		"":                      {nil, "/?asked=", "A sync was requested"},
		"manifest=dq_addr_bins": {[]string{"dq_addr_bins"}, "/?asked=dq_addr_bins", "A sync of dq_addr_bins was requested"},
	} {
		s := scenes()["idle"]
		handler := handlerOf(s)
		if page := ask(handler, "GET", want.location, "").Body.String(); strings.Contains(page, "was requested") {
			t.Error("a link makes the page say that something was requested")
		}
		got := ask(handler, "POST", "/api/v1/sync", body, form...)
		if got.Code != 303 || got.Header().Get("Location") != want.location || len(s.wanted) != 1 || !slices.Equal(s.wanted[0].Manifests, want.manifests) {
			t.Errorf("%q: %d to %q, asked %+v", body, got.Code, got.Header().Get("Location"), s.wanted)
		}
		if page := ask(handler, "GET", want.location, "").Body.String(); !strings.Contains(page, want.note) {
			t.Errorf("no note %q", want.note)
		}
	}
	for _, order := range []string{"asked", "activated", "discarded", "rolledback", "held"} {
		page := ask(handlerOf(scenes()["idle"]), "GET", "/?"+order+"=dq_addr_bins", "").Body.String()
		if strings.Contains(page, " of dq_addr_bins was") {
			t.Errorf("a link with %s makes the page say that it was requested", order)
		}
	}
	n, now := newIntake(), time.Now()
	n.note("asked", "m", now)
	if !n.hasTaken("asked", "m", now.Add(confirmFor)) || n.hasTaken("asked", "m", now.Add(confirmFor+1)) || n.hasTaken("held", "m", now) {
		t.Error("the page confirms more than the orders of the last minute")
	}
}

func TestBadFormIsRefused(t *testing.T) {
	for body, want := range map[string]int{
		"manifest=nosuch": 404, "manifest=": 404, "manifest=dq_addr_data&manifest=dq_addr_bins": 400, "manifest=%zz": 400,
		"manifest=" + strings.Repeat("x", maxBody): 400,
	} {
		s := scenes()["idle"]
		if got := ask(handlerOf(s), "POST", "/api/v1/sync", body, form...); got.Code != want || len(s.wanted) > 0 {
			t.Errorf("%.40q: %d, asked %v", body, got.Code, s.wanted)
		}
	}
	s := scenes()["idle"]
	if got := ask(handlerOf(s), "POST", "/api/v1/sync", "", append(form[:4:4], "Sec-Fetch-Site", "cross-site")...); got.Code != 403 || len(s.wanted) > 0 {
		t.Errorf("another site's form: %d, asked %v", got.Code, s.wanted)
	}
}

func TestCurlPostIsNotAForm(t *testing.T) {
	s := scenes()["idle"]
	got := ask(handlerOf(s), "POST", "/api/v1/sync", `{"manifests":["dq_addr_bins"]}`, "Content-Type", "application/x-www-form-urlencoded", "Accept", "*/*")
	if got.Code != 202 || len(s.wanted) != 1 || !slices.Equal(s.wanted[0].Manifests, []string{"dq_addr_bins"}) {
		t.Errorf("%d, asked %+v", got.Code, s.wanted)
	}
}

func TestPageFailsWhenTheStateCannotBeRead(t *testing.T) {
	if got := ask(handlerOf(broken{}), "GET", "/", ""); got.Code != 500 {
		t.Errorf("status %d", got.Code)
	}
}

func TestBrowserWithoutScriptShowsAllAndCanSync(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	s := scenes()["idle"]
	site := httptest.NewServer(handlerOf(s))
	t.Cleanup(site.Close)
	b.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.visit(site.URL)
	text := b.text()
	for _, want := range []string{"2 of 2 current", "dq_addr_data", "2026.10", "22 minutes ago", "Disk use by generation", "Sync all now"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	b.unfold("card-dq_addr_data")
	if text := b.text(); !strings.Contains(text, "Past syncs") || !strings.Contains(text, "4m22s") {
		t.Errorf("no history in\n%s", text)
	}
	b.unfold("card-dq_addr_bins")
	b.press("sync-dq_addr_bins")
	b.until("the page confirms it", `document.body.innerText.includes("A sync of dq_addr_bins was requested")`)
	if len(s.wanted) != 1 {
		t.Errorf("asked %+v", s.wanted)
	}
}

// unfold opens a part of the page with the keyboard, as a reader without a script does.
func (b *browser) unfold(id string) {
	b.Helper()
	b.pressOn(`document.getElementById("` + id + `").querySelector("summary")`)
	b.until(id+" is open", `document.getElementById("`+id+`").open`)
}

// press activates a button with the keyboard.
func (b *browser) press(id string) {
	b.Helper()
	b.pressOn(`document.getElementById("` + id + `")`)
}

func (b *browser) pressOn(element string) {
	b.Helper()
	var focused bool
	if err := b.eval(element+`.focus(), document.activeElement === `+element, &focused); err != nil || !focused {
		b.Fatalf("%s takes no focus: %v", element, err)
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.do("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}, nil)
	}
}

func TestBrowserShowsTheProgressOfASync(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	s := open(t)
	s.sync()
	base := serve(t, s, "")
	content := &held{Content: emulator.Random(1, 10*mib)}
	content.released.Store(2 * mib)
	s.provider.SetManifest("one", "2026.10", emulator.File{Name: "a.dat", Content: content})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	b.visit(base)
	go func() { done <- s.daemon.Run(ctx, signals.Pending{}) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	const value = `(document.querySelector("progress") || {value: 0}).value`
	b.until("the progress bar moves", value+" > 0")
	var before float64
	must(t, b.eval(value, &before))
	content.released.Store(6 * mib)
	b.until("it moves further", value+" > "+jsonOf(t, before))
	b.until("its speed is shown", `/[KM]iB\/s, about \d+.* left/.test(document.querySelector("[data-brief]").textContent)`)
	content.released.Store(10 * mib)
	b.until("the new release is shown", `document.getElementById("main").innerText.includes("1 of 1 current")`)
	b.until("the live region announces it", `document.getElementById("news").textContent.startsWith("one: up to date with 2026.10")`)
}

// held is a file content. A reader gets only a trickle beyond the bytes that the test
// has released.
type held struct {
	emulator.Content
	released atomic.Int64
}

func (h *held) Open() (io.ReadSeekCloser, error) {
	r, err := h.Content.Open()
	return &heldReader{ReadSeekCloser: r, of: h}, err
}

// heldReader holds back bytes that are sent, after a Seek of net/http, but not bytes
// that are hashed.
type heldReader struct {
	io.ReadSeekCloser
	of     *held
	isSent bool
	at     int64
}

func (r *heldReader) Seek(offset int64, whence int) (at int64, err error) {
	r.isSent = true
	r.at, err = r.ReadSeekCloser.Seek(offset, whence)
	return r.at, err
}

func (r *heldReader) Read(p []byte) (int, error) {
	if room := r.of.released.Load() - r.at; r.isSent && room > 0 {
		p = p[:min(int64(len(p)), room)]
	} else if r.isSent {
		time.Sleep(20 * time.Millisecond)
		p = p[:min(len(p), 64)]
	}
	n, err := r.ReadSeekCloser.Read(p)
	r.at += int64(n)
	return n, err
}

// The sync of the page's form starts right after the page was made.
func TestBrowserShowsASyncThatStartsRightAfterThePageIsMade(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	before, after := handlerOf(scenes()["idle"]), handlerOf(scenes()["syncing"])
	var made atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && !made.Swap(true) {
			before.ServeHTTP(w, r)
			return
		}
		after.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b.visit(site.URL)
	b.until("the progress bar appears", `document.querySelector("progress") !== null`)
}

func TestBrowserShowsADeadProviderInTitleAndIcon(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	before, after := handlerOf(scenes()["healthy"]), handlerOf(scenes()["retrying"])
	var dead atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			after.ServeHTTP(w, r)
			return
		}
		before.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b.visit(site.URL)
	b.until("all is well", `document.title === "3 of 3 current – syncd" && document.querySelector("link[rel=icon]").href.endsWith("/assets/icon-good.svg")`)
	dead.Store(true)
	b.until("the title tells it", `document.title.startsWith("2 of 3 current, 1 refused, provider unreachable for 1")`)
	b.until("the icon tells it", `document.querySelector("link[rel=icon]").href.endsWith("/assets/icon-bad.svg")`)
	b.until("the banner shows the error and the next try", `/connection refused[^]*Attempt 17 failed, next try/.test(document.querySelector(".banner").innerText)`)
}

func TestBrowserCopiesACommandAndKeepsAQuestionOpen(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	s := scenes()["ready"]
	site := httptest.NewServer(handlerOf(s))
	t.Cleanup(site.Close)
	b.visit(site.URL)
	b.until("commands have buttons", `document.querySelector("button.copy") !== null`)
	const copies = `Object.defineProperty(navigator, "clipboard", {value: undefined}); // as without https
		document.addEventListener("copy", () => window.copied = document.activeElement.value); true`
	must(t, b.eval(copies, new(bool)))
	b.pressOn(`document.querySelector("[data-manifest=dq_addr_data] button.copy")`)
	b.until("the command is copied", `window.copied === "syncd activate dq_addr_data"`)
	b.unfold("ask-discard-dq_addr_data")
	b.unfold("card-dq_zips")
	must(t, b.eval(`document.querySelector(".ask p").scrollIntoView(), renew().then(() => true)`, new(bool)))
	b.until("both stay open in the next page", `document.getElementById("ask-discard-dq_addr_data").open && document.getElementById("card-dq_zips").open`)
	if len(s.discarded) > 0 {
		t.Error("discarded before the answer")
	}
	b.press("discard-dq_addr_data")
	b.until("the page confirms it", `document.body.innerText.includes("To discard what is staged of dq_addr_data was requested")`)
	if !slices.Equal(s.discarded, []string{"dq_addr_data"}) {
		t.Errorf("discarded %q", s.discarded)
	}
	b.until("an unfolded row outlives a form", `document.getElementById("card-dq_zips").open`)
}

// What was asked about one revision is not answered about another one that came meanwhile.
func TestBrowserClosesAQuestionThatIsAboutSomethingElseByNow(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	before, after := scenes()["ready"], scenes()["ready"]
	staged := *after.status.Manifests[0].Staged
	staged.Revision = "another"
	after.status.Manifests[0].Staged = &staged
	var came atomic.Bool
	old, next := handlerOf(before), handlerOf(after)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if came.Load() {
			next.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	b.visit(site.URL)
	b.unfold("ask-discard-dq_addr_data")
	b.unfold("ask-hold-dq_addr_data")
	came.Store(true)
	b.until("the next page is shown", `document.querySelector("#ask-discard-dq_addr_data input[name=revision]").value === "another"`)
	b.until("one question is closed, the other is open", `!document.getElementById("ask-discard-dq_addr_data").open && document.getElementById("ask-hold-dq_addr_data").open`)
}

func TestBrowserShowsWhenSyncdDoesNotRespond(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	handler := handlerOf(scenes()["idle"])
	var looked, hanging atomic.Bool
	over := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hanging.Load() {
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return
		}
		handler.ServeHTTP(w, r)
		if r.URL.Path == "/api/v1/status" {
			looked.Store(true)
		}
	}))
	t.Cleanup(site.Close)
	t.Cleanup(func() { close(over) })
	b.visit(site.URL)
	for deadline := time.Now().Add(patience); !looked.Load(); time.Sleep(20 * time.Millisecond) { // until the script runs
		if time.Now().After(deadline) {
			t.Fatal("the page does not look at the status")
		}
	}
	hanging.Store(true)
	const news = `document.getElementById("news").textContent`
	b.until("the page says that syncd does not respond", news+`.includes("does not respond")`)
	hanging.Store(false)
	b.until("the page says that syncd responds again", news+`.includes("responds again")`)
}

func TestSlowClientDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	base := serve(t, open(t), "")
	slow, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	must(t, err)
	defer slow.Close()
	must(t, slow.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(slow, "GET / HTTP/1.1\r\nHost: x\r\nX-Never-Ending: ")
	must(t, err)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(base)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("another client meanwhile gets %d", res.StatusCode)
	}
	rest, err := io.ReadAll(slow)
	if err != nil || strings.Contains(string(rest), "200 OK") {
		t.Errorf("the server did not close the slow connection: %q, %v", rest, err)
	}
}

func TestTimesAndDurationsAreReadable(t *testing.T) {
	now := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	for away, want := range map[time.Duration]string{
		0: "less than a minute ago", -4 * time.Second: "in 4 s", time.Minute: "1 minute ago", 119 * time.Minute: "119 minutes ago", 2 * time.Hour: "2 hours ago",
		47 * time.Hour: "47 hours ago", 11*24*time.Hour + time.Hour: "11 days ago", -30 * time.Minute: "in 30 minutes", -5 * 24 * time.Hour: "in 5 days",
	} {
		if got := relative(now.Add(-away), now); got != want {
			t.Errorf("%v away: %q, want %q", away, got, want)
		}
	}
	for seconds, want := range map[float64]string{0.0123: "12ms", 4.26: "4.3s", 262.4: "4m22s"} {
		if got := took(seconds); got != want {
			t.Errorf("%v seconds: %q, want %q", seconds, got, want)
		}
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	must(t, err)
	return string(data)
}
