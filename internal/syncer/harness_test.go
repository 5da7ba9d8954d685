package syncer_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/durable"
	"syncd/internal/emulator"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
	"syncd/internal/report"
	"syncd/internal/request"
	"syncd/internal/store"
	"syncd/internal/syncer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// customerID has characters that are written otherwise in a query.
const customerID = "AB+c/9 =="

// files is a release in short: its Data files by name.
type files map[string]string

// world is a provider, and a data directory that a Syncer keeps current: all
// parts are the real ones.
type world struct {
	testing.TB
	provider *emulator.Emulator
	id       string // the Customer ID
	source   config.Source
	cfg      syncer.Config // what the next open or configure begins with
	dir      string

	registry *prometheus.Registry
	progress *report.Progress
	client   *releases.Client
	syncer   *syncer.Syncer
	log      bytes.Buffer
}

// start makes a world that mirrors the latest release of each named manifest.
func start(t testing.TB, names ...string) *world {
	t.Helper()
	return startAs(t, customerID, names...)
}

// startAs is start for another Customer ID.
func startAs(t testing.TB, id string, names ...string) *world {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: id})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	w := &world{TB: t, provider: provider, id: id, dir: filepath.Join(t.TempDir(), "data")}
	w.source = config.Default().Source
	w.source.Retry = config.Retry{InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsed: 5 * time.Second}
	w.source.URL = parseURL(t, provider.URL())
	w.cfg = syncer.Config{
		Algorithm: manifest.SHA256, Transfers: 4, Recheck: 24 * time.Hour, MinKeepRatio: 0.5, Retain: 2, Version: "test",
	}
	for _, name := range names {
		w.cfg.Targets = append(w.cfg.Targets, syncer.Target{Name: name, Release: manifest.Latest})
	}
	w.open()
	t.Cleanup(func() {
		w.whole()
		w.close()
		for _, secret := range []string{id, url.QueryEscape(id)} {
			if strings.Contains(w.log.String(), secret) {
				t.Errorf("the log holds the Customer ID:\n%s", &w.log)
			}
		}
	})
	return w
}

func parseURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// must is for steps that have to succeed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open does what a process does when it starts.
func (w *world) open() {
	w.Helper()
	m, err := mirror.Open(w.dir, &durable.Disk{})
	must(w, err)
	must(w, m.MakeState())
	must(w, m.Recover())
	s, note, err := store.Open(filepath.Join(m.State(), "syncd.db"), time.Second)
	must(w, err)
	w.cfg.Log = zerolog.New(zerolog.SyncWriter(&w.log))
	if note != "" {
		w.cfg.Log.Warn().Msg(note)
	}
	w.registry, w.progress = prometheus.NewRegistry(), &report.Progress{}
	w.cfg.Mirror, w.cfg.Store = m, s
	w.cfg.Metrics = metrics.New(w.registry, "test", metrics.Probes{DiskFree: func() float64 { return 0 }, CoolDown: func() time.Time { return time.Time{} }})
	w.configure()
}

// configure puts w.source and w.cfg in force, as a reload does.
func (w *world) configure() {
	w.Helper()
	known, err := w.cfg.Store.CoolDowns()
	must(w, err)
	gate := transport.NewGate(known, func(origin string, until time.Time) { must(w, w.cfg.Store.SetCoolDown(origin, until)) })
	carrier, err := transport.New(transport.Config{
		Base: w.source.URL, CustomerID: w.id, IDParam: "id", StallTimeout: w.source.StallTimeout, Retry: transport.Retry(w.source.Retry),
		Observer: w.cfg.Metrics, Gate: gate,
	})
	must(w, err)
	client := releases.New(carrier)
	if w.client != nil {
		w.client.Close()
	}
	w.client = client
	w.cfg.Provider, w.cfg.Fetcher = client, fetcher.New(client, w.cfg.Mirror.Partial(), fetcher.Config{Files: 4, Segments: 4})
	w.cfg.Source = transport.PublicURL(w.source.URL)
	w.syncer = syncer.New(w.cfg, w.progress)
}

