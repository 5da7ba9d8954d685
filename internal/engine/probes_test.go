package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/config"
	"syncd/internal/downstream/catalog"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest/expiry"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// consumer is a program that reads what is served, as a probe asks it.
type consumer struct {
	*world
	mu     sync.Mutex
	broken map[string]bool // contents with which it does not work
	asked  []string        // contents that it was asked about
	wait   chan struct{}   // it answers once this is closed; nil for at once
}

// consume gives a world a consumer, which all its manifests ask.
func consume(t *testing.T, names ...string) *consumer {
	t.Helper()
	c := &consumer{world: start(t, names...), broken: map[string]bool{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	for i := range c.cfg.Manifests {
		c.cfg.Manifests[i].Probe = config.Probe{URL: server.URL + "/{manifest}", Status: 200, Within: 300 * time.Millisecond, Every: 20 * time.Millisecond}
	}
	return c
}

func (c *consumer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content := c.content(strings.TrimPrefix(r.URL.Path, "/"))
	c.mu.Lock()
	c.asked = append(c.asked, content)
	isBroken, wait := c.broken[content], c.wait
	c.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-r.Context().Done():
		}
	}
	if isBroken {
		w.WriteHeader(http.StatusInternalServerError)
	}
	fmt.Fprintf(w, "serving %s for %s", content, r.URL.Query())
}

func (c *consumer) breaks(contents ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, content := range contents {
		c.broken[content] = true
	}
}

func (c *consumer) mends(content string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.broken, content)
}

// about counts how often it was asked about a content.
func (c *consumer) about(content string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, asked := range c.asked {
		if asked == content {
			n++
		}
	}
	return n
}

// holds makes the consumer wait with its answers, until the returned function is called.
func (c *consumer) holds() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := make(chan struct{})
	c.wait = wait
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wait = nil
		close(wait)
	}
}

// brings publishes a release of manifests, whose content names it.
func (c *consumer) brings(release string, names ...string) {
	for _, name := range names {
		c.publish(name, release, name+" "+release)
	}
}

func (c *consumer) engine() *Engine {
	e := c.open()
	c.Cleanup(func() { must(c.T, e.Close()) })
	return e
}

func syncOf(t *testing.T, e *Engine, names ...string) report.Sync {
	t.Helper()
	result, err := operation.Sync.Do(t.Context(), e.Operations(), request.Sync{Manifests: names, Demand: true, Trigger: request.TriggerCommand})
	must(t, err)
	return result
}

// outcome is the result of a manifest in short.
func outcome(result report.Sync, name string) string {
	for _, m := range result.Manifests {
		if m.Name == name {
			return fmt.Sprintf("%s %s %s", m.Release, m.Result, m.Reason)
		}
	}
	return "none"
}

func (c *consumer) wants(what, want, got string) {
	c.Helper()
	if want != got {
		c.Errorf("%s: %q, want %q", what, got, want)
	}
}

// one is a consumer of one manifest with a proven release. It breaks with the next one.
func one(t *testing.T) (*consumer, *Engine) {
	c := consume(t, "one")
	e := c.engine()
	c.wants("the first release", "2026.09 updated ", outcome(syncOf(t, e), "one"))
	c.brings("2026.10", "one")
	c.breaks("one 2026.10")
	return c, e
}

func statusOf(t *testing.T, e *Engine, name string) report.ManifestStatus {
	t.Helper()
	s, err := e.Status()
	must(t, err)
	return state(t, s, name)
}

