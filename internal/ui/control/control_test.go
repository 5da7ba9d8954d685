package control

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"syncd/internal/engine/operation"
	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine returns prepared answers and records the requests.
type fakeEngine struct {
	err     error
	block   chan struct{} // if set, Sync waits for it
	started chan struct{} // receives one at the start of each Sync
	done    chan error    // receives the state of each Sync's context at its end

	mu    sync.Mutex
	asked []any
}

func (h *fakeEngine) note(what any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, what)
}

var (
	at       = time.Date(2026, 10, 3, 4, 5, 6, 0, time.UTC)
	status   = report.Status{DataDir: "/data", Generation: 3, Daemon: true, Manifests: []report.ManifestStatus{{Name: "one", State: report.StateHeld, CheckedAt: &at}}}
	outcome  = report.Sync{Generation: 4, Changed: true, Manifests: []report.ManifestResult{{Name: "one", Result: report.Updated, FilesTotal: 5}}}
	history  = report.History{Entries: []report.HistoryRow{{HistoryEntry: report.HistoryEntry{Time: at, Trigger: "api", Sync: outcome}, OnDisk: true}}}
	repaired = report.Verification{Files: 5, Bytes: 50, Damage: []report.DamagedFile{{Manifest: "one", Path: "a", Error: "bad", Repaired: true}}}
	adopted  = report.Adoption{Folder: "/srv", FilesAdopted: 3, Manifests: []report.AdoptedManifest{{Name: "one", Missing: []string{"a"}}}}
	waiting  = report.Deliveries{Deliveries: []report.Delivery{{ID: "evt_1", Hook: "h", At: at, State: report.DeliveryPending}}}
	stops    = []report.Stop{{Manifest: "one", Release: "2026.11", By: "canary", From: "rest", At: at, Refused: 1, Of: 2, Hosts: []string{"a/b"}}}
	hosts    = report.FleetPage{FleetStatus: report.FleetStatus{Rings: []report.RingStatus{{Name: "canary"}}, Followers: []report.FollowerStatus{{Name: "a", Host: "b", LastSeen: at}}, Stopped: stops}, Next: &request.Follower{Name: "a", Host: "b"}}
	snapshot = report.Progress{Syncing: true, Trigger: "command", StartedAt: at, Files: []report.FileProgress{{Manifest: "one", Path: "a", Size: -1, Done: 7}}}
)

// answer records the request.
func answer[Request, Result any](h *fakeEngine, result Result) func(context.Context, Request) (Result, error) {
	return func(_ context.Context, req Request) (Result, error) {
		h.note(req)
		return result, h.err
	}
}

func query[Result any](h *fakeEngine, result Result) func() (Result, error) {
	return func() (Result, error) { return result, h.err }
}

func (h *fakeEngine) sync(ctx context.Context, req request.Sync) (report.Sync, error) {
	h.note(req)
	if h.block != nil {
		h.started <- struct{}{}
		<-h.block
		h.done <- ctx.Err()
	}
	return outcome, h.err
}

var samples = []metrics.Sample{{Name: "syncd_x", Labels: map[string]string{"manifest": "a"}, Value: 1.5}}

func (h *fakeEngine) table() *operation.Table {
	return operation.NewTable(func() report.Progress { return snapshot },
		operation.Status.By(query(h, status)),
		operation.History.By(query(h, history)),
		operation.Deliveries.By(query(h, waiting)),
		operation.Samples.By(query(h, samples)),
		operation.Fleet.By(answer[request.Fleet](h, hosts)),
		operation.Alive.By(),
		operation.Ready.By(func() error { h.note("ready"); return h.err }),
		operation.Sync.By(h.sync),
		operation.SyncLocked.By(h.sync),
		operation.Rollback.By(answer[request.Rollback](h, outcome)),
		operation.Activate.By(answer[request.Activate](h, outcome)),
		operation.Order.By(answer[request.Order](h, outcome)),
		operation.Forget.By(answer[request.Forget](h, outcome)),
		operation.Upload.By(answer[request.Upload](h, report.Upload{})),
		operation.Repair.By(answer[request.Verify](h, repaired)),
		operation.Adopt.By(answer[request.Adopt](h, adopted)),
		operation.ChangeDeliveries.By(answer[request.Deliveries](h, waiting)),
		operation.ServeRelease.By(answer[request.ServeRelease](h, stops)),
	)
}

