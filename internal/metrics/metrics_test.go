package metrics

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// used returns metrics with a value in every series.
func used(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "1.2.3", Probes{
		DiskFree: func() float64 { return 5e9 }, CoolDown: func() time.Time { return time.UnixMilli(9_500) },
		LastProgress: func() time.Time { return time.UnixMilli(7_500) }, RetryingSince: func() time.Time { return time.UnixMilli(6_500) }, Orphaned: func() float64 { return 1 }, Overdue: func() float64 { return 2 }, UpstreamExpires: func() time.Time { return time.UnixMilli(11_500) }, Bandwidth: func() float64 { return 1024 },
		Scrub:   func() Scrub { return Scrub{Share: 0.25, Completed: time.UnixMilli(10_500), Left: 2} },
		Patches: func() Patches { return Patches{Made: 5, Failed: 1, Bytes: 12345} },
		Fleet: func() Fleet {
			return Fleet{Hosts: []FleetHosts{{"canary", "2026.11", "refused", 3}, {"rest", "none", "silent", 1}}, Stopped: map[string]int{"canary": 0, "rest": 1}, Waiting: map[string]int{"rest": 2}}
		},
		Hooks: func() []HookQueue { return []HookQueue{{"a", 2, time.UnixMilli(8_500)}, {"b", 0, time.Time{}}} },
	})
	place := m.UploadTarget("near")
	m.UploadsTo([]*UploadTarget{place})
	m.SourcesAre([]string{"near"}, map[string]time.Time{"near": time.UnixMilli(1_500)}, nil)
	m.CreateHook("a", []string{"delivered", "failed"})
	m.HookResult("a", "failed")
	for _, name := range []string{"one", "two"} {
		m.CreateManifest(name, LabelValues{Results: []string{"updated", "refused"}, Reasons: []string{"shrink"}, States: []string{"in_sync", "failed"}})
		m.SetManifest(name, ManifestStatus{State: "failed", States: []string{"in_sync", "failed"}, Release: "2026.09", Revision: "aaaaaaaaaaaa", Bytes: 10, Newest: "2026.10", Behind: 1})
		m.SetManifest(name, ManifestStatus{
			State: "in_sync", States: []string{"in_sync", "failed"}, Release: "2026.10", Revision: "bbbbbbbbbbbb", Bytes: 20,
			Since: time.UnixMilli(3_500), Newest: "2026.12", Behind: 2, Checked: time.UnixMilli(1_500), Success: time.UnixMilli(2_500),
		})
		m.SetManifest(name, ManifestStatus{State: "in_sync", States: []string{"in_sync", "failed"}, Behind: 2, Expected: time.UnixMilli(12_500)}) // the other series stay
		m.Forecast(name, 40)
		m.Pinned(name, true)
		m.DiskNeeded(name, 30)
		m.Resumed(name, 5)
		m.Synced(name, "updated", "")
		m.Synced(name, "refused", "shrink")
		m.Downloaded(name, 7)
		m.FileDownloaded(name)
		m.VerifyFailed(name)
	}
	for _, name := range []string{"flat", "maps"} {
		m.ViewState(name, "failed", []string{"in_sync", "failed"})
		m.ViewState(name, "in_sync", []string{"in_sync", "failed"})
		m.ExportState(name, "in_sync", []string{"in_sync", "behind"}, time.Time{})
		m.ExportState(name, "behind", []string{"in_sync", "behind"}, time.UnixMilli(8_500))
	}
	m.SyncTook(2 * time.Second)
	m.Reloaded(true)
	m.Reloaded(false)
	m.Request("Hash", "200")
	m.Request("Hash", "error")
	m.Request("Hash", "712")
	m.Request("Hash", "799")
	m.Retry("Hash")
	m.ScrubRead(11)
	NewServe(reg).Request("Manifest", 200, 13)
	return m, reg
}

