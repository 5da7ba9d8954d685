package patches

import (
	"testing"
	"time"
)

// TestPace rests in proportion to the work before it.
func TestPace(t *testing.T) {
	const work = 5 * time.Millisecond
	var p pace
	p.slow.Store(true)
	began := time.Now()
	p.rested = began.Add(-work)
	p.rest(t.Context())
	if rested := time.Since(began); rested < restShare*work {
		t.Errorf("rested %v after %v", rested, work)
	}
	if p.rested.Before(began) {
		t.Error("the next rest counts this one as work")
	}
}

// TestAPatchBesideASync is made all the same.
func TestAPatchBesideASync(t *testing.T) {
	h := newHost(t)
	h.maker.cfg.Syncing = func() bool { return true }
	old := text(1, 20_000)
	changed := with(old, "changed")
	h.publish(old)
	h.publish(changed)
	h.round()
	h.has(map[string][]byte{"old": old, "new": changed}, "-new old-new")
}