// serve listens in dir until the test ends.
func serve(t *testing.T, dir string, h *fakeEngine) *Client {
	t.Helper()
	listener, err := listen(dir)
	must(t, err)
	server := &http.Server{Handler: newHandler(context.Background(), h.table())}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	client, err := Dial(context.Background(), dir)
	must(t, err)
	t.Cleanup(func() {
		client.Close()
		server.Shutdown(context.Background())
		<-done
	})
	return client
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEveryMethodWorksOverTheSocket(t *testing.T) {
	h := &fakeEngine{}
	c := serve(t, t.TempDir(), h)
	ctx := context.Background()
	check := func(what string, got any, err error, want any) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		equal(t, what, got, want)
	}
	gotStatus, err := operation.Status.Ask(ctx, c)
	check("status", gotStatus, err, status)
	gotHistory, err := operation.History.Ask(ctx, c)
	check("history", gotHistory, err, history)
	req := request.Sync{Manifests: []string{"one"}, Demand: true, Force: true, DryRun: true, Trigger: "command"}
	gotReport, err := operation.Sync.Do(ctx, c, req)
	check("sync", gotReport, err, outcome)
	back := request.Rollback{Generation: 2, Manifests: []string{"one"}}
	gotReport, err = operation.Rollback.Do(ctx, c, back)
	check("rollback", gotReport, err, outcome)
	verify := request.Verify{Manifests: []string{"one"}, Rate: 1 << 20}
	gotRepair, err := operation.Repair.Do(ctx, c, verify)
	check("repair", gotRepair, err, repaired)
	_, err = operation.Repair.Do(ctx, c, request.Verify{})
	check("repair of all", nil, err, nil)
	move := request.Adopt{Folder: "/srv", Manifests: []string{"one"}, Move: true}
	gotAdoption, err := operation.Adopt.Do(ctx, c, move)
	check("adopt", gotAdoption, err, adopted)
	gotSamples, err := operation.Samples.Ask(ctx, c)
	check("samples", gotSamples, err, samples)
	gotWaiting, err := operation.Deliveries.Ask(ctx, c)
	check("deliveries", gotWaiting, err, waiting)
	drop := request.Deliveries{ID: "evt_1", Hook: "h", Drop: true}
	gotWaiting, err = operation.ChangeDeliveries.Do(ctx, c, drop)
	check("drop", gotWaiting, err, waiting)
	fleet := request.Fleet{Ring: "canary", After: &request.Follower{Name: "a"}}
	gotHosts, err := operation.Fleet.Do(ctx, c, fleet)
	check("fleet", gotHosts, err, hosts)
	release := request.ServeRelease{Release: "2026.11"}
	gotStops, err := operation.ServeRelease.Do(ctx, c, release)
	check("serve release", gotStops, err, stops)
	check("health", nil, operation.Alive.Ask(ctx, c), nil)
	check("ready", nil, operation.Ready.Ask(ctx, c), nil)
	equal(t, "asked", h.asked, []any{req, back, verify, request.Verify{}, move, drop, fleet, release, "ready"})
}

func TestErrorsCrossTheSocket(t *testing.T) {
	h := &fakeEngine{err: errors.New("disk is on fire")}
	c := serve(t, t.TempDir(), h)
	ctx := context.Background()
	calls := map[string]func() error{
		"status":   func() error { _, err := operation.Status.Ask(ctx, c); return err },
		"history":  func() error { _, err := operation.History.Ask(ctx, c); return err },
		"sync":     func() error { _, err := operation.Sync.Do(ctx, c, request.Sync{}); return err },
		"rollback": func() error { _, err := operation.Rollback.Do(ctx, c, request.Rollback{}); return err },
		"repair":   func() error { _, err := operation.Repair.Do(ctx, c, request.Verify{}); return err },
		"ready":    func() error { return operation.Ready.Ask(ctx, c) },
	}
	for name, call := range calls {
		if err := call(); err == nil || err.Error() != "disk is on fire" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	h.err = &request.UnknownManifestError{Name: "nosuch"}
	for name, call := range calls {
		var unknown *request.UnknownManifestError
		if err := call(); !errors.As(err, &unknown) || unknown.Name != "nosuch" {
			t.Errorf("%s: error %v, want an unknown manifest", name, err)
		}
	}
}

func TestProgressComesBeforeTheResult(t *testing.T) {
	h := &fakeEngine{block: make(chan struct{}), started: make(chan struct{}, 1), done: make(chan error, 1)}
	c := serve(t, t.TempDir(), h)
	var once sync.Once
	var seen report.Progress
	got, err := operation.Sync.Watch(context.Background(), c, request.Sync{}, func(s report.Progress) {
		once.Do(func() {
			seen = s
			close(h.block)
		})
	})
	must(t, err)
	equal(t, "progress", seen, snapshot)
	equal(t, "result", got, outcome)
}

func TestWorkGoesOnWithoutItsClient(t *testing.T) {
	h := &fakeEngine{block: make(chan struct{}), started: make(chan struct{}, 1), done: make(chan error, 1)}
	c := serve(t, t.TempDir(), h)
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("ctrl-c")
	client := make(chan error, 1)
	go func() {
		_, err := operation.Sync.Do(ctx, c, request.Sync{})
		client <- err
	}()
	<-h.started
	cancel(gone)
	if err := <-client; !errors.Is(err, gone) {
		t.Errorf("the client ended with %v", err)
	}
	close(h.block)
	if err := <-h.done; err != nil {
		t.Errorf("the work's context ended with the client: %v", err)
	}
}

func TestSocketWorksUnderALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30), "state")
	must(t, os.MkdirAll(dir, 0o700))
	c := serve(t, dir, &fakeEngine{})
	got, err := operation.Status.Ask(context.Background(), c)
	must(t, err)
	equal(t, "status", got, status)
}

