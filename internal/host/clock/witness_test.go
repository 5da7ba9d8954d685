package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/manifest/expiry"
)

func TestAWitnessSavesWhatARestartNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept expiry.Present
		saved := 0
		save := func(p expiry.Present) { kept, saved = p, saved+1 }
		w := NewWitness(expiry.Present{}, save)
		if !w.Present().Header.IsZero() {
			t.Error("a header from nowhere")
		}
		now := time.Now().Round(0)
		for range 60 {
			w.Note(now)
			time.Sleep(time.Minute)
			now = time.Now().Round(0)
		}
		if saved != 4 {
			t.Errorf("saved %d times in an hour", saved)
		}
		w.Note(now.AddDate(0, 1, 0)) // another day
		if p := NewWitness(kept, save).Present(); !p.Header.Equal(now.AddDate(0, 1, 0)) || !p.SeenAt.Equal(now) || !p.Clock.Equal(now) {
			t.Errorf("after a restart: %+v", p)
		}
	})
}

// A host that only disks reach has no header. Its clock counts as far as syncd saw it go on.
func TestWithoutAHeaderTheTimeThatPassedIsAWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 366 * 24 * time.Hour) // to a time at which a clock is right
		var kept expiry.Present
		saved := 0
		save := func(p expiry.Present) { kept, saved = p, saved+1 }
		w := NewWitness(expiry.Present{}, save)
		w.Pass(false)
		if w.Present().IsCarried() || saved != 0 {
			t.Error("a host that waits for its first header counts the time")
		}
		w.Pass(true)
		begin := time.Now()
		for range 24 * 60 {
			time.Sleep(time.Minute)
			w.Pass(true)
		}
		if at := begin.Add(24 * time.Hour); !w.Present().HasCome(at) || w.Present().HasCome(at.Add(time.Minute)) {
			t.Errorf("after a day: %+v", w.Present())
		}
		if saved < 90 || saved > 100 {
			t.Errorf("saved %d times in a day", saved)
		}
		time.Sleep(time.Hour) // it was off
		w = NewWitness(kept, save)
		if !w.Present().HasCome(begin.Add(25 * time.Hour)) {
			t.Errorf("after a restart: %+v", w.Present())
		}
		w.Pass(true)
		ahead := time.Now()
		time.Sleep(366 * 24 * time.Hour) // the clock was set ahead
		w.Pass(true)
		w.Pass(true)
		if p := NewWitness(kept, save).Present(); !p.HasCome(ahead.Add(47*time.Hour)) || p.HasCome(ahead.Add(49*time.Hour)) {
			t.Errorf("after a step ahead: %+v", p)
		}
		w.Carry(time.Now().AddDate(0, 0, 1))
		if w.Present().HasCome(ahead.Add(49 * time.Hour)) {
			t.Error("a bundle from the future is a witness")
		}
		w.Carry(time.Now().Add(-time.Hour))
		if p := NewWitness(kept, save).Present(); !p.HasCome(time.Now().Add(-time.Hour)) || p.HasCome(time.Now().Add(time.Second)) {
			t.Errorf("after a bundle: %+v", p)
		}
		w.Note(time.Now())
		if p := NewWitness(kept, save).Present(); p.IsCarried() || !p.HasHeader() {
			t.Errorf("after a header: %+v", p)
		}
	})
}
