package report

import (
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// A resumed file has bytes on disk that an earlier sync received.
func TestSpeedCountsOnlyReceivedBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		defer p.Begin("start", time.Now(), []string{"data"})()
		p.SetFiles("data", 1)
		p.SetBytes("data", 1000*mib)
		p.SetPhase("data", PhaseDownloading)
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

func TestTotalAddsUpAllManifests(t *testing.T) {
	s := Snapshot{Manifests: []ManifestProgress{
		{FilesTotal: 3, FilesDone: 1, BytesTotal: 100, BytesDone: 40, BytesPerSecond: 2, SecondsLeft: 30},
		{FilesTotal: 1, BytesTotal: 60, BytesDone: 0, BytesPerSecond: 4, SecondsLeft: 15},
	}}
	want := Total{FilesTotal: 4, FilesDone: 1, BytesTotal: 160, BytesDone: 40, BytesPerSecond: 6, SecondsLeft: 20}
	if got := s.Total(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnknownSizesHaveNoTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		defer p.Begin("start", time.Now(), []string{"data"})()
		p.SetPhase("data", PhaseDownloading)
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
