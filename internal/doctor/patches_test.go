//go:build linux

package doctor

import (
	"strings"
	"testing"

	"syncd/internal/report"
)

func TestPatchesNeedTheirRevisionsAndRoom(t *testing.T) {
	kept := report.PatchesStatus{Count: 2, Bytes: 3 << 20}
	for name, row := range map[string]struct {
		from, retain int
		room         int64
		severity     Severity
		text         string
	}{
		"sound":             {2, 2, 1, OK, "2 patches of 3.0 MiB"},
		"revisions are not": {3, 2, 1, Hint, "from 3 revisions before"},
		"no room":           {1, 2, -5 << 20, Hint, "lacks 5.0 MiB"},
	} {
		f := judgePatches(kept, row.from, row.retain, row.room)
		if f.Severity != row.severity || !strings.Contains(f.Text, row.text) || (f.Severity == OK) != (f.Next == "") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
