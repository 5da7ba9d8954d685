package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/config"
	"syncd/internal/daemon"
	"syncd/internal/emulator"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/httpserver"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is the handler over a real engine that mirrors one manifest.
type site struct {
	*testing.T
	engine  *engine.Engine
	daemon  *daemon.Daemon
	handler http.Handler

	provider *emulator.Emulator
}

// broken is a Source whose state cannot be read and whose loop is stuck.
type broken struct{ Source }

var errBroken = errors.New("state is broken")

func (broken) Status() (report.Status, error)      { return report.Status{}, errBroken }
func (broken) History(int) (report.History, error) { return report.History{}, errBroken }
func (broken) Alive() error                        { return errBroken }

// queue is a Source that records the requests for syncs.
type queue struct {
	Source
	wanted []request.Sync

	activations []request.Activate
	rollbacks   []request.Rollback
	orders      []request.Order
}

func (q *queue) TriggerRollback(_ context.Context, req request.Rollback) error {
	q.rollbacks = append(q.rollbacks, req)
	return nil
}

func (q *queue) TriggerOrder(_ context.Context, req request.Order) error {
	q.orders = append(q.orders, req)
	return nil
}

func (q *queue) TriggerActivation(_ context.Context, req request.Activate) error {
	q.activations = append(q.activations, req)
	return nil
}

func (q *queue) Trigger(_ context.Context, req request.Sync) error {
	q.wanted = append(q.wanted, req)
	return nil
}

func open(t *testing.T) *site {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: "customer-id"})
	must(t, err)
	t.Cleanup(func() { provider.Close() })
	provider.SetManifest("one", "2026.09", emulator.File{Name: "a.dat", Content: emulator.Text("a")})
	cfg := config.Default()
	cfg.Source.URL, err = url.Parse(provider.URL())
	must(t, err)
	cfg.Source.Credential = config.FixedCredential("customer-id")
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.Manifests = []config.Manifest{{Name: "one", Release: "latest", Schedule: cfg.Schedule}}
	registry := prometheus.NewPedanticRegistry()
	e, err := engine.Open(cfg, engine.Options{Log: zerolog.Nop(), Registry: registry, Version: "1.2.3", AddSecret: func(string) {}})
	must(t, err)
	t.Cleanup(func() { e.Close() })
	d := daemon.New(e, nil, zerolog.Nop())
	return &site{T: t, engine: e, daemon: d, handler: Handler(d, registry), provider: provider}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) sync() {
	s.Helper()
	result, err := operation.Sync.Do(context.Background(), s.engine.Operations(), request.Sync{Demand: true})
	if err != nil || !result.OK() {
		s.Fatal(err, result)
	}
}

func ask(handler http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	return rec
}

func (s *site) ask(method, target, body string, header ...string) *httptest.ResponseRecorder {
	return ask(s.handler, method, target, body, header...)
}

func TestHealthzSucceedsFromTheStart(t *testing.T) {
	s := open(t)
	if got := s.ask("GET", "/healthz", ""); got.Code != 200 {
		t.Errorf("status %d: %s", got.Code, got.Body)
	}
	if got := ask(Handler(broken{}, prometheus.NewRegistry()), "GET", "/healthz", ""); got.Code != 503 {
		t.Errorf("a stuck loop: %d", got.Code)
	}
}

func TestReadyzNeedsDataAndWithMaxAgeFreshData(t *testing.T) {
	s := open(t)
	if got := s.ask("GET", "/readyz", ""); got.Code != 503 || !strings.Contains(got.Body.String(), "one") {
		t.Errorf("without data: %d %s", got.Code, got.Body)
	}
	s.sync()
	for target, want := range map[string]int{
		"/readyz": 200, "/readyz?max_age=48h": 200, "/readyz?max_age=1ns": 503,
		"/readyz?max_age=2days": 400, "/readyz?max_age=-1h": 400, "/readyz?max_age=0s": 400,
	} {
		if got := s.ask("GET", target, ""); got.Code != want {
			t.Errorf("%s answers %d: %s", target, got.Code, got.Body)
		}
	}
}