func TestAReleaseThatBreaksTheConsumerGoesBackOnce(t *testing.T) {
	c := consume(t, "one")
	heard := c.hear()
	e := c.engine()
	syncOf(t, e)
	if m := statusOf(t, e, "one"); m.Probe == nil || m.Probe.State != report.ProbeProven || m.State != report.StateInSync {
		t.Errorf("%+v", m)
	}
	c.brings("2026.10", "one")
	c.breaks("one 2026.10")
	result := syncOf(t, e)
	c.wants("the sync", "2026.09 refused probe", outcome(result, "one"))
	c.wants("served", "one", c.content("one"))
	if m := result.Manifests[0]; result.OK() || m.Tried != "2026.10" || !strings.Contains(m.Error, "serving one 2026.10") || !strings.Contains(m.Error, "went back to 2026.09") {
		t.Errorf("%+v", m)
	}
	m := statusOf(t, e, "one")
	if m.State != report.StateQuarantined || m.Reason != string(refusal.Probe) || m.Quarantined == nil || m.Quarantined.Release != "2026.10" || m.HeldFrom != "2026.10" ||
		m.Probe.State != report.ProbeProven || m.Probe.Undone != "2026.10" {
		t.Errorf("%+v, %+v", m, m.Probe)
	}
	e.Hooks.Rest(t.Context())
	if back := heard.events("rolled_back"); len(back) != 1 || back[0]["cause"] != "probe" || back[0]["reason"] != "probe" || back[0]["release"] != "2026.09" || back[0]["error"] == "" {
		t.Errorf("%v", back)
	}
	if proven := heard.events("proven"); len(proven) != 2 || proven[1]["release"] != "2026.09" || proven[1]["previous"] == proven[1]["revision"] {
		t.Errorf("%v", proven)
	}

	// Neither the schedule, nor a command, nor force, nor a pin tries it again.
	before := c.about("one 2026.10")
	for name, req := range map[string]request.Sync{"schedule": {}, "command": {Demand: true}, "force": {Force: true, Demand: true}} {
		if _, err := operation.Sync.Do(t.Context(), e.Operations(), req); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, pinned := range []string{"2026.10", "2026.09", ""} {
		order := request.Order{Manifests: []string{"one"}, Release: pinned, Trigger: request.TriggerPin}
		if pinned == "" {
			order.Trigger = request.TriggerUnpin
		}
		_, err := operation.Order.Do(t.Context(), e.Operations(), order)
		must(t, err)
		syncOf(t, e)
	}
	if _, err := operation.Rollback.Do(t.Context(), e.Operations(), request.Rollback{}); err == nil || !strings.Contains(err.Error(), "activate --again one") {
		t.Errorf("a rollback: %v", err)
	}
	if _, err := operation.Rollback.Do(t.Context(), e.Operations(), request.Rollback{Generation: 2}); refusal.ReasonOf(err) != refusal.Probe {
		t.Errorf("a rollback to it: %v", err)
	}
	c.wants("served", "one", c.content("one"))
	if asked := c.about("one 2026.10"); asked != before {
		t.Errorf("it was tried again: asked %d times, then %d", before, asked)
	}

	again := request.Activate{Names: []string{"one"}, Again: true, Trigger: request.TriggerActivate}
	result, err := operation.Activate.Do(t.Context(), e.Operations(), again)
	must(t, err)
	c.wants("again", "2026.09 refused probe", outcome(result, "one"))
	c.wants("served", "one", c.content("one"))
	if c.about("one 2026.10") == before {
		t.Error("activate --again did not try it")
	}
	c.mends("one 2026.10")
	result, err = operation.Activate.Do(t.Context(), e.Operations(), again)
	must(t, err)
	c.wants("again, once it works", "2026.10 updated ", outcome(result, "one"))
	if m := statusOf(t, e, "one"); m.State != report.StateInSync || m.Probe.State != report.ProbeProven || m.HeldFrom != "" {
		t.Errorf("%+v", m)
	}
	c.wants("unchanged", "2026.10 unchanged ", outcome(syncOf(t, e), "one"))
}

func TestAnotherRevisionIsTried(t *testing.T) {
	c, e := one(t)
	syncOf(t, e)
	c.publish("one", "2026.10", "mended")
	c.wants("other bytes", "2026.10 updated ", outcome(syncOf(t, e), "one"))
	c.brings("2026.11", "one")
	c.breaks("one 2026.11")
	c.wants("broken", "2026.10 refused probe", outcome(syncOf(t, e), "one"))
	c.brings("2026.12", "one")
	c.wants("a newer release", "2026.12 updated ", outcome(syncOf(t, e), "one"))
}

func TestTheFirstReleaseStays(t *testing.T) {
	c := consume(t, "one")
	e := c.engine()
	c.breaks("one")
	c.wants("the sync", "2026.09 refused probe", outcome(syncOf(t, e), "one"))
	m := statusOf(t, e, "one")
	if m.State != report.StateInSync || m.Probe.State != report.ProbeFailed || !strings.Contains(m.Explanation, "the consumer does not work with 2026.09") || !strings.Contains(m.Explanation, "it stays, because nothing of one was served before") {
		t.Errorf("%+v, %+v", m, m.Probe)
	}
	before := c.about("one")
	c.wants("the next sync", "2026.09 unchanged ", outcome(syncOf(t, e), "one"))
	if c.about("one") != before {
		t.Error("it was asked again")
	}
	c.mends("one")
	again := request.Activate{Names: []string{"one"}, Again: true, Trigger: request.TriggerActivate}
	result, err := operation.Activate.Do(t.Context(), e.Operations(), again)
	must(t, err)
	c.wants("again", "2026.09 unchanged ", outcome(result, "one"))
	if m := statusOf(t, e, "one"); m.Probe.State != report.ProbeProven {
		t.Errorf("%+v", m.Probe)
	}
}

func TestTheRollbackStaysIfTheOldRevisionFailsToo(t *testing.T) {
	c, e := one(t)
	c.breaks("one")
	c.wants("the sync", "2026.09 refused probe", outcome(syncOf(t, e), "one"))
	c.wants("served", "one", c.content("one"))
	if m := statusOf(t, e, "one"); m.Probe.State != report.ProbeFailed || !strings.Contains(m.Explanation, "the consumer does not work with 2026.09 either") {
		t.Errorf("%+v, %+v", m, m.Probe)
	}
}

func TestAGroupGoesBackAsAWhole(t *testing.T) {
	c := consume(t, "one", "two", "three", "alone")
	c.cfg.Groups = []config.Group{{Name: "g", Manifests: []string{"one", "two", "three"}}}
	c.cfg.Manifests[2].Probe = config.Probe{} // three has none
	c.hear()
	e := c.engine()
	syncOf(t, e)
	c.brings("2026.10", "one", "two", "three", "alone")
	c.breaks("one 2026.10")
	result := syncOf(t, e)
	for name, want := range map[string]string{
		"one": "2026.09 refused probe", "two": "2026.09 refused probe", "three": "2026.09 refused probe", "alone": "2026.10 updated ",
	} {
		c.wants(name, want, outcome(result, name))
	}
	quarantined := 0
	for _, name := range []string{"one", "two", "three"} {
		c.wants("served of "+name, name, c.content(name))
		if m := statusOf(t, e, name); m.Quarantined != nil {
			quarantined++
		} else if m.Staged == nil || !strings.Contains(m.Blocked, "the probe refused one") {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if quarantined != 1 {
		t.Errorf("%d are quarantined", quarantined)
	}
	syncOf(t, e)
	if e.HasDue(time.Now()) {
		t.Error("a part of the group is to go live")
	}
	c.mends("one 2026.10")
	result, err := operation.Activate.Do(t.Context(), e.Operations(), request.Activate{Names: []string{"g"}, Again: true, Trigger: request.TriggerActivate})
	must(t, err)
	for _, name := range []string{"one", "two", "three"} {
		c.wants("again "+name, "2026.10 updated ", outcome(result, name))
	}
}

func TestAViewAndItsExportFollowTheRollback(t *testing.T) {
	c := consume(t, "one")
	c.cfg.Views = []config.View{{Name: "v", Manifests: []string{"one"}, Layout: "flat", Export: filepath.Join(t.TempDir(), "out")}}
	e := c.engine()
	syncOf(t, e)
	c.brings("2026.10", "one")
	c.breaks("one 2026.10")
	syncOf(t, e)
	for _, path := range []string{filepath.Join(c.cfg.DataDir, "current", "v", "one.dat"), filepath.Join(c.cfg.Views[0].Export, "one.dat")} {
		if text, err := os.ReadFile(path); string(text) != "one" {
			t.Errorf("%s has %q, %v", path, text, err)
		}
	}
}

// A revision that may not be used any more does not come back.
func TestNothingExpiredComesBack(t *testing.T) {
	c := consume(t, "one")
	c.publish("one", "2020.01", "old")
	c.cfg.Manifests[0].Release = "2020.01"
	e := c.engine()
	syncOf(t, e)
	cfg := *c.cfg
	cfg.Manifests = []config.Manifest{c.cfg.Manifests[0]}
	cfg.Manifests[0].Release = "latest"
	cfg.Manifests[0].Expires.After = expiry.Span{Months: 1200}
	must(t, e.Configure(&cfg))
	c.brings("2026.10", "one")
	c.breaks("one 2026.10")
	release := c.holds()
	synced := c.pending(e, "one 2026.10")
	cfg.Manifests[0].Expires.After = expiry.Span{Months: 12}
	again := cfg
	again.Manifests = []config.Manifest{cfg.Manifests[0]}
	must(t, e.Configure(&again)) // a reload asks anew
	release()
	c.wants("the sync", "2026.10 refused probe", outcome(<-synced, "one"))
	c.wants("served", "one 2026.10", c.content("one"))
	m := statusOf(t, e, "one")
	if m.Probe.State != report.ProbeFailed || !strings.Contains(m.Explanation, "it stays, because 2020.01 of one has expired") {
		t.Errorf("%+v, %+v", m, m.Probe)
	}
	before := c.about("one 2026.10")
	syncOf(t, e)
	if c.about("one 2026.10") != before {
		t.Error("it was asked again")
	}
}

// pending runs a sync whose probe waits, and returns when the consumer was asked.
func (c *consumer) pending(e *Engine, content string) (result <-chan report.Sync) {
	done := make(chan report.Sync, 1)
	go func() {
		result, _ := operation.Sync.Do(c.Context(), e.Operations(), request.Sync{Demand: true})
		done <- result
	}()
	for c.about(content) == 0 {
		time.Sleep(time.Millisecond)
	}
	return done
}

func TestARollbackByHandEndsTheProbe(t *testing.T) {
	c, e := one(t)
	release := c.holds()
	synced := c.pending(e, "one 2026.10")
	rolled := make(chan report.Sync, 1)
	go func() {
		result, err := operation.Rollback.Do(t.Context(), e.Operations(), request.Rollback{})
		if err != nil {
			t.Error(err)
		}
		rolled <- result
	}()
	for c.content("one") != "one" {
		time.Sleep(time.Millisecond)
	}
	release()
	c.wants("the rollback", "2026.09 updated ", outcome(<-rolled, "one"))
	<-synced
	if m := statusOf(t, e, "one"); m.Quarantined != nil || m.State != report.StateHeld || m.Probe.State != report.ProbeProven {
		t.Errorf("%+v", m)
	}
}

// A release that comes during the probe replaces one without a verdict. If it fails, syncd goes
// back step by step, and asks about each.
func TestANewerReleaseEndsTheProbe(t *testing.T) {
	for name, row := range map[string]struct{ then, served string }{
		"the one before works":         {"2026.10 refused probe", "one 2026.10"},
		"the one before does not work": {"2026.09 refused probe", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			c, e := one(t)
			c.cfg.Retain = 0
			must(t, e.Configure(c.cfg))
			if row.served == "one 2026.10" {
				c.mends("one 2026.10")
			}
			c.breaks("one 2026.11")
			release := c.holds()
			first := c.pending(e, "one 2026.10")
			c.brings("2026.11", "one")
			second := c.pending(e, "one 2026.11")
			if got := (withheld{e.mirror, e.notes}).Current().Records["one"].Release; got != "2026.09" {
				t.Errorf("other hosts get %s", got)
			}
			release()
			c.wants("the second", row.then, outcome(<-second, "one"))
			<-first
			c.wants("served", row.served, c.content("one"))
			c.wants("the next sync", row.then, outcome(syncOf(t, e), "one"))
			c.brings("2026.12", "one")
			c.wants("a newer release", "2026.12 updated ", outcome(syncOf(t, e), "one"))
		})
	}
}

func TestAReloadThatRemovesTheProbeEndsIt(t *testing.T) {
	c, e := one(t)
	release := c.holds()
	defer release()
	synced := c.pending(e, "one 2026.10")
	cfg := *c.cfg
	cfg.Manifests = []config.Manifest{c.cfg.Manifests[0]}
	cfg.Manifests[0].Probe = config.Probe{}
	must(t, e.Configure(&cfg))
	c.wants("the sync", "2026.10 updated ", outcome(<-synced, "one"))
	if m := statusOf(t, e, "one"); m.Probe != nil || m.State != report.StateInSync {
		t.Errorf("%+v", m)
	}
	must(t, e.Configure(c.cfg)) // what was served before has no probe
	c.wants("with a probe again", "2026.10 unchanged ", outcome(syncOf(t, e), "one"))
	c.wants("served", "one 2026.10", c.content("one"))
}

// What a process leaves without a verdict, the next one asks about.
func TestARestartContinuesTheProbe(t *testing.T) {
	for name, breaks := range map[string]bool{"works": false, "does not work": true} {
		t.Run(name, func(t *testing.T) {
			c := consume(t, "one")
			e := c.open()
			syncOf(t, e)
			c.brings("2026.10", "one")
			if breaks {
				c.breaks("one 2026.10")
			}
			release := c.holds()
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := operation.Sync.Do(ctx, e.Operations(), request.Sync{Demand: true})
				done <- err
			}()
			for c.about("one 2026.10") == 0 {
				time.Sleep(time.Millisecond)
			}
			stop()
			<-done
			must(t, e.Close())
			release()
			c.wants("served", "one 2026.10", c.content("one"))
			again := c.open()
			if m := statusOf(t, again, "one"); m.Probe.State != report.ProbePending || !strings.Contains(m.Explanation, "the probe has no verdict about 2026.10 yet") {
				t.Errorf("%+v", m)
			}
			ctx, stop = context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				again.Probes.Run(ctx)
			}()
			for statusOf(t, again, "one").Probe.State == report.ProbePending {
				time.Sleep(time.Millisecond)
			}
			stop()
			<-ended
			want := "one 2026.10"
			if breaks {
				want = "one"
			}
			c.wants("served", want, c.content("one"))
			must(t, again.Close())
		})
	}
}