func TestSocketIsPrivateAndRemovedOnClose(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, socketName)
	listener, err := listen(dir)
	must(t, err)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	listener.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestAServerWhoseFolderWasMovedRemovesItsOwnSocket(t *testing.T) {
	dir, moved := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "moved")
	must(t, os.Mkdir(dir, 0o700))
	first, err := listen(dir)
	must(t, err)
	must(t, errors.Join(os.Rename(dir, moved), os.Mkdir(dir, 0o700)))
	second, err := listen(dir) // of another mirror at the old path
	must(t, err)
	defer second.Close()
	first.Close()
	if _, err := os.Lstat(filepath.Join(dir, socketName)); err != nil {
		t.Errorf("the other mirror's socket: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(moved, socketName)); !os.IsNotExist(err) {
		t.Errorf("the socket in the moved folder is still there: %v", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName), Net: "unix"})
	must(t, err)
	stale.SetUnlinkOnClose(false)
	stale.Close()
	if _, err := Dial(context.Background(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a stale socket: error %v, want ErrNotRunning", err)
	}
	if _, err := operation.Status.Ask(context.Background(), serve(t, dir, &fakeEngine{})); err != nil {
		t.Error(err)
	}
}

func TestDialWithoutASocketReturnsErrNotRunning(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nosuch")} {
		if _, err := Dial(context.Background(), dir); !errors.Is(err, ErrNotRunning) {
			t.Errorf("error %v, want ErrNotRunning", err)
		}
	}
}

func TestDialNamesADataDirThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	want := "data_dir " + file + " is not a directory"
	if _, err := Dial(context.Background(), filepath.Join(file, "state")); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestDialNamesAStateThatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	must(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(t.TempDir(), "state")
	must(t, os.Symlink(t.TempDir(), link))
	for path, problem := range map[string]string{file: " is not a directory", link: " is a symlink"} {
		if _, err := Dial(context.Background(), path); err == nil || !strings.HasPrefix(err.Error(), path+problem) {
			t.Errorf("error %v, want %s%s", err, path, problem)
		}
	}
}

func TestEngineThatEndsMidAnswerHasItsOwnError(t *testing.T) {
	dir := t.TempDir()
	listener, err := listen(dir)
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"progress":{"syncing":true}}` + "\n"))
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	defer func() { server.Close(); <-done }()
	c, err := Dial(context.Background(), dir)
	must(t, err)
	defer c.Close()
	if _, err := operation.Sync.Do(context.Background(), c, request.Sync{}); err == nil || !strings.Contains(err.Error(), "ended before it answered") {
		t.Errorf("error %v", err)
	}
}

func TestEngineThatEndsBeforeItTakesARequestIsNotRunning(t *testing.T) {
	dir := t.TempDir()
	listener, err := listen(dir)
	must(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	c, err := Dial(context.Background(), dir)
	must(t, err)
	defer c.Close()
	if _, err := operation.Sync.Do(context.Background(), c, request.Sync{}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("work: error %v", err)
	}
	if _, err := operation.Status.Ask(context.Background(), c); !errors.Is(err, ErrNotRunning) {
		t.Errorf("question: error %v", err)
	}
}

// Work of an engine that ended after the answer began may be done: nobody may do it again.
func TestEngineThatEndsAfterTheAnswerBeganIsNoOther(t *testing.T) {
	dir := t.TempDir()
	c := serve(t, dir, &fakeEngine{})
	_, err := operation.Status.Ask(context.Background(), c)
	must(t, err)
	c.http.CloseIdleConnections()
	must(t, os.Remove(filepath.Join(dir, socketName)))
	if _, err := operation.Sync.Do(context.Background(), c, request.Sync{}); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("error %v", err)
	}
}

func TestRequestThatIsNotJSONIsRefused(t *testing.T) {
	dir := t.TempDir()
	h := &fakeEngine{}
	c := serve(t, dir, h)
	res, err := c.http.Post("http://syncd/sync", "application/json", strings.NewReader("{"))
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest || len(h.asked) > 0 {
		t.Errorf("status %d, asked %v", res.StatusCode, h.asked)
	}
	if err := c.call(context.Background(), http.MethodGet, "/nosuch", nil, &struct{}{}, nil); err == nil || !strings.Contains(err.Error(), "same version") {
		t.Errorf("a path of another version: %v", err)
	}
}

func TestDialReturnsTheCauseOfItsContext(t *testing.T) {
	dir := t.TempDir()
	listener, err := listen(dir)
	must(t, err)
	defer listener.Close()
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := Dial(ctx, dir); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
