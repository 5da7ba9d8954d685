package report

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestASyncIsSilentOnlyWhileItWaitsForTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		silence := func(want time.Duration, wantAsking bool) {
			t.Helper()
			since, asking := p.SilentSince()
			if since.IsZero() && want >= 0 || !since.IsZero() && time.Since(since) != want || asking != wantAsking {
				t.Errorf("silent since %v, asking %v; want %v, %v", since, asking, want, wantAsking)
			}
		}
		defer p.Begin("start", time.Now(), []string{"data"})()
		time.Sleep(time.Hour) // spent on the disk
		silence(-1, false)
		answered := p.Ask()
		time.Sleep(time.Minute)
		silence(time.Minute, true)
		p.Moved() // a retry
		silence(0, true)
		answered()
		time.Sleep(time.Hour)
		d := p.StartDownload("data", "a.dat", 10)
		time.Sleep(time.Minute)
		silence(time.Minute, false)
		d.Move(1, 1)
		silence(0, false)
		d.Finish()
		silence(-1, false)
	})
}