// Other hosts get a revision only after its verdict.
func TestOtherHostsGetNothingWithoutAVerdict(t *testing.T) {
	c := consume(t, "one")
	c.cfg.Serve = config.Serve{Listen: "127.0.0.1:0"}
	e := c.engine()
	syncOf(t, e)
	shown := func() string {
		var all []string
		for _, r := range e.Followers.Catalog().Snapshot().Shown("one", catalog.Sees(nil)) {
			all = append(all, string(r.Release))
		}
		return strings.Join(all, " ")
	}
	c.wants("first", "2026.09", shown())
	uploaded := func() string {
		return string(withheld{e.mirror, e.notes}.Current().Records["one"].Release)
	}
	for _, row := range []struct{ release, breaks, while, then string }{
		{"2026.10", "", "2026.09", "2026.10"},
		{"2026.11", "one 2026.11", "2026.10", "2026.10"},
	} {
		c.brings(row.release, "one")
		c.breaks(row.breaks)
		release := c.holds()
		synced := c.pending(e, "one "+row.release)
		c.wants("served while it is asked", "one "+row.release, c.content("one"))
		if got := shown(); strings.Contains(got, row.release) {
			t.Errorf("shown while it is asked: %s", got)
		}
		c.wants("uploaded while it is asked", row.while, uploaded())
		release()
		<-synced
		if got := shown(); strings.Contains(got, row.release) != (row.breaks == "") {
			t.Errorf("shown then: %s", got)
		}
		c.wants("uploaded then", row.then, uploaded())
	}
}

