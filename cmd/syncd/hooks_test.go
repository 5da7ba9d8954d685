package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"syncd/internal/emulator"
)

const hookSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

// receiver is a web server that can be down. It verifies each request with the reference
// library.
type receiver struct {
	h       *host
	address string

	mu       sync.Mutex
	server   *http.Server
	received []received
	attempts int
	status   int
	problem  error
}

// received is an event that was taken.
type received struct {
	id   string
	body webhookBody
}

type webhookBody struct {
	Type      string
	Timestamp time.Time
	Data      map[string]any
}

// newReceiver returns a receiver that is down, and writes its secret.
func newReceiver(h *host) *receiver {
	h.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	h.must(listener.Close())
	h.write("hook_secret", hookSecret+"\n", 0o600)
	r := &receiver{h: h, address: listener.Addr().String(), status: http.StatusOK}
	h.Cleanup(r.down)
	return r
}

func (r *receiver) url() string { return "http://" + r.address + "/hook/s3cret-path?token=s3cret" }

func (r *receiver) up() {
	r.h.Helper()
	var listener net.Listener
	r.h.eventually("the port of the receiver", func() (free bool) {
		var err error
		listener, err = net.Listen("tcp", r.address)
		return err == nil
	})
	r.server = &http.Server{Handler: r}
	go r.server.Serve(listener)
}