func TestStatusMatchesTheCommandLine(t *testing.T) {
	s := open(t)
	s.sync()
	got := s.ask("GET", "/api/v1/status", "")
	if got.Code != 200 || got.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", got.Code, got.Header())
	}
	var status, want report.Status
	must(t, json.Unmarshal(got.Body.Bytes(), &status))
	want, err := s.daemon.Status()
	must(t, err)
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if !status.Daemon || status.Manifests[0].State != report.StateInSync {
		t.Errorf("status %+v", status)
	}
}

func TestHistoryMatchesTheCommandLine(t *testing.T) {
	s := open(t)
	s.sync()
	var history report.History
	must(t, json.Unmarshal(s.ask("GET", "/api/v1/history", "").Body.Bytes(), &history))
	if len(history.Entries) != 1 || history.Entries[0].Generation != 1 {
		t.Errorf("history %+v", history)
	}
}

func TestUnreadableStateIsAServerError(t *testing.T) {
	handler := Handler(broken{}, prometheus.NewRegistry())
	for _, target := range []string{"GET /api/v1/status", "GET /api/v1/history", "POST /api/v1/sync"} {
		method, path, _ := strings.Cut(target, " ")
		if got := ask(handler, method, path, ""); got.Code != 500 {
			t.Errorf("%s answers %d", target, got.Code)
		}
	}
}

func TestPostQueuesASync(t *testing.T) {
	s := open(t)
	for body, want := range map[string][]string{"": nil, "{}": nil, `{"manifests":["one"]}`: {"one"}} {
		q := &queue{Source: s.daemon}
		got := ask(Handler(q, prometheus.NewRegistry()), "POST", "/api/v1/sync", body)
		wanted := []request.Sync{{Demand: true, Trigger: "api", Manifests: want}}
		if diff := cmp.Diff(wanted, q.wanted); got.Code != 202 || diff != "" {
			t.Errorf("body %q: %d (-want +got):\n%s", body, got.Code, diff)
		}
	}
}

func TestBadPostIsRefused(t *testing.T) {
	s := open(t)
	for body, want := range map[string]int{
		"now": 400, `["one"]`: 400, `{"force":true}`: 400, `{"manifests":"one"}`: 400,
		`{"manifests":["` + strings.Repeat("x", maxBody) + `"]}`: 400, `{"manifests":["one","nosuch"]}`: 404, `{"manifests":[""]}`: 404,
	} {
		q := &queue{Source: s.daemon}
		if got := ask(Handler(q, prometheus.NewRegistry()), "POST", "/api/v1/sync", body); got.Code != want || len(q.wanted) > 0 {
			t.Errorf("body %.40q: %d %s, asked %v", body, got.Code, got.Body, q.wanted)
		}
	}
}

func TestPostFromAnotherSiteIsForbidden(t *testing.T) {
	s := open(t)
	q := &queue{Source: s.daemon}
	handler := Handler(q, prometheus.NewRegistry())
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		if got := ask(handler, "POST", "/api/v1/sync", "", header...); got.Code != 403 {
			t.Errorf("%v: %d", header, got.Code)
		}
	}
	if got := ask(handler, "POST", "/api/v1/sync", "", "Sec-Fetch-Site", "same-origin"); got.Code != 202 || len(q.wanted) != 1 {
		t.Errorf("from the same origin: %d, asked %v", got.Code, q.wanted)
	}
}

func TestPathsRefuseOtherMethods(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/api/v1/status", "/api/v1/history", "/", "/assets/style.css", "/assets/live.js", "/assets/icon.svg"} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			if got := s.ask(method, path, ""); got.Code != 405 || !strings.Contains(got.Header().Get("Allow"), "GET") {
				t.Errorf("%s %s: %d, Allow %q", method, path, got.Code, got.Header().Get("Allow"))
			}
		}
	}
	if got := s.ask("GET", "/api/v1/sync", ""); got.Code != 405 || got.Header().Get("Allow") != "POST" {
		t.Errorf("GET /api/v1/sync: %d, Allow %q", got.Code, got.Header().Get("Allow"))
	}
	if got := s.ask("GET", "/nosuch", ""); got.Code != 404 {
		t.Errorf("GET /nosuch: %d", got.Code)
	}
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	s := open(t)
	s.sync()
	got := s.ask("GET", "/metrics", "")
	problems, err := promlint.New(got.Body).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
}

