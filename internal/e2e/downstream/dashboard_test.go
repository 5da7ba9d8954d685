package downstream_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// board is the part of the shipped dashboard that Grafana sends to Prometheus.
type board struct {
	Panels []struct {
		Title   string
		Targets []struct {
			Expr    string
			Instant bool
		}
	}
	Templating  struct{ List []variable }
	Annotations struct{ List []struct{ Name, Expr string } }
}

// variable is a template variable.
type variable struct {
	Name, Type, Definition, AllValue string
}

// TestEveryQueryOfTheDashboardReturnsSeries asks a real Prometheus, which scrapes a host
// where everything that a panel shows has happened.
func TestEveryQueryOfTheDashboardReturnsSeries(t *testing.T) {
	t.Parallel()
	h, p := busyHost(t)
	m := prometheus(h.Host, strings.TrimPrefix(p.Web, "http://"))
	h.Eventually("a scrape", func() bool { return m.value(`syncd_manifest_state{manifest="m",state="in_sync"}`) == "1" })
	h.trouble(p)

	if queries := m.wantBoard("syncd.json"); queries < 50 {
		t.Errorf("%d queries, the dashboard has more", queries)
	}
	m.wantHealthyRules()
	h.wantDocumented(p)
}

// wantBoard waits until each query of a shipped dashboard returns a number, and counts them.
func (m *monitor) wantBoard(name string) (queries int) {
	m.h.Helper()
	var b board
	shipped, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "grafana", name))
	m.h.Must(err)
	m.h.Must(json.Unmarshal(shipped, &b))
	for _, v := range b.Templating.List {
		if v.Type != "datasource" {
			m.h.Eventually("values of the variable "+v.Name, func() bool { return len(m.labelValues(b.filled(m.h, v.Definition))) > 0 })
		}
	}
	for _, panel := range b.Panels {
		for _, target := range panel.Targets {
			m.wantSeries(panel.Title, b.filled(m.h, target.Expr), target.Instant)
			queries++
		}
	}
	for _, a := range b.Annotations.List {
		m.wantSeries("annotation "+a.Name, b.filled(m.h, a.Expr), false)
	}
	return queries
}

// busyHost runs a daemon that serves a follower, publishes to object storage, and has
// hooks, scrubs, a view with an export, and manifests that wait to go live.
func busyHost(t *testing.T) (*upstream, *e2e.Process) {
	u := newUpstream(t, []string{"m\n    expires: {after: 120mo}\n    probe: {command: [\"true\"]}", "staged\n    activate: manual", "tested\n    gate: {command: [sh, -c, 'test $SYNCD_RELEASE = 2026.10']}"},
		"rings: [{name: canary}, {name: rest, delay: 1h, after: {hosts: 1}}]")
	id := u.addID("follower", "--ring", "canary")
	serve := u.Settings.More
	store := publisherOf(u.Host, buckettest.New(t))
	place := func(name string) string {
		return fmt.Sprintf("{name: %s, endpoint: %q, bucket: %s, prefix: %s/, region: %s}", name, store.front.Endpoint, buckettest.Bucket, name, buckettest.Region)
	}
	u.ConfigureWith("publish: {s3: [" + place("near") + ", " + place("far") + "]}\n" + serve + `election: {lease: 1m}
transfers: {bandwidth: 100MiB}
scrub: {schedule: "@every 1s", rate: 0}
views: [{name: flat, layout: flat, manifests: [m], export: ` + u.Path("flat") + `}]
hooks: [{on: [activated], command: ["true"]}, {on: [activated], command: ["false"]}]
`)
	u.severalSources()
	for _, release := range []string{"2026.08", "2026.09", "2026.10"} { // so that the next one is expected
		u.Month("m", release, release)
	}
	u.Month("staged", "2026.10", "staged")
	u.Month("tested", "2026.10", "tested")
	p := u.SyncedDaemon()
	f := u.follower(id)
	f.Settings.Manifests = []string{"m"}
	f.Configure()
	f.Sync(0)
	return u, p
}

