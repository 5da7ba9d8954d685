package downstream_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// forTheCenter are the series that docs/monitoring.md collects in the center.
const forTheCenter = "syncd_fleet_.+|syncd_serve_sent_bytes_total|syncd_last_success_timestamp_seconds"

// newRegion runs an upstream that hears of followers: as many in each ring as healthy says,
// and as many of the last ring whose gates refuse.
func newRegion(t *testing.T, healthy, refusing int) (u *upstream, p *e2e.Process) {
	u = newUpstream(t, []string{"m"}, "rings: [{name: canary}, {name: rest, after: {hosts: 1}}]")
	u.Month("m", "2026.11", "november")
	canary, rest := u.addID("canary", "--ring", "canary"), u.addID("rest", "--ring", "rest")
	p = u.SyncedDaemon()
	tell := func(id, host, state string) {
		u.Eventually("the poll of "+host, func() bool {
			return u.lists("/ManifestReleases/m", id, fmt.Sprintf("host=%[1]s; id=%[1]s; %s", host, state)) == http.StatusOK
		})
	}
	serves := "release=2026.11; revision=" + u.Status().Manifests[0].Revision
	for i := range healthy {
		tell(canary, fmt.Sprint("canary", i), serves)
		tell(rest, fmt.Sprint("rest", i), serves)
	}
	for i := range refusing {
		tell(rest, fmt.Sprint("refuses", i), "refused=2026.11; reason=gate; attempts=1")
	}
	return u, p
}

// TestThePrometheusOfAllRegions runs three upstreams, each with a Prometheus of its region,
// and a central one that has two of them by federation and one by remote write.
func TestThePrometheusOfAllRegions(t *testing.T) {
	t.Parallel()
	center := e2e.NewHost(t)
	west, westDaemon := newRegion(t, 1, 0)
	east, eastDaemon := newRegion(t, 1, 2)
	south, southDaemon := newRegion(t, 1, 1)
	of := func(u *upstream, p *e2e.Process, name, more string) *monitor {
		return runPrometheus(u.Host, "syncd.rules.yml", fmt.Sprintf(`global: {scrape_interval: 500ms, evaluation_interval: 500ms, external_labels: {region: %s}}
rule_files: [syncd.rules.yml]
scrape_configs:
  - {job_name: syncd, static_configs: [{targets: [%q]}]}
`, name, strings.TrimPrefix(p.Web, "http://"))+more)
	}
	federated := []string{
		strings.TrimPrefix(of(west, westDaemon, "west", "").url, "http://"),
		strings.TrimPrefix(of(east, eastDaemon, "east", "").url, "http://"),
	}
	m := runPrometheus(center, "syncd.fleet.rules.yml", fmt.Sprintf(`global: {scrape_interval: 500ms, evaluation_interval: 500ms}
rule_files: [syncd.fleet.rules.yml]
scrape_configs:
  - job_name: syncd-regions
    honor_labels: true
    metrics_path: /federate
    params: {"match[]": ['{__name__=~"%s"}']}
    static_configs: [{targets: [%q, %q]}]
`, forTheCenter, federated[0], federated[1]), "--web.enable-remote-write-receiver", "--query.lookback-delta=8s")
	writer := of(south, southDaemon, "south", fmt.Sprintf(`remote_write:
  - url: %s/api/v1/write
    write_relabel_configs: [{source_labels: [__name__], regex: %q, action: keep}]
`, m.url, forTheCenter))

	m.want("the fleet", `sum by (region, ring, state) (region_ring_release_state:syncd_fleet_hosts:sum) > 0`, map[string]string{
		"west canary in_sync": "1", "west rest in_sync": "1",
		"east canary in_sync": "1", "east rest in_sync": "1", "east rest refused": "2", "south canary in_sync": "1", "south rest in_sync": "1", "south rest refused": "1",
	})
	m.want("the shares", `region_ring:syncd_fleet_hosts:in_sync_ratio{ring="rest"}`, map[string]string{"west rest": "1", "east rest": "0.3333333333333333", "south rest": "0.5"})
	m.want("the releases", `release:syncd_fleet_hosts:refused_sum{release="2026.11"}`, map[string]string{"2026.11": "3"})
	if queries := m.wantBoard("syncd-fleet.json"); queries < 12 {
		t.Errorf("%d queries, the dashboard has more", queries)
	}
	m.wantHealthyRules()
	m.wantAlert("SyncdFleetRefuses", "firing")
	m.wantAlert("SyncdRegionAbsent", "")

	center.Must(writer.process.Kill())
	m.wantAlert("SyncdRegionAbsent", "firing")
	e2e.Same(center, "the region", "1", m.value(`ALERTS{alertname="SyncdRegionAbsent", region="south"}`))
}

// want waits until a query returns these values, by the labels of each series.
func (m *monitor) want(about, query string, values map[string]string) {
	m.h.Helper()
	found := map[string]string{}
	defer func() {
		if m.h.Failed() {
			m.h.Logf("%s: found %v, want %v", about, found, values)
		}
	}()
	m.h.Eventually(about, func() bool {
		clear(found)
		for _, s := range m.ask(query) {
			var labels []string
			for _, name := range []string{"region", "ring", "release", "state"} {
				if s.Metric[name] != "" {
					labels = append(labels, s.Metric[name])
				}
			}
			found[strings.Join(labels, " ")] = s.Value[1].(string)
		}
		return fmt.Sprint(found) == fmt.Sprint(values)
	})
}