func (r *receiver) down() {
	if r.server != nil {
		r.server.Close()
		r.server = nil
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	hook, _ := standardwebhooks.NewWebhook(hookSecret)
	var body webhookBody
	err = errors.Join(err, hook.Verify(text, req.Header), json.Unmarshal(text, &body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	r.problem = errors.Join(r.problem, err)
	if r.status < 300 {
		r.received = append(r.received, received{req.Header.Get("webhook-id"), body})
	}
	w.WriteHeader(r.status)
}

// events are the events that were taken, each as "type release".
func (r *receiver) events() (events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.received {
		events = append(events, fmt.Sprint(strings.TrimPrefix(e.body.Type, "syncd."), " ", e.body.Data["release"]))
	}
	return events
}

// has is true when the receiver was told that a release of a manifest went live.
func (r *receiver) has(manifest, release string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.received, func(e received) bool {
		return e.body.Type == "syncd.activated" && e.body.Data["manifest"] == manifest && e.body.Data["release"] == release
	})
}

func (r *receiver) wants(want ...string) {
	r.h.Helper()
	r.h.eventually(fmt.Sprintf("the events %q", want), func() bool { return len(r.events()) >= len(want) })
	if got := r.events(); !slices.Equal(got, want) {
		r.h.Errorf("received %q, want %q", got, want)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem != nil {
		r.h.Errorf("unusable requests: %v", r.problem)
	}
	ids := map[string]bool{}
	for _, e := range r.received {
		ids[e.id] = true
	}
	if len(ids) != len(r.received) || ids[""] {
		r.h.Errorf("IDs %v of %d events", ids, len(r.received))
	}
}

// deliveries is what `deliveries --json` prints.
type deliveries struct {
	Deliveries []struct{ ID, Hook, Event, Manifest, State, Error string }
}

func (h *host) deliveries(args ...string) (d deliveries) {
	h.Helper()
	out := h.expect(0, append([]string{"deliveries", "--json"}, args...)...)
	h.must(json.Unmarshal([]byte(out.stdout), &d))
	return d
}

// offer makes the provider publish a release of manifest m.
func (h *host) offer(release string) {
	h.provider.SetManifest("m", release, emulator.File{Name: "file.dat", Content: emulator.Text(release)})
}

func hookText(r *receiver, on string) string {
	return fmt.Sprintf("hooks:\n  - {name: ops, on: [%s], webhook: %q, secret_file: hook_secret}\n", on, r.url())
}

func TestAReceiverThatIsDownForThreeRestartsGetsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	r := newReceiver(h)
	h.settings.more = hookText(r, "activated, rolled_back, failed, recovered")
	h.configure()
	var want []string
	for i, release := range []string{"2026.08", "2026.09", "2026.10"} {
		h.offer(release)
		p := h.daemon()
		p.logged("delivery failed, it is tried again")
		p.logged("sync")
		want = append(want, "activated "+release)
		if i == 1 {
			h.expect(0, "rollback")
			want = append(want, "rolled_back 2026.08")
		}
		p.signal(os.Kill)
		p.wait()
	}
	d := h.deliveries()
	same(h, "waiting", len(want), len(d.Deliveries))
	r.up()
	p := h.daemon()
	r.wants(want...)
	for i, e := range d.Deliveries {
		same(h, "ID", e.ID, r.received[i].id)
		same(h, "state", "pending", e.State)
	}
	h.eventually("an empty outbox", func() bool { return len(h.deliveries().Deliveries) == 0 })
	p.terminate()
	if text := p.stderr.String() + h.expect(0, "status", "--json").stdout; strings.Contains(text, "s3cret") || strings.Contains(text, hookSecret) {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

func TestASlowHookNeverDelaysASync(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	r := newReceiver(h)
	r.up()
	h.settings.more = hookText(r, "activated") + "  - {on: activated, command: [/bin/sh, -c, 'echo >>\"$0\"; exec sleep 1000', " + h.path("slow") + "], timeout: 1h}\n"
	h.configure()
	h.offer("2026.08")
	p := h.daemon()
	h.eventually("the slow command", func() bool { _, err := os.Stat(h.path("slow")); return err == nil })
	for _, release := range []string{"2026.09", "2026.10"} {
		h.offer(release)
		h.sync(0)
		same(h, "release", release, h.status().Manifests[0].Release)
	}
	r.wants("activated 2026.08", "activated 2026.09", "activated 2026.10")
	p.terminate() // ends the command
	same(h, "deliveries of the slow hook", 3, len(h.deliveries().Deliveries))
}

func TestDeliveriesCanBeTriedAgainAndDropped(t *testing.T) {
	t.Parallel()
	for name, besideDaemon := range map[string]bool{"no daemon": false, "a daemon": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "m").withRace()
			r := newReceiver(h)
			h.settings.more = hookText(r, "activated")
			h.configure()
			h.offer("2026.08")
			h.sync(0)
			h.offer("2026.09")
			h.sync(0)
			if besideDaemon {
				h.daemon().logged("delivery failed, it is tried again")
			}
			d := h.deliveries()
			same(h, "waiting", 2, len(d.Deliveries))
			left := h.deliveries("--drop", d.Deliveries[0].ID)
			same(h, "left", 1, len(left.Deliveries))
			h.expect(1, "deliveries", "--drop", d.Deliveries[0].ID)
			h.expect(1, "deliveries", "--retry", d.Deliveries[1].ID, "--hook", "other")
			h.expect(2, "deliveries", "--retry", "a", "--drop", "b")
			r.up()
			h.syncd("deliveries", "--retry", d.Deliveries[1].ID) // a daemon may have been faster
			r.wants("activated 2026.09")
		})
	}
}

func TestACommandHookGetsNoSecretAndItsFailureIsShown(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	h.environ = []string{"SYNCD_CUSTOMER_ID=" + customerID, "MD_LICENSE=" + customerID, "OTHER=" + customerID}
	h.settings.id = "customer_id_param: id"
	script := `env >"$0"; cat ` + h.path("id") + `; exit 7`
	h.settings.more = "hooks:\n  - {on: activated, name: reload, command: [/bin/sh, -c, '" + script + "', " + h.path("env") + "]}\n"
	h.configure()
	h.offer("2026.08")
	h.sync(0)
	env, err := os.ReadFile(h.path("env"))
	h.must(err)
	h.secretFree("the environment of the hook", string(env))
	if !strings.Contains(string(env), "SYNCD_EVENT=activated\n") {
		t.Errorf("environment %s", env)
	}
	out := h.expect(0, "status").stdout + h.expect(0, "explain").stdout // secret-free, although the command prints the ID
	if strings.Count(out, "exit status 7") != 2 || !strings.Contains(out, "reload") {
		t.Errorf("status %s", out)
	}
	h.must(os.Remove(h.path("env")))
}

func TestALostStateTellsWhatIsServedAgain(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	r := newReceiver(h)
	r.up()
	h.settings.more = hookText(r, "activated")
	h.configure()
	h.offer("2026.08")
	h.sync(0)
	h.must(os.Remove(h.data + "/state/syncd.db"))
	h.expect(0, "sync", "m")
	r.wants("activated 2026.08", "activated 2026.08")
}

func TestAHookWithAnUnusableSecretIsAConfigurationError(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m").withRace()
	r := newReceiver(h)
	h.settings.more = hookText(r, "activated")
	h.configure()
	h.write("hook_secret", "not base64: "+hookSecret, 0o600)
	h.offer("2026.08")
	for _, command := range [][]string{{"sync"}, {"run"}, {"config", "check"}} {
		out := h.expect(2, command...)
		if !strings.Contains(out.stderr, "hooks[0].secret_file") || strings.Contains(out.stderr, hookSecret) {
			t.Errorf("%v: %s", command, out.stderr)
		}
	}
}

// TestFaultAtAnyStepLosesNoEvent kills or fails a sync at each change on disk, among them
// those that save and remove deliveries. The next sync must have told everything.
func TestFaultAtAnyStepLosesNoEvent(t *testing.T) {
	t.Parallel()
	origin := newHost(t, "m").withRace()
	origin.needsTorture()
	origin.logEvents()
	origin.offer("2026.10")
	origin.sync(0)
	origin.offer("2026.11")
	undisturbed := origin.copied(t)
	undisturbed.environ = []string{"SYNCD_STEPS=" + undisturbed.path("steps")}
	undisturbed.sync(0)
	steps := len(undisturbed.steps())
	undisturbed.wantTold()
	rows, every := steps*len(stepFaults), times(29, 1)
	var done atomic.Int64
	t.Cleanup(func() {
		did := fmt.Sprintf("a sync of %d steps on disk with a hook killed before or after one of them, or failing there", steps)
		reliability(t, "events", did, int(done.Load()))
	})
	for row := newRandom(t).IntN(every); row < rows; row += every {
		number, fault := row/len(stepFaults)+1, stepFaults[row%len(stepFaults)]
		t.Run(fmt.Sprintf("%03d %s", number, fault.name), func(t *testing.T) {
			t.Parallel()
			done.Add(1)
			h := origin.copied(t)
			h.environ = []string{fmt.Sprintf("SYNCD_STEP=%d:%s", number, fault.what)}
			h.syncd("sync")
			h.environ = nil
			h.sync(0)
			h.wantTold()
		})
	}
}

// logEvents configures a hook that writes each event to a file of the host.
func (h *host) logEvents() {
	h.settings.more = "hooks:\n  - {name: log, on: [activated], command: [/bin/sh, -c, 'echo \"$SYNCD_RELEASE $SYNCD_EVENT_ID\" >>\"$0\"', " + h.path("events") + "]}\n"
	h.configure()
}

// copied returns another host in the same state, with the same provider.
func (h *host) copied(t *testing.T) *host {
	t.Helper()
	other := *h
	other.T, other.dir = t, newDir(t)
	other.data = other.path("data")
	for _, name := range []string{"data", "events", "id"} {
		if out, err := exec.Command("cp", "-a", h.path(name), other.path(name)).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
	other.logEvents()
	return &other
}

// wantTold requires that the hook was told about both releases, in order. An event may
// come twice.
func (h *host) wantTold() {
	h.Helper()
	text, err := os.ReadFile(h.path("events"))
	h.must(err)
	var releases []string
	for line := range strings.Lines(string(text)) {
		release, _, _ := strings.Cut(line, " ")
		releases = append(releases, release)
	}
	if got := slices.Compact(releases); !slices.Equal(got, []string{"2026.10", "2026.11"}) {
		h.Errorf("told %q", text)
	}
}