func TestProbeNowChangesNothing(t *testing.T) {
	c, e := one(t)
	ask := func(names ...string) (report.Probes, error) {
		return operation.Probe.Do(t.Context(), e.Operations(), request.Probe{Manifests: names})
	}
	before := e.mirror.Current().Number
	probes, err := ask()
	must(t, err)
	if len(probes.Probes) != 1 || !probes.OK() || probes.Probes[0].Release != "2026.09" {
		t.Errorf("%+v", probes)
	}
	c.breaks("one")
	if probes, err = ask("one"); err != nil || probes.OK() || !strings.Contains(probes.Probes[0].Error, "serving one") {
		t.Errorf("%+v, %v", probes, err)
	}
	m := statusOf(t, e, "one")
	if diff := cmp.Diff(report.ProbeProven, m.Probe.State); diff != "" || e.mirror.Current().Number != before {
		t.Errorf("%+v, generation %d", m.Probe, e.mirror.Current().Number)
	}
	if _, err := ask("other"); err == nil {
		t.Error("an unknown manifest was asked about")
	}
}

// The consumer cannot put escape sequences, lines or the Customer ID into what syncd shows.
func TestAnAnswerIsShownPlainly(t *testing.T) {
	c := consume(t, "one")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "first\n\x1b[2Jcustomer-id customer%%2Did\r\u202eevil\x00\nlast")
	}))
	defer evil.Close()
	c.cfg.Manifests[0].Probe.URL = evil.URL
	heard := c.hear()
	e := c.engine()
	result := syncOf(t, e)
	m := statusOf(t, e, "one")
	e.Hooks.Rest(t.Context())
	told := fmt.Sprint(result, m.Probe, heard.events("proven"), c.log.String())
	for _, secret := range []string{"customer-id", "customer%2Did", "\x1b", "\u202e", "\x00"} {
		if strings.Contains(told, secret) {
			t.Errorf("%q is shown: %s", secret, told)
		}
	}
	if !strings.Contains(m.Probe.Error, "first") || len(m.Probe.Lines) != 3 {
		t.Errorf("%+v", m.Probe)
	}
}
