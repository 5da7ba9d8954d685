package progress

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestASyncIsSilentOnlyWhileItWaitsForTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Tracker
		silence := func(want ...time.Duration) {
			t.Helper()
			var got []time.Duration
			for _, w := range p.Waits() {
				got = append(got, time.Since(w.Since))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("silent waits (-want +got):\n%s", diff)
			}
		}
		time.Sleep(time.Hour) // spent on the disk
		silence()
		answered := p.Ask("data")
		time.Sleep(time.Minute)
		silence(time.Minute)
		answered()
		silence()
		d := p.StartDownload("data", "a.dat", 10)
		time.Sleep(time.Hour) // reading an unfinished download
		silence()
		d.Move(0, 5)
		time.Sleep(time.Minute)
		silence(time.Minute)
		other := p.StartDownload("other", "b.dat", 10)
		other.Move(1, 1)
		silence(time.Minute, 0)
		d.Move(5, 10)
		silence(0, 0)
		d.Received()
		time.Sleep(time.Hour) // hashing it
		silence(time.Hour)
		d.Finish()
		other.Finish()
		silence()
	})
}
