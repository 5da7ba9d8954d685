package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAWitnessSavesWhatARestartNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var header, seenAt time.Time
		saved := 0
		save := func(h, s time.Time) { header, seenAt, saved = h, s, saved+1 }
		w := NewWitness(time.Time{}, time.Time{}, save)
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
		if p := NewWitness(header, seenAt, save).Present(); !p.Header.Equal(now.AddDate(0, 1, 0)) || !p.SeenAt.Equal(now) || !p.Clock.Equal(now) {
			t.Errorf("after a restart: %+v", p)
		}
	})
}
