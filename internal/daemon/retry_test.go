package daemon

import (
	"testing"
	"time"

	"syncd/internal/emulator"
)

// Without data somebody waits: the schedule may be an hour away, or a week.
func TestAFirstSyncThatFailsIsTriedAgainSoon(t *testing.T) {
	w := start(t, "one", "two")
	w.cfg.Source.Retry.MaxElapsed = 50 * time.Millisecond
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Manifest/*/one"})
	r := w.run()
	w.eventually("one has failed and two is served", func() bool { return w.logged(syncLogged) == 1 && w.content("two") == "two" })
	w.eventually("one is due soon", func() bool {
		status, err := r.Status()
		must(t, err)
		next := state(t, status, "one").NextSync
		return next != nil && time.Until(*next) <= time.Minute
	})
	status, err := r.Status()
	must(t, err)
	if next := state(t, status, "two").NextSync; time.Until(*next) < 2*time.Minute {
		t.Errorf("two, which is served, is due at %v", next)
	}
}
