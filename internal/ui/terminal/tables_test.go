package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"syncd/internal/report"
)

func TestStatusShowsProgressDuringASync(t *testing.T) {
	var out bytes.Buffer
	err := PrintStatus(&out, report.Status{Manifests: []report.ManifestStatus{
		{Name: "first", State: report.StateSyncing, Explanation: "syncing: 1 of 2 files", Error: "an old error"},
		{Name: "second", State: report.StateFailed, Error: "status 503"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"generation  none yet\n", "\nfirst: syncing: 1 of 2 files\n", "\nsecond: status 503\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "an old error") {
		t.Errorf("an error of an earlier sync in:\n%s", text)
	}
}

func TestAFirstSyncThatStagesSaysThatNothingIsServed(t *testing.T) {
	staged := report.ManifestResult{Name: "data", Result: report.Unchanged, Staged: &report.StagedRevision{Release: "2026.10", Revision: "abc"}, NewlyStaged: true}
	for release, want := range map[string]string{"": "; nothing is served yet", "2026.09": "; 2026.09-0123 stays"} {
		if staged.Release = release; release != "" {
			staged.Revision = "0123"
		}
		if line := manifestLine(staged, false); !strings.HasSuffix(line, want) {
			t.Errorf("%q: %s", release, line)
		}
	}
	var out bytes.Buffer
	PrintActivation(&out, report.Sync{Manifests: []report.ManifestResult{{Name: "data"}}}, true)
	if text := out.String(); !strings.Contains(text, "data  dropped what was staged; nothing is served yet\n") {
		t.Error(text)
	}
}

func TestFleetSaysWhatAHostIsBehind(t *testing.T) {
	behind := report.Following{Release: "2026.10", State: report.FollowerBehind, Offered: "2026.11"}
	if text := fleetState(behind); text != "behind (2026.11 is offered)" {
		t.Error(text)
	}
	behind.Release = behind.Offered
	if text := fleetState(behind); text != "behind (newer files of it are offered)" {
		t.Error(text)
	}
}

func TestStatusSaysWhyAnExportIsBehind(t *testing.T) {
	s := report.Status{Generation: 5, Exports: []report.ExportStatus{{View: "refdata", Path: "/srv/refdata", Generation: 3, State: report.ExportBehind}}}
	s.Explain(time.Now())
	var out bytes.Buffer
	if err := PrintStatus(&out, s); err != nil || !strings.Contains(out.String(), "\nrefdata: it shows generation 3, and 5 is served") {
		t.Error(err, out.String())
	}
}
