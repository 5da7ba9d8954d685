package terminal

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vbauerster/mpb/v8/decor"

	"syncd/internal/report"
)

const mib = 1 << 20

func unredacted(b []byte) []byte { return b }

// resumed is a sync that has 900 MiB of an earlier one and receives 1 MiB/s.
func resumed() report.Progress {
	return report.Progress{
		Syncing: true,
		Manifests: []report.ManifestProgress{{
			Name: "data", Phase: report.PhaseDownloading, FilesTotal: 1, BytesTotal: 1000 * mib, BytesDone: 910 * mib, BytesPerSecond: mib, SecondsLeft: 90,
		}},
		Files: []report.FileProgress{{Manifest: "data", Path: "a.dat", Size: 1000 * mib, Done: 910 * mib, BytesPerSecond: mib, SecondsLeft: 90}},
	}
}

func TestLinesShowTheEnginesFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, unredacted)
		defer p.Close()
		before := resumed()
		before.Manifests[0].BytesDone = 0 // before the resumed bytes were counted
		time.Sleep(lineInterval)
		p.Show(before)
		time.Sleep(lineInterval)
		p.Show(resumed())
		if want := "syncd: 0 of 1 files, 910 MiB of 1000 MiB, 1.0 MiB/s, 1m30s left\n"; !strings.HasSuffix(out.String(), want) {
			t.Errorf("got  %q\nwant %q", out.String(), want)
		}
	})
}

func TestLinesShowWhatIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, unredacted)
		defer p.Close()
		began := time.Now()
		for i := range 100 { // 10 s
			p.Show(report.Progress{Syncing: true, Retry: &report.Retry{
				Manifest: "data", Error: "connection refused", Attempt: i + 1, Since: began, NextAt: time.Now().Add(2 * time.Second),
			}})
			time.Sleep(100 * time.Millisecond)
		}
		want := "syncd: data: attempt 1 failed, next attempt in 2s: connection refused\n" +
			"syncd: data: attempt 51 failed, next attempt in 2s: connection refused\n"
		if out.String() != want {
			t.Errorf("got  %q\nwant %q", out.String(), want)
		}
	})
}

func TestBarsShowTheEnginesFigures(t *testing.T) {
	b := newBars(os.Stderr, unredacted)
	defer b.Close()
	b.Show(resumed())
	for name, figures := range map[string]*figures{"file": b.files["data/a.dat"].figures, "total": b.all.figures} {
		var got []string
		for _, decorator := range figures.decorators() {
			text, _ := decorator.Decor(decor.Statistics{Current: 910 * mib, Total: 1000 * mib})
			got = append(got, strings.TrimSpace(text))
		}
		if got, want := strings.Join(got, "|"), "910.0 MiB / 1000.0 MiB|1.0 MiB/s|1m30s"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
