package terminal

import (
	"bytes"
	"strings"
	"testing"

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