func TestSeriesOfConfiguredManifestsStartAtZero(t *testing.T) {
	text := open(t).ask("GET", "/metrics", "").Body.String()
	lines := strings.Split(text, "\n")
	for _, want := range []string{
		`syncd_sync_runs_total{manifest="one",result="updated"} 0`, `syncd_sync_runs_total{manifest="one",result="unchanged"} 0`,
		`syncd_sync_runs_total{manifest="one",result="failed"} 0`, `syncd_sync_runs_total{manifest="one",result="refused"} 0`,
		`syncd_last_check_timestamp_seconds{manifest="one"} 0`, `syncd_last_success_timestamp_seconds{manifest="one"} 0`,
		`syncd_download_bytes_total{manifest="one"} 0`, `syncd_files_downloaded_total{manifest="one"} 0`,
		`syncd_verify_failures_total{manifest="one"} 0`, `syncd_mirror_bytes{manifest="one"} 0`,
		`syncd_refusals_total{manifest="one",reason="hash_mismatch"} 0`, `syncd_refusals_total{manifest="one",reason="insecure"} 0`,
		`syncd_sync_duration_seconds_count 0`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
}

func TestEveryMetricOfTheContractExistsAfterASync(t *testing.T) {
	s := open(t)
	s.sync()
	text := s.ask("GET", "/metrics", "").Body.String()
	for _, name := range []string{
		"syncd_build_info{", "syncd_sync_runs_total{", "syncd_sync_duration_seconds_bucket{", "syncd_last_check_timestamp_seconds{",
		"syncd_last_success_timestamp_seconds{", `syncd_release_info{manifest="one",release="2026.09",revision="`, "syncd_download_bytes_total{",
		"syncd_files_downloaded_total{", "syncd_verify_failures_total{", "syncd_refusals_total{", "syncd_mirror_bytes{",
		"syncd_disk_free_bytes ", `syncd_http_requests_total{code="200",endpoint="Manifest"} 1`,
	} {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("no series %s", name)
		}
	}
}

// serve runs the real server with a web configuration.
func serve(t *testing.T, s *site, webConfig string) (base string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	config, err := httpserver.OpenWebConfig(webConfig)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- httpserver.Serve(ctx, listener, s.handler, httpserver.Options{WebConfig: config, Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
		must(t, config.Close())
	})
	return "http://" + listener.Addr().String()
}

