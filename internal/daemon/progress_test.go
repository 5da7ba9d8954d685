package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/report"
)

func TestTheLogSaysHowFarALongSyncIs(t *testing.T) {
	now := time.Now()
	p := report.Progress{Syncing: true, Trigger: "start", StartedAt: now.Add(-59 * time.Second), Manifests: []report.ManifestProgress{
		{Name: "one", Phase: report.PhaseDownloading, FilesTotal: 9, FilesDone: 4, BytesTotal: 900, BytesDone: 450, SecondsLeft: 30},
		{Name: "two", Phase: report.PhaseDone},
	}}
	var log strings.Builder
	writeProgress(zerolog.New(&log), p, now)
	writeProgress(zerolog.New(&log), report.Progress{}, now)
	if log.Len() > 0 {
		t.Errorf("a short sync, or none, is told of: %s", &log)
	}
	writeProgress(zerolog.New(&log), p, now.Add(time.Second))
	want := `{"level":"info","trigger":"start","seconds":60,"manifests":[{"manifest":"one","phase":"downloading","files":4,"files_total":9,"bytes":450,"bytes_total":900,"seconds_left":30}],"message":"sync goes on"}` + "\n"
	if log.String() != want {
		t.Errorf("%s\nwant\n%s", &log, want)
	}
}