func (w *world) close() {
	w.Helper()
	w.client.Close()
	must(w, w.cfg.Store.Close())
}

// restart is a new process on the same data directory.
func (w *world) restart() {
	w.Helper()
	w.close()
	w.open()
}

// target changes the configuration of one manifest.
func (w *world) target(name string, change func(*syncer.Target)) {
	w.Helper()
	i := slices.IndexFunc(w.cfg.Targets, func(t syncer.Target) bool { return t.Name == name })
	w.cfg.Targets = slices.Clone(w.cfg.Targets)
	change(&w.cfg.Targets[i])
	w.configure()
}

// publish makes the provider offer a release.
func (w *world) publish(name, release string, content files) {
	var all []emulator.File
	for _, file := range slices.Sorted(maps.Keys(content)) {
		all = append(all, emulator.File{Name: file, Content: emulator.Text(content[file])})
	}
	w.provider.SetManifest(name, release, all...)
}

// sync does one sync; the request log then holds what it asked.
func (w *world) sync(req request.Sync) report.Sync {
	w.Helper()
	w.provider.ResetRequests()
	result, err := w.syncer.Sync(context.Background(), req)
	must(w, err)
	for _, m := range result.Manifests {
		if strings.Contains(m.Error, w.id) || strings.Contains(m.Error, url.QueryEscape(w.id)) {
			w.Errorf("the report holds the Customer ID: %s", m.Error)
		}
	}
	return result
}

// poll is a sync by the schedule, demand one that someone asked for.
func (w *world) poll() report.Sync {
	w.Helper()
	return w.sync(request.Sync{Trigger: "schedule"})
}

func (w *world) demand(names ...string) report.Sync {
	w.Helper()
	return w.sync(request.Sync{Trigger: "command", Demand: true, Manifests: names})
}

func (w *world) force() report.Sync {
	w.Helper()
	return w.sync(request.Sync{Trigger: "command", Demand: true, Force: true})
}

// pass lets time go by: everything that is remembered was so much earlier.
func (w *world) pass(d time.Duration) {
	w.Helper()
	states, err := w.cfg.Store.Manifests()
	must(w, err)
	for name, s := range states {
		for _, t := range []*time.Time{&s.CheckedAt, &s.FullAt, &s.SyncedAt} {
			if !t.IsZero() {
				*t = t.Add(-d)
			}
		}
		if s.Failure != nil && !s.Failure.NextTry.IsZero() {
			s.Failure.NextTry = s.Failure.NextTry.Add(-d)
		}
		states[name] = s
	}
	must(w, w.cfg.Store.Commit(store.Changes{Manifests: states}))
}

func (w *world) state(name string) store.Manifest {
	w.Helper()
	states, err := w.cfg.Store.Manifests()
	must(w, err)
	return states[name]
}

func (w *world) status() report.Status {
	w.Helper()
	status, err := report.ReadStatus(w.cfg.Mirror, w.cfg.Store, "", configured(w.cfg.Targets), w.progress.Snapshot())
	must(w, err)
	return status
}

