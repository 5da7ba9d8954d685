package progress

import (
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/report"
)

const mib = 1 << 20

// A resumed file has bytes on disk that an earlier sync received.
func TestSpeedCountsOnlyReceivedBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Tracker
		defer p.Begin(t.Context(), "start", time.Now(), []string{"data"})()
		p.SetFiles("data", 1)
		p.SetBytes("data", 1000*mib)
		p.SetPhase("data", report.PhaseDownloading)
		d := p.StartDownload("data", "a.dat", 1000*mib)
		d.Move(0, 900*mib)
		time.Sleep(10 * time.Second)
		d.Move(10*mib, 910*mib)

		s := p.Snapshot()
		if f := s.Files[0]; f.Done != 910*mib || f.BytesPerSecond != mib || f.SecondsLeft != 90 {
			t.Errorf("file %+v, want 1 MiB/s and 90 s left", f)
		}
		if m := s.Manifests[0]; m.BytesDone != 910*mib || m.BytesPerSecond != mib || m.SecondsLeft != 90 {
			t.Errorf("manifest %+v, want 1 MiB/s and 90 s left", m)
		}
		if total := s.Total(); total.BytesDone != 910*mib || total.BytesPerSecond != mib || total.SecondsLeft != 90 {
			t.Errorf("total %+v, want 1 MiB/s and 90 s left", total)
		}
	})
}

func TestUnknownSizesHaveNoTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Tracker
		defer p.Begin(t.Context(), "start", time.Now(), []string{"data"})()
		p.SetPhase("data", report.PhaseDownloading)
		d := p.StartDownload("data", "a.dat", -1)
		time.Sleep(time.Second)
		d.Move(mib, mib)
		s := p.Snapshot()
		if f := s.Files[0]; f.Size != -1 || f.BytesPerSecond != mib || f.SecondsLeft != 0 {
			t.Errorf("file %+v, want 1 MiB/s and no time left", f)
		}
		if total := s.Total(); total.BytesTotal != mib || total.SecondsLeft != 0 {
			t.Errorf("total %+v, want at least what is done, and no time left", total)
		}
	})
}

func TestSpeedIsTheMeanOfTheLastSeconds(t *testing.T) {
	var s speed
	now := time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)
	if got := s.perSecond(now, 100); got != 0 {
		t.Errorf("at the start %v", got)
	}
	for second := range 60 { // 10 a second
		s.perSecond(now.Add(time.Duration(second)*time.Second), 100+10*int64(second))
	}
	if got := s.perSecond(now.Add(60*time.Second), 100+600); got != 10 {
		t.Errorf("steady: %v, want 10", got)
	}
	for second := 61; second <= 120; second++ { // stalled
		s.perSecond(now.Add(time.Duration(second)*time.Second), 700)
	}
	if got := s.perSecond(now.Add(121*time.Second), 700); got != 0 || len(s.samples) > 30 {
		t.Errorf("stalled: %v, want 0, of %d samples", got, len(s.samples))
	}
}