func TestServeRefusesForeignNamesOnEveryPath(t *testing.T) {
	base := serve(t, open(t), "")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/", "/metrics", "/healthz", "/api/v1/status", "/assets/live.js"} {
		req, err := http.NewRequest("GET", base+path, nil)
		must(t, err)
		req.Host = "evil.example"
		res, err := client.Do(req)
		must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

func TestBasicAuthGuardsEveryPath(t *testing.T) {
	s := open(t)
	s.sync()
	file := filepath.Join(t.TempDir(), "web.yml")
	const hashOfSecret = "$2a$04$3aPAmVPQDbXkToIJR0ryl.m5JWVaXbNXfaj5kzE/gEqTqYAHpXFZi"
	must(t, os.WriteFile(file, []byte("basic_auth_users:\n  alice: "+hashOfSecret+"\n"), 0o600))
	base := serve(t, s, file)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, target := range []string{
		"GET /metrics", "GET /healthz", "GET /readyz", "GET /api/v1/status", "GET /api/v1/history", "POST /api/v1/sync", "GET /", "GET /nosuch",
		"GET /assets/style.css", "GET /assets/live.js", "GET /assets/icon.svg",
	} {
		method, path, _ := strings.Cut(target, " ")
		for user, allowed := range map[string]bool{"": false, "alice:wrong": false, "bob:secret": false, "alice:secret": true} {
			req, err := http.NewRequest(method, base+path, nil)
			must(t, err)
			if name, password, given := strings.Cut(user, ":"); given {
				req.SetBasicAuth(name, password)
			}
			res, err := client.Do(req)
			must(t, err)
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			denied := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusTooManyRequests
			if denied == allowed {
				t.Errorf("%s as %q: %d", target, user, res.StatusCode)
			}
		}
	}
}

func TestActivationByTheAPIAndThePage(t *testing.T) {
	q := &queue{Source: &scene{status: report.Status{Manifests: []report.ManifestStatus{{Name: "one", State: report.StateStaged, Staged: &report.StagedRevision{Revision: "abc"}}}}}}
	h := Handler(q, prometheus.NewRegistry())
	post := func(body, kind string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/activate", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const form = "application/x-www-form-urlencoded"
	for _, row := range []struct {
		name, body, kind string
		headers          []string
		code             int
		want             []request.Activate
	}{
		{"one", `{"manifests": ["one"]}`, "application/json", nil, 202, []request.Activate{{Names: []string{"one"}, Trigger: "activate"}}},
		{"all", ``, "application/json", nil, 202, []request.Activate{{Trigger: "activate"}}},
		{"discard", `{"manifests": ["one"], "discard": true}`, "application/json", nil, 202, []request.Activate{{Names: []string{"one"}, Discard: true, Trigger: "discard"}}},
		{"discard all", `{"discard": true}`, "application/json", nil, 400, nil},
		{"unknown", `{"manifests": ["two"]}`, "application/json", nil, 404, nil},
		{"nonsense", `{"force": true}`, "application/json", nil, 400, nil},
		{"the revision that is shown", "manifest=one&revision=abc", form, []string{"Accept", "text/html"}, 303, []request.Activate{{Names: []string{"one"}, Revision: "abc", Trigger: "activate"}}},
		{"a revision that was shown", "manifest=one&revision=old", form, []string{"Accept", "text/html"}, 409, nil},
		{"to discard what was shown", "manifest=one&revision=old&discard=yes", form, []string{"Accept", "text/html"}, 409, nil},
		{"a revision by a program", `{"manifests": ["one"], "revision": "old"}`, "application/json", nil, 409, nil},
		{"a revision of all", `{"revision": "abc"}`, "application/json", nil, 400, nil},
		{"button", "manifest=one", form, []string{"Accept", "text/html"}, 303, []request.Activate{{Names: []string{"one"}, Trigger: "activate"}}},
		{"discard button", "manifest=one&discard=yes", form, []string{"Accept", "text/html"}, 303, []request.Activate{{Names: []string{"one"}, Discard: true, Trigger: "discard"}}},
		{"another site", "manifest=one", form, []string{"Accept", "text/html", "Sec-Fetch-Site", "cross-site"}, 403, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			q.activations = nil
			if w := post(row.body, row.kind, row.headers...); w.Code != row.code {
				t.Errorf("status %d, want %d: %s", w.Code, row.code, w.Body)
			}
			if diff := cmp.Diff(row.want, q.activations); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRollbackAndHoldByTheAPIAndThePage(t *testing.T) {
	q := &queue{Source: &scene{status: report.Status{Manifests: []report.ManifestStatus{{Name: "one", State: report.StateInSync, Revision: "abc"}}}}}
	h := Handler(q, prometheus.NewRegistry())
	json := []string{"Content-Type", "application/json"}
	for _, row := range []struct {
		name, path, body string
		headers          []string
		code             int
		rollback         *request.Rollback
		hold             time.Duration // -1 for none
	}{
		{"one", "rollback", `{"manifests": ["one"], "generation": 6}`, json, 202, &request.Rollback{Manifests: []string{"one"}, Generation: 6}, -1},
		{"to the one before", "rollback", `{}`, json, 202, &request.Rollback{}, -1},
		{"by the page", "rollback", "manifest=one&generation=6", form, 303, &request.Rollback{Manifests: []string{"one"}, Generation: 6}, -1},
		{"by the page, all", "rollback", "generation=6", form, 400, nil, -1},
		{"by the page, nowhere", "rollback", "manifest=one", form, 400, nil, -1},
		{"a negative generation", "rollback", `{"generation": -6}`, json, 400, nil, -1},
		{"from what is shown", "rollback", "manifest=one&generation=6&revision=abc", form, 303, &request.Rollback{Manifests: []string{"one"}, Generation: 6}, -1},
		{"from what was shown", "rollback", "manifest=one&generation=6&revision=old", form, 409, nil, -1},
		{"from what a program saw", "rollback", `{"manifests": ["one"], "generation": 6, "revision": "old"}`, json, 409, nil, -1},
		{"all from one revision", "rollback", `{"revision": "abc"}`, json, 400, nil, -1},
		{"to what has expired", "rollback", `{"manifests": ["one"], "force": true}`, json, 400, nil, -1},
		{"to what has expired, by the page", "rollback", "manifest=one&generation=6&force=true", form, 303, &request.Rollback{Manifests: []string{"one"}, Generation: 6}, -1},
		{"unknown", "rollback", `{"manifests": ["two"]}`, json, 404, nil, -1},
		{"another site", "rollback", "manifest=one&generation=6", append(form[:4:4], "Sec-Fetch-Site", "cross-site"), 403, nil, -1},
		{"hold", "hold", `{"manifests": ["one"], "for": "24h"}`, json, 202, nil, 24 * time.Hour},
		{"end a hold", "hold", `{"manifests": ["one"], "for": "0s"}`, json, 202, nil, 0},
		{"hold by the page", "hold", "manifest=one&for=168h", form, 303, nil, 168 * time.Hour},
		{"hold what is shown", "hold", "manifest=one&for=24h&revision=abc", form, 303, nil, 24 * time.Hour},
		{"hold what was shown", "hold", "manifest=one&for=24h&revision=old", form, 409, nil, -1},
		{"hold what a program saw", "hold", `{"manifests": ["one"], "for": "24h", "revision": "old"}`, json, 409, nil, -1},
		{"hold all", "hold", `{"for": "24h"}`, json, 400, nil, -1},
		{"hold for no time", "hold", `{"manifests": ["one"]}`, json, 400, nil, -1},
		{"hold into the past", "hold", `{"manifests": ["one"], "for": "-1h"}`, json, 400, nil, -1},
		{"hold of another site", "hold", "manifest=one&for=168h", append(form[:4:4], "Sec-Fetch-Site", "same-site"), 403, nil, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			q.rollbacks, q.orders = nil, nil
			if w := ask(h, "POST", "/api/v1/"+row.path, row.body, row.headers...); w.Code != row.code {
				t.Errorf("status %d, want %d: %s", w.Code, row.code, w.Body)
			}
			if got, want := len(q.rollbacks) == 1, row.rollback != nil; got != want || want && !cmp.Equal(q.rollbacks[0], *row.rollback) {
				t.Errorf("rollbacks %+v", q.rollbacks)
			}
			if got, want := len(q.orders) == 1, row.hold >= 0; got != want {
				t.Errorf("orders %+v", q.orders)
			} else if want && (time.Until(q.orders[0].Until)-row.hold).Abs() > time.Minute {
				t.Errorf("held until %v", q.orders[0].Until)
			}
		})
	}
}

func TestThePageShowsWhatIsStagedAndWhatTheGateFound(t *testing.T) {
	since := time.Now().Add(-time.Hour)
	staged := report.StagedRevision{Release: "2026.11", Revision: "abc", Since: since}
	s := &scene{status: report.Status{Manifests: []report.ManifestStatus{
		{Name: "one", State: report.StateStaged, Staged: &staged},
		{Name: "two", State: report.StateQuarantined, Quarantined: &report.QuarantinedRevision{StagedRevision: staged, RefusedAt: since, Differences: []string{"line 1: - <a> + b"}}},
		{Name: "three", State: report.StateQuarantined, Quarantined: &report.QuarantinedRevision{StagedRevision: staged, RefusedAt: since, Lines: []string{"no good"}}, Pin: "2026.03", Skips: []string{"2026.04"}, HoldUntil: &since},
	}}}
	w := httptest.NewRecorder()
	Handler(s, prometheus.NewRegistry()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	body := w.Body.String()
	for _, text := range []string{
		`id="activate-one"`, `id="discard-two"`, "line 1: - &lt;a&gt; &#43; b", "no good", "2026.03, pinned by command", "2026.04", "Hold ends", "0 of 3 current, 2 quarantined, 1 staged",
	} {
		if !strings.Contains(body, text) {
			t.Errorf("no %q in the page", text)
		}
	}
	if strings.Contains(body, `id="activate-two"`) {
		t.Error("a quarantined revision has a button to activate it")
	}
}
