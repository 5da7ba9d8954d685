package golive_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// deliveries is what `deliveries --json` prints.
type deliveries struct {
	Deliveries []struct{ ID, Hook, Event, Manifest, State, Error string }
}

func deliveriesOf(h *e2e.Host, args ...string) (d deliveries) {
	h.Helper()
	out := h.Expect(0, append([]string{"deliveries", "--json"}, args...)...)
	h.Must(json.Unmarshal([]byte(out.Stdout), &d))
	return d
}

func TestAReceiverThatIsDownForThreeRestartsGetsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	r := e2e.NewReceiver(h)
	h.ConfigureWith(e2e.HookText(r, "activated, rolled_back, failed, recovered"))
	var want []string
	for i, release := range []string{"2026.08", "2026.09", "2026.10"} {
		h.Offer(release)
		p := h.Daemon()
		p.Logged("delivery failed, it is tried again")
		p.Logged("sync")
		want = append(want, "activated "+release)
		if i == 1 {
			h.Expect(0, "rollback")
			want = append(want, "rolled_back 2026.08")
		}
		p.Signal(os.Kill)
		p.Wait()
	}
	d := deliveriesOf(h)
	e2e.Same(h, "waiting", len(want), len(d.Deliveries))
	r.Up()
	p := h.Daemon()
	r.Wants(want...)
	for i, e := range d.Deliveries {
		e2e.Same(h, "ID", e.ID, r.Received[i].ID)
		e2e.Same(h, "state", "pending", e.State)
	}
	h.Eventually("an empty outbox", func() bool { return len(deliveriesOf(h).Deliveries) == 0 })
	p.Terminate()
	if text := p.Stderr.String() + h.Expect(0, "status", "--json").Stdout; strings.Contains(text, "s3cret") || strings.Contains(text, e2e.HookSecret) {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

func TestASlowHookNeverDelaysASync(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	r := e2e.NewReceiver(h)
	r.Up()
	h.ConfigureWith(e2e.HookText(r, "activated") + "  - {on: activated, command: [/bin/sh, -c, 'echo >>\"$0\"; exec sleep 1000', " + h.Path("slow") + "], timeout: 1h}\n")
	h.Offer("2026.08")
	p := h.Daemon()
	h.Eventually("the slow command", func() bool { _, err := os.Stat(h.Path("slow")); return err == nil })
	for _, release := range []string{"2026.09", "2026.10"} {
		h.Offer(release)
		h.Sync(0)
		e2e.Same(h, "release", release, h.Status().Manifests[0].Release)
	}
	r.Wants("activated 2026.08", "activated 2026.09", "activated 2026.10")
	p.Terminate() // ends the command
	e2e.Same(h, "deliveries of the slow hook", 3, len(deliveriesOf(h).Deliveries))
}

func TestDeliveriesCanBeTriedAgainAndDropped(t *testing.T) {
	t.Parallel()
	for name, besideDaemon := range map[string]bool{"no daemon": false, "a daemon": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t, "m").WithRace()
			r := e2e.NewReceiver(h)
			h.ConfigureWith(e2e.HookText(r, "activated"))
			h.Offer("2026.08")
			h.Sync(0)
			h.Offer("2026.09")
			h.Sync(0)
			if besideDaemon {
				h.Daemon().Logged("delivery failed, it is tried again")
			}
			d := deliveriesOf(h)
			e2e.Same(h, "waiting", 2, len(d.Deliveries))
			left := deliveriesOf(h, "--drop", d.Deliveries[0].ID)
			e2e.Same(h, "left", 1, len(left.Deliveries))
			h.Expect(1, "deliveries", "--drop", d.Deliveries[0].ID)
			h.Expect(1, "deliveries", "--retry", d.Deliveries[1].ID, "--hook", "other")
			h.Expect(2, "deliveries", "--retry", "a", "--drop", "b")
			r.Up()
			h.Syncd("deliveries", "--retry", d.Deliveries[1].ID) // a daemon may have been faster
			r.Wants("activated 2026.09")
		})
	}
}

func TestACommandHookGetsNoSecretAndItsFailureIsShown(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	h.Environ = []string{"SYNCD_CUSTOMER_ID=" + e2e.CustomerID, "MD_LICENSE=" + e2e.CustomerID, "OTHER=" + e2e.CustomerID}
	h.Settings.ID = "customer_id_param: id"
	script := `env >"$0"; cat ` + h.Path("id") + `; exit 7`
	h.ConfigureWith("hooks:\n  - {on: activated, name: reload, command: [/bin/sh, -c, '" + script + "', " + h.Path("env") + "]}\n")
	h.Offer("2026.08")
	h.Sync(0)
	env := h.Read("env")
	h.SecretFree("the environment of the hook", string(env))
	if !strings.Contains(string(env), "SYNCD_EVENT=activated\n") {
		t.Errorf("environment %s", env)
	}
	out := h.Expect(0, "status").Stdout + h.Expect(0, "explain").Stdout // secret-free, although the command prints the ID
	if strings.Count(out, "exit status 7") != 2 || !strings.Contains(out, "reload") {
		t.Errorf("status %s", out)
	}
	h.Must(os.Remove(h.Path("env")))
}

func TestALostStateTellsWhatIsServedAgain(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	r := e2e.NewReceiver(h)
	r.Up()
	h.ConfigureWith(e2e.HookText(r, "activated"))
	h.Offer("2026.08")
	h.Sync(0)
	h.Must(os.Remove(h.Data + "/state/syncd.db"))
	h.Expect(0, "sync", "m")
	r.Wants("activated 2026.08", "activated 2026.08")
}

func TestAHookWithAnUnusableSecretIsAConfigurationError(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m").WithRace()
	r := e2e.NewReceiver(h)
	h.ConfigureWith(e2e.HookText(r, "activated"))
	h.Write("hook_secret", "not base64: "+e2e.HookSecret, 0o600)
	h.Offer("2026.08")
	for _, command := range [][]string{{"sync"}, {"run"}, {"config", "check"}} {
		out := h.Expect(2, command...)
		if !strings.Contains(out.Stderr, "hooks[0].secret_file") || strings.Contains(out.Stderr, e2e.HookSecret) {
			t.Errorf("%v: %s", command, out.Stderr)
		}
	}
}
