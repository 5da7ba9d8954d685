package syncer_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/clients/signature"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/follower"
	"syncd/internal/emulator"
	"syncd/internal/fetcher"
	"syncd/internal/golive"
	"syncd/internal/golive/destroyer"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/host/command"
	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/permissions"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/report/status"
	"syncd/internal/store"
	"syncd/internal/syncer"
	"syncd/internal/syncer/source"
)

func TestMain(m *testing.M) {
	if command.IsSupervisor() { // of a gate
		os.Exit(command.Supervise())
	}
	goleak.VerifyTestMain(m)
}

// customerID has characters that a query must escape.
const customerID = "AB+c/9 =="

// files is a release of Data files: contents by name.
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

	destructions destroyer.Schedule
	present      *expiry.Present // what clock and provider say; nil for this machine's clock

	registry *prometheus.Registry
	progress *progress.Tracker
	clients  []interface{ Close() } // of all configurations: a sync may run with an earlier one
	syncer   *syncer.Syncer
	log      bytes.Buffer
	store    *buckettest.Server       // instead of provider, see follow
	front    *buckettest.Front        // before store
	gates    map[string]chan struct{} // of files whose downloads are held back, see gate
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
	must(t, err)
	t.Cleanup(func() { provider.Close() })
	w := &world{TB: t, provider: provider, id: id, dir: filepath.Join(t.TempDir(), "data")}
	w.source = config.Default().Source
	w.source.Retry = config.Retry{InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsed: 5 * time.Second}
	w.source.URL = parseURL(t, provider.URL())
	w.cfg = syncer.Config{PublishAfter: time.Minute, Guards: source.Guards{MinKeepRatio: 0.5, MaxFileShrink: 0.9}, Config: golive.Config{
		Algorithm: manifest.SHA256, Transfers: 4, Recheck: 24 * time.Hour, Retain: 2, Version: "test", Access: permissions.Default(),
	}}
	for _, name := range names {
		w.cfg.Targets = append(w.cfg.Targets, golive.Target{Target: manifest.Target{Name: name, Release: manifest.Latest}})
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
	must(t, err)
	return u
}

// must is for steps that have to succeed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) objectPath(id manifest.ObjectID) string {
	return filepath.Join(w.dir, "objects", id.String()[:2], id.String())
}

// open does what a process does when it starts.
func (w *world) open() {
	w.Helper()
	m, err := mirror.Open(w.dir, &durable.Disk{})
	must(w, err)
	must(w, m.MakeState())
	must(w, m.Recover())
	s, note, err := store.Open(m.Root(), "state/syncd.db", time.Second)
	must(w, err)
	w.cfg.Log = zerolog.New(zerolog.SyncWriter(&w.log))
	if note != "" {
		w.cfg.Log.Warn().Msg(note)
	}
	w.cfg.Staging, err = staging.Open(m, func(text string) { w.cfg.Log.Warn().Msg(text) })
	must(w, err)
	w.cfg.Lifespans, err = lifespan.Open(m.Root(), &durable.Disk{Warn: func(string) {}}, func(text string) { w.cfg.Log.Warn().Msg(text) })
	must(w, err)
	w.cfg.Present = func() expiry.Present {
		if w.present != nil {
			return *w.present
		}
		return expiry.Present{Clock: time.Now()}
	}
	w.cfg.Redact = strings.NewReplacer(w.id, "REDACTED").Replace
	w.registry, w.progress = prometheus.NewRegistry(), &progress.Tracker{}
	w.cfg.Mirror, w.cfg.Store, w.cfg.Shared = m, s, syncer.NewShared()
	w.cfg.Directory = golive.NewDirectory(func() error { return nil }, w.cfg.Shared)
	w.cfg.Outbox = outbox.New(outbox.Config{Store: s, DataDir: w.dir})
	w.cfg.Outbox.Subscribe([]outbox.Subscriber{{Hook: "all", Kinds: event.Kinds()}})
	w.cfg.Metrics = metrics.New(w.registry, "test", metrics.Probes{DiskFree: func() float64 { return 0 }, CoolDown: func() time.Time { return time.Time{} }, LastProgress: func() time.Time { return time.Time{} }, RetryingSince: func() time.Time { return time.Time{} }, Orphaned: func() float64 { return 0 }, UpstreamExpires: func() time.Time { return time.Time{} }, Overdue: func() float64 { return 0 }, Bandwidth: func() float64 { return 0 }, Scrub: func() metrics.Scrub { return metrics.Scrub{} }, Patches: func() metrics.Patches { return metrics.Patches{} }})
	w.configure()
}

