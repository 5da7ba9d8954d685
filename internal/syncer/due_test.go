package syncer_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/report/request"
)

// The time of an upstream reaches no more than what it destroyed itself does.
func TestTheTimeOfAHostileUpstreamReachesOnlyWhatItGave(t *testing.T) {
	w := start(t, "data")
	w.cfg.Retain = 9
	u := w.behindUpstream()
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "a"), []byte("mine"), 0o600))
	w.publish("data", "2026.09", files{"a": "mine", "b": "theirs"})
	_, err := w.syncer.Adopt(t.Context(), request.Adopt{Folder: folder})
	must(t, err)
	w.restart()
	w.poll()
	for _, release := range []string{"2026.10", "2026.11"} {
		w.publish("data", release, files{"a": release, "b": "theirs"})
		w.poll()
	}
	u.says("after=1")
	w.poll()
	w.at(time.Now().Add(time.Hour))
	must(t, w.destroyer().DestroyDue(t.Context()))
	equal(t, "on disk", w.onDisk("data"), []string{"2026.09", "2026.11"})
}