// severalSources makes the source of the configuration the first of two, of which the second
// cannot be reached.
func (u *upstream) severalSources() {
	u.Helper()
	text, err := os.ReadFile(u.Path("syncd.yaml"))
	u.Must(err)
	before, rest, _ := strings.Cut(string(text), "source:\n")
	source, after, found := strings.Cut(rest, "data_dir:")
	if !found {
		u.Fatalf("no source in %s", text)
	}
	named := func(name string) string {
		return "  - name: " + name + "\n" + strings.ReplaceAll("\n"+strings.TrimSuffix(source, "\n"), "\n", "\n  ")[1:] + "\n"
	}
	u.Write("syncd.yaml", before+"source:\n"+named("near")+strings.Replace(named("far"), u.Settings.URL, "http://127.0.0.1:1", 1)+"data_dir:"+after, 0o644)
	u.Expect(0, "config", "check")
}

// trouble takes a new release of m, after a wrong answer and a wrong download. Its export
// was changed by hand, the gate refuses the release of tested, and a damaged file cannot
// be repaired.
func (u *upstream) trouble(p *e2e.Process) {
	u.Helper()
	u.Must(os.WriteFile(u.Path("flat", "extra"), nil, 0o644))
	u.Month("m", "2026.11", "november")
	u.Month("tested", "2026.11", "november")
	u.Provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*m.dat", Times: 1})
	u.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Path: "/Manifest/*", Times: 1})
	p.Signal(syscall.SIGUSR1)
	p.LoggedTimes("sync", 2)
	e2e.Same(u.Host, "served", "november", u.ServedContent("m"))
	u.Expect(0, "hold", "m", "--for", "1h")
	u.Provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Host: emulator.HostDownload})
	u.Flip("m/m.dat")
}

// filled is a query with the values that Grafana puts in for its variables.
func (b board) filled(h *e2e.Host, query string) string {
	h.Helper()
	for _, v := range b.Templating.List {
		query = strings.ReplaceAll(query, "$"+v.Name, v.AllValue)
	}
	query = strings.NewReplacer("$__rate_interval", "1m", "$__range", "300s", "$__interval", "1s").Replace(query)
	if strings.Contains(strings.ReplaceAll(query, `"$1"`, ""), "$") { // label_replace has its own
		h.Fatalf("a variable is not filled in: %s", query)
	}
	return query
}

// wantSeries waits until a query of a panel returns a number.
func (m *monitor) wantSeries(panel, query string, instant bool) {
	m.h.Helper()
	m.h.Eventually(fmt.Sprintf("series in panel %q for %s", panel, query), func() bool {
		if instant {
			return slices.ContainsFunc(m.ask(query), func(s measured) bool { return isNumber(s.Value) })
		}
		now := time.Now().Unix()
		var series []struct{ Values [][2]any }
		m.fetch("query_range", url.Values{"query": {query}, "start": {strconv.FormatInt(now-300, 10)}, "end": {strconv.FormatInt(now, 10)}, "step": {"1"}}, &struct{ Result any }{&series})
		for _, s := range series {
			if slices.ContainsFunc(s.Values, isNumber) {
				return true
			}
		}
		return false
	})
}

// isNumber is true for a sample that a panel can show.
func isNumber(sample [2]any) bool {
	value, err := strconv.ParseFloat(sample[1].(string), 64)
	return err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// labelValues are the values of a query variable, as Grafana asks for them.
func (m *monitor) labelValues(definition string) (values []string) {
	m.h.Helper()
	call := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(definition)
	if call == nil {
		m.h.Fatalf("not a query of label values: %s", definition)
	}
	m.fetch("label/"+call[2]+"/values", url.Values{"match[]": {call[1]}}, &values)
	return values
}

// wantHealthyRules waits until each shipped alert was evaluated without an error.
func (m *monitor) wantHealthyRules() {
	m.h.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	m.h.Eventually("an evaluation of all alerts", func() bool {
		m.fetch("rules", nil, &rules)
		if len(rules.Groups) == 0 {
			return false
		}
		for _, rule := range rules.Groups[0].Rules {
			if rule.LastError != "" {
				m.h.Fatalf("alert %s: %s", rule.Name, rule.LastError)
			}
			if rule.Health != "ok" {
				return false
			}
		}
		return true
	})
}

// wantDocumented expects every series of the daemon in docs/metrics.md.
func (u *upstream) wantDocumented(p *e2e.Process) {
	u.Helper()
	reference, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	u.Must(err)
	_, text := p.Get("/metrics")
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (syncd_\w+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(string(reference), "| `"+match[1]+"` |") {
			u.Errorf("docs/metrics.md lacks %s", match[1])
		}
	}
}