// asked returns the paths that the last sync asked the release service for and
// that begin with prefix, sorted.
func (w *world) asked(prefix string) []string {
	var paths []string
	for _, r := range w.provider.Requests() {
		if r.Host == emulator.HostRelease && strings.HasPrefix(r.Path, prefix) {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// downloads are the names of the files that the last sync opened, sorted.
func (w *world) downloads() []string {
	var names []string
	for _, p := range w.asked("/Download/") {
		names = append(names, p[strings.LastIndexByte(p, '/')+1:])
	}
	return names
}

// tree reads what readers see of a manifest; nil when it is not served.
func (w *world) tree(name string) files {
	w.Helper()
	dir, err := filepath.EvalSymlinks(filepath.Join(w.dir, "current", name))
	if os.IsNotExist(err) {
		return nil
	}
	must(w, err)
	tree := files{}
	must(w, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		tree[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return tree
}

// serves expects readers to see exactly these files.
func (w *world) serves(name string, want files) {
	w.Helper()
	if diff := cmp.Diff(want, w.tree(name)); diff != "" {
		w.Errorf("%s is not served as it should be (-want +got):\n%s", name, diff)
	}
}

// whole expects every published file to be what its record says.
func (w *world) whole() {
	w.Helper()
	if len(w.cfg.Mirror.Current().Records) == 0 {
		return
	}
	result, _, err := syncer.Verify(context.Background(), w.cfg.Mirror, request.Verify{})
	if err != nil || !result.OK() {
		w.Errorf("current is not whole: %v %+v", err, result.Damage)
	}
}

func (w *world) generation() int { return w.cfg.Mirror.Current().Number }

// metric is the value of one series, -1 when there is no such series.
func (w *world) metric(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	must(w, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var values []string
			for _, pair := range m.GetLabel() {
				values = append(values, pair.GetName()+"="+pair.GetValue())
			}
			if slices.Equal(values, slices.Sorted(slices.Values(labels))) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

// only returns the report's one manifest of that name.
func only(t testing.TB, result report.Sync, name string) report.ManifestResult {
	t.Helper()
	for _, m := range result.Manifests {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no manifest %s in %+v", name, result)
	return report.ManifestResult{}
}

// expect checks the result of one manifest in a report.
func (w *world) expect(outcome report.Sync, name string, result report.Result) report.ManifestResult {
	w.Helper()
	m := only(w, outcome, name)
	if m.Result != result {
		w.Fatalf("%s is %s, want %s: %s %s\n%s", name, m.Result, result, m.Reason, m.Error, &w.log)
	}
	return m
}

// equal compares, with a diff for people.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refuses runs a sync on demand that must refuse the manifest "data" for a
// reason, and leave everything that is served as it was.
func (w *world) refuses(reason refusal.Reason) report.ManifestResult {
	w.Helper()
	generation, tree := w.generation(), w.tree("data")
	before := max(w.metric("syncd_refusals_total", "manifest=data", "reason="+string(reason)), 0)
	m := w.expect(w.demand("data"), "data", report.Refused)
	if m.Reason != string(reason) || m.Error == "" {
		w.Errorf("refused for %q (%s), want %q", m.Reason, m.Error, reason)
	}
	if got := w.metric("syncd_refusals_total", "manifest=data", "reason="+string(reason)); got != before+1 {
		w.Errorf("refusals for %s went from %v to %v", reason, before, got)
	}
	if w.generation() != generation {
		w.Errorf("generation %d became %d", generation, w.generation())
	}
	w.serves("data", tree)
	w.whole()
	if state := w.status().Manifests[0]; state.State != report.StateRefused || state.Error == "" {
		w.Errorf("status says %q (%s), want refused", state.State, state.Error)
	}
	return m
}

// served is a world that serves four files of data's release 2026.09.
func served(t testing.TB) *world {
	t.Helper()
	w := start(t, "data")
	w.publish("data", "2026.09", september())
	w.expect(w.demand(), "data", report.Updated)
	return w
}

func september() files {
	return files{"a.dat": "a of september", "b.dat": "b of september", "c.txt": "c", "d.lic": "d"}
}

// october differs from september in b.dat alone.
func october() files {
	return files{"a.dat": "a of september", "b.dat": "b of october", "c.txt": "c", "d.lic": "d"}
}

// eventually waits for a condition that must come true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

const notModified = http.StatusNotModified

// configured are the targets as reports know them.
func configured(targets []syncer.Target) []report.Configured {
	var all []report.Configured
	for _, t := range targets {
		all = append(all, report.Configured{Name: t.Name, Release: t.Release})
	}
	return all
}