func TestNamesLabelsAndValuesMatchTheContract(t *testing.T) {
	_, reg := used(t)
	want := `
syncd_active_since_timestamp_seconds{manifest="one"} 3.5
syncd_bandwidth_limit_bytes 1024
syncd_bandwidth_limit_bytes_per_second 1024
syncd_config_last_reload_successful 0
syncd_cool_down_until_timestamp_seconds 9.5
syncd_damaged_objects 2
syncd_destroyed_bytes_total{manifest="one"} 0
syncd_disk_forecast_bytes{manifest="one"} 40
syncd_disk_free_bytes 5e+09
syncd_disk_needed_bytes{manifest="one"} 30
syncd_download_bytes_total{manifest="one"} 7
syncd_export_behind_since_timestamp_seconds{view="flat"} 8.5
syncd_export_state{state="behind",view="flat"} 1
syncd_export_state{state="in_sync",view="flat"} 0
syncd_files_downloaded_total{manifest="one"} 1
syncd_fleet_hosts{release="2026.11",ring="canary",state="refused"} 3
syncd_fleet_hosts{release="none",ring="rest",state="silent"} 1
syncd_fleet_stopped_releases{ring="canary"} 0
syncd_fleet_stopped_releases{ring="rest"} 1
syncd_fleet_waiting_releases{ring="rest"} 2
syncd_held_until_timestamp_seconds{manifest="one"} 0
syncd_hook_deliveries_total{hook="a",result="delivered"} 0
syncd_hook_deliveries_total{hook="a",result="failed"} 1
syncd_hook_oldest_pending_timestamp_seconds{hook="a"} 8.5
syncd_hook_oldest_pending_timestamp_seconds{hook="b"} 0
syncd_hook_pending_deliveries{hook="a"} 2
syncd_hook_pending_deliveries{hook="b"} 0
syncd_http_requests_total{code="200",endpoint="Hash"} 1
syncd_http_requests_total{code="7xx",endpoint="Hash"} 2
syncd_http_requests_total{code="error",endpoint="Hash"} 1
syncd_http_retries_total{endpoint="Hash"} 1
syncd_last_check_timestamp_seconds{manifest="one"} 1.5
syncd_last_success_timestamp_seconds{manifest="one"} 2.5
syncd_manifest_expires_timestamp_seconds{manifest="one"} 0
syncd_manifest_state{manifest="one",state="failed"} 0
syncd_manifest_state{manifest="one",state="in_sync"} 1
syncd_mirror_bytes{manifest="one"} 20
syncd_newest_release_info{manifest="one",release="2026.12"} 1
syncd_orphaned_manifests 1
syncd_overdue_destructions 2
syncd_patches_bytes 12345
syncd_patches_failed_total 1
syncd_patches_made_total 5
syncd_probe_last_timestamp_seconds{manifest="one"} 0
syncd_probe_success{manifest="one"} 0
syncd_publish_damaged_objects 0
syncd_publish_failing_since_timestamp_seconds 0
syncd_publish_generation 0
syncd_publish_last_success_timestamp_seconds 0
syncd_publish_leader 0
syncd_publish_runs_total{result="failed"} 0
syncd_publish_runs_total{result="published"} 0
syncd_publish_runs_total{result="standby"} 0
syncd_publish_runs_total{result="unchanged"} 0
syncd_publish_target_damaged_objects{target="near"} 0
syncd_publish_target_failing_since_timestamp_seconds{target="near"} 0
syncd_publish_target_generation{target="near"} 0
syncd_publish_target_last_success_timestamp_seconds{target="near"} 0
syncd_publish_target_leader{target="near"} 0
syncd_publish_target_runs_total{result="failed",target="near"} 0
syncd_publish_target_runs_total{result="published",target="near"} 0
syncd_publish_target_runs_total{result="standby",target="near"} 0
syncd_publish_target_runs_total{result="unchanged",target="near"} 0
syncd_publish_target_uploaded_bytes_total{target="near"} 0
syncd_publish_target_verified_timestamp_seconds{target="near"} 0
syncd_publish_uploaded_bytes_total 0
syncd_publish_verified_timestamp_seconds 0
syncd_quarantined_since_timestamp_seconds{manifest="one"} 0
syncd_refusals_total{manifest="one",reason="shrink"} 1
syncd_release_expected_timestamp_seconds{manifest="one"} 12.5
syncd_release_info{manifest="one",release="2026.10",revision="bbbbbbbbbbbb"} 1
syncd_release_pinned{manifest="one"} 1
syncd_releases_behind{manifest="one"} 2
syncd_resumed_bytes_total{manifest="one"} 5
syncd_scrub_completed_timestamp_seconds 10.5
syncd_scrub_progress_ratio 0.25
syncd_scrub_read_bytes_total 11
syncd_serve_requests_total{code="200",endpoint="Manifest"} 1
syncd_serve_sent_bytes_total 13
syncd_source_failing_since_timestamp_seconds{source="near"} 0
syncd_source_in_use{source="near"} 1
syncd_staged_since_timestamp_seconds{manifest="one"} 0
syncd_sync_last_progress_timestamp_seconds 7.5
syncd_sync_retrying_since_timestamp_seconds 6.5
syncd_sync_runs_total{manifest="one",result="refused"} 1
syncd_sync_runs_total{manifest="one",result="updated"} 1
syncd_upstream_expires_timestamp_seconds 11.5
syncd_verify_failures_total{manifest="one"} 1
syncd_view_state{state="failed",view="flat"} 0
syncd_view_state{state="in_sync",view="flat"} 1
`
	// docs/metrics.md has the types and the help texts. The second manifest and the second
	// view have the values of the first.
	left := regexp.MustCompile(`^#|syncd_build_info|_duration_seconds|_reload_success_timestamp_|manifest="two"|view="maps"`)
	var kept strings.Builder
	for line := range strings.Lines(scrape(reg)) {
		if !left.MatchString(line) {
			kept.WriteString(line)
		}
	}
	if diff := cmp.Diff(want[1:], kept.String()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func scrape(reg *prometheus.Registry) string {
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	return rec.Body.String()
}

func TestDropManifestLeavesNoSeries(t *testing.T) {
	m, reg := used(t)
	m.DropManifest("one")
	families, err := reg.Gather()
	must(t, err)
	kept := 0
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				switch label.GetValue() {
				case "one":
					t.Errorf("%s still has a series of it", family.GetName())
				case "two":
					kept++
				}
			}
		}
	}
	if kept == 0 {
		t.Error("the series of the other manifest are gone too")
	}
}

func TestNamesFollowThePrometheusRules(t *testing.T) {
	_, reg := used(t)
	problems, err := promlint.New(strings.NewReader(scrape(reg))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
