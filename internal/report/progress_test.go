package report

import "testing"

func TestTotalAddsUpAllManifests(t *testing.T) {
	s := Progress{Manifests: []ManifestProgress{
		{FilesTotal: 3, FilesDone: 1, BytesTotal: 100, BytesDone: 40, BytesPerSecond: 2, SecondsLeft: 30},
		{FilesTotal: 1, BytesTotal: 60, BytesDone: 0, BytesPerSecond: 4, SecondsLeft: 15},
	}}
	want := Total{FilesTotal: 4, FilesDone: 1, BytesTotal: 160, BytesDone: 40, BytesPerSecond: 6, SecondsLeft: 20}
	if got := s.Total(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