// configure puts w.source and w.cfg in force, as a reload does.
func (w *world) configure() {
	w.Helper()
	known, err := w.cfg.Store.CoolDowns()
	must(w, err)
	gate := transport.NewGate(known, func(origin string, until time.Time) { must(w, w.cfg.Store.SetCoolDown(origin, until)) })
	settings := transport.Config{
		Base: w.source.URL, CustomerID: w.id, IDParam: "id", StallTimeout: w.source.StallTimeout, Retry: transport.Retry(w.source.Retry),
		Observer: w.cfg.Metrics, Gate: gate, Report: true,
	}
	if w.store != nil {
		settings.CustomerID, settings.IDParam, settings.Sign = "", "", signature.Signer(signature.Credentials(), buckettest.Region)
	}
	carrier, err := transport.New(settings)
	must(w, err)
	if w.store != nil {
		client := follower.New(carrier)
		client.Remember(w.cfg.Store, w.source.URL.String())
		client.Patch(w.cfg.Mirror.Objects.Open, transport.MinRate{})
		w.clients, w.cfg.Provider, w.cfg.Bucket = append(w.clients, client), nil, client
		w.cfg.Fetcher = fetcher.New(client, w.cfg.Mirror.Objects.Partial(), fetcher.Config{Files: 4, Segments: 4})
	} else {
		client := follower.NewUpstream(carrier)
		client.Mirror.Remember(w.cfg.Store, w.source.URL.String())
		client.Mirror.Patch(w.cfg.Mirror.Objects.Open, transport.MinRate{})
		w.clients, w.cfg.Provider, w.cfg.Bucket = append(w.clients, client), client, client.Mirror
		w.cfg.Fetcher = fetcher.New(client, w.cfg.Mirror.Objects.Partial(), fetcher.Config{Files: 4, Segments: 4})
	}
	w.cfg.Source = transport.PublicURL(w.source.URL)
	if w.gates != nil {
		w.cfg.Fetcher = &gated{Fetcher: w.cfg.Fetcher, gates: maps.Clone(w.gates)}
	}
	w.syncer = syncer.New(w.cfg, w.progress)
}

func (w *world) close() {
	w.Helper()
	for _, client := range w.clients {
		client.Close()
	}
	w.clients = nil
	must(w, w.cfg.Store.Close())
}

// restart is a new process on the same data directory.
func (w *world) restart() {
	w.Helper()
	w.close()
	w.open()
}

// target changes the configuration of one manifest.
func (w *world) target(name string, change func(*golive.Target)) {
	w.Helper()
	i := slices.IndexFunc(w.cfg.Targets, func(t golive.Target) bool { return t.Name == name })
	w.cfg.Targets = slices.Clone(w.cfg.Targets)
	change(&w.cfg.Targets[i])
	w.configure()
}

func (w *world) publish(name, release string, content files) {
	var all []emulator.File
	for _, file := range slices.Sorted(maps.Keys(content)) {
		all = append(all, emulator.File{Name: file, Content: emulator.Text(content[file])})
	}
	w.provider.SetManifest(name, release, all...)
}

// sync does one sync; the request log then holds what it asked.
// comesLast makes a file the last to be downloaded. By their Metadata, all files are
// large, and this one is the smallest.
func (w *world) comesLast(name string) {
	w.cfg.Transfers = 1
	w.configure()
	for _, f := range []struct {
		path string
		size int
	}{{"/Metadata/*/" + name, fetcher.SmallFile + 1}, {"/Metadata/*", fetcher.SmallFile + 2}} {
		w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: f.path, Body: fmt.Sprintf(`{"FileSize":"%d"}`, f.size)})
	}
}

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

// poll does a sync by the schedule, demand one on demand.
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

// pass lets time go by: it moves all saved times into the past.
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
	all := configured(w.cfg.Targets)
	for i, of := range w.cfg.Targets {
		all[i].Age = status.AgeOf(of.Expires, w.cfg.Mirror.Current().Records[of.Name], w.cfg.Lifespans.Get(of.Name), w.cfg.Present())
	}
	status, err := status.Read(w.cfg.Mirror, w.cfg.Store, "", all, w.cfg.Staging.All(), w.progress.Snapshot())
	must(w, err)
	return status
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
func configured(targets []golive.Target) []status.Configured {
	var all []status.Configured
	for _, t := range targets {
		all = append(all, status.Configured{Name: t.Name, Release: t.Release, Policy: t.Activate})
	}
	return all
}
