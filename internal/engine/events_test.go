package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/engine/operation"
	"syncd/internal/engine/silence"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// receiver is a webhook's receiver, which keeps what it gets.
type receiver struct {
	mu  sync.Mutex
	got []map[string]any // the data of each event, and its type
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Type string
		Data map[string]any
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	body.Data["event"] = strings.TrimPrefix(body.Type, "syncd.")
	r.got = append(r.got, body.Data)
}

func (r *receiver) events(kind string) (found []map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, data := range r.got {
		if data["event"] == kind {
			found = append(found, data)
		}
	}
	return found
}

// hear gives a world a webhook for every event.
func (w *world) hear() *receiver {
	r := &receiver{}
	server := httptest.NewServer(r)
	w.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	must(w.T, err)
	w.cfg.Hooks = []config.Hook{{Name: "all", On: event.Kinds(), Webhook: u, Timeout: time.Minute}}
	return r
}

// table reads the table of docs/events.md: for each event, what it says of each field.
func table(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/events.md")
	must(t, err)
	rows := map[string]map[string]string{}
	var fields []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		switch {
		case len(cells) < 9:
		case cells[0] == "event":
			fields = cells
		case !strings.HasPrefix(cells[0], "-"):
			rows[cells[0]] = map[string]string{}
			for i, field := range fields[2:] {
				rows[cells[0]][field] = cells[i+2]
			}
		}
	}
	return rows
}

func TestEveryEventHasTheFieldsOfTheTable(t *testing.T) {
	w := start(t, "one", "two")
	w.cfg.Manifests[0].Probe = config.Probe{Command: []string{"/bin/true"}, Within: time.Minute, Every: time.Second} // proven
	r := w.hear()
	e := w.open()
	defer e.Close()
	e.Hooks.Deliver()
	sync := func(force bool) {
		t.Helper()
		_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true, Force: force, Trigger: "command"})
		must(t, err)
	}
	sync(false) // activated
	w.publish("one", "2026.10", "october")
	sync(false)
	_, err := operation.Rollback.Do(context.Background(), e.Operations(), request.Rollback{})
	must(t, err)
	sync(true)
	w.publish("one", "2026.10", "october, again")
	sync(false) // republished
	w.publish("one", "2026.11", "november")
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/one.dat"})
	sync(false) // refused
	w.provider.ClearFaults()
	sync(false) // recovered
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 403, Path: "/ManifestReleases/one"})
	sync(false) // failed
	w.provider.ClearFaults()
	for _, at := range []time.Time{time.Now(), time.Now().Add(-silence.MinPatience), time.Now().Add(-silence.MinPatience)} { // told once
		e.retries.tell("one", transport.Trouble{Err: errors.New("no route to host"), Attempt: 1, Since: at, Next: time.Now()})
	}
	if got := e.Progress().Retry; got == nil || got.Error != "no route to host" || got.Manifest != "one" {
		t.Errorf("retried: %+v", got)
	}
	e.retries.tell("one", transport.Trouble{Answers: true}) // recovered
	must(t, e.Hooks.outbox.NotifyStale(e.mirror.Current(), func(string, time.Time) bool { return true }))
	for _, kind := range []event.Kind{event.Expiring, event.Expired, event.Expiring} { // each is told once
		aging := outbox.Aging{Record: e.mirror.Current().Records["one"], Generation: e.mirror.Current().Number, Kind: kind, Day: "2026-12-31", Text: "until 2026-12-31"}
		must(t, e.Hooks.outbox.NotifyAging([]outbox.Aging{aging}))
		must(t, e.Hooks.outbox.NotifyAging([]outbox.Aging{aging}))
		if got := len(r.events(string(kind))); got > 1 {
			t.Errorf("%d events %s", got, kind)
		}
	}
	w.waits(e)
	damaged := filepath.Join(w.cfg.DataDir, "current/one/one.dat")
	must(t, os.Chmod(damaged, 0o644))
	must(t, os.WriteFile(damaged, []byte("damage"), 0o644))
	_, err = operation.Repair.Do(context.Background(), e.Operations(), request.Verify{})
	must(t, err)
	manual := *w.cfg
	manual.Manifests = slices.Clone(manual.Manifests)
	for i := range manual.Manifests {
		manual.Manifests[i].Activate = config.Activation{Manual: true}
	}
	must(t, e.Configure(&manual))
	w.publish("one", "2026.12", "december")
	sync(false) // staged
	list := manual
	list.Source.Name, list.Others = "near", []config.Source{manual.Source}
	list.Source.URL, list.Source.Retry.MaxElapsed, list.Others[0].Name = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, 10*time.Millisecond, "far"
	must(t, e.Configure(&list))
	sync(false) // source
	_, err = operation.Destroy.Do(context.Background(), e.Operations(), request.Destroy{Manifest: "one", Releases: []string{"2026.10"}})
	must(t, err)
	e.Hooks.Rest(context.Background())

	if got := len(r.events(string(event.Retrying))); got != 1 {
		t.Errorf("%d events of retries, want 1", got)
	}
	rows := table(t)
	if len(rows) != len(event.Kinds()) {
		t.Errorf("the table has %d events, want %d", len(rows), len(event.Kinds()))
	}
	for _, kind := range event.Kinds() {
		row, events := rows[string(kind)], r.events(string(kind))
		if row == nil || len(events) == 0 {
			t.Errorf("%s: row %v, %d events", kind, row, len(events))
		}
		for _, data := range events {
			checkFields(t, string(kind), row, data)
		}
	}
}

// waits tells of a ring that waits for what is served.
func (w *world) waits(e *Engine) {
	r := e.mirror.Current().Records["one"]
	must(w.T, e.Followers.tellWaiting(report.WaitingRing{Manifest: r.Manifest, Release: r.Release, Revision: r.Revision, Ring: "rest", For: "canary", NeedsHosts: 3, Since: time.Now()}))
}

// checkFields compares an event with its row: yes, no, or a condition.
func checkFields(t *testing.T, kind string, row map[string]string, data map[string]any) {
	t.Helper()
	for _, always := range []string{"manifest", "host"} {
		if data[always] == "" {
			t.Errorf("%s has no %s: %v", kind, always, data)
		}
	}
	for field, says := range row {
		value, has := data[field]
		isSet := value != "" && value != 0.0
		if !has || says == "yes" && !isSet || says == "no" && isSet {
			t.Errorf("%s: %s is %q (there: %v), the table says %q", kind, field, value, has, says)
		}
	}
	if isAbout := kind == string(event.Expiring) || kind == string(event.Expired); isAbout != (data["expires"] == "2026-12-31") {
		t.Errorf("%s: expires is %v", kind, data["expires"])
	}
	isNew := kind == string(event.Staged) || kind == string(event.Activated) && data["previous"] != ""
	if _, has := data["changes"]; has != isNew {
		t.Errorf("%s: the changes are there: %v, want %v: %v", kind, has, isNew, data)
	}
	if (kind == string(event.Waiting)) != (data["ring"] == "rest") {
		t.Errorf("%s: ring is %v", kind, data["ring"])
	}
	if (kind == string(event.Source)) != (data["source"] == "far") {
		t.Errorf("%s: source is %v", kind, data["source"])
	}
	delete(data, "source")
	delete(data, "ring")
	delete(data, "expires")
	delete(data, "changes")
	if len(data) != len(row)+3 { // manifest, host and the type
		t.Errorf("%s has fields that the table lacks: %v", kind, data)
	}
}
