package report

import (
	"strings"
	"testing"
	"time"
)

func TestAnExportThatDoesNotFollowSaysWhy(t *testing.T) {
	for name, row := range map[string]struct {
		export ExportStatus
		served int
		want   string
	}{
		"in sync":         {ExportStatus{State: ExportInSync, Generation: 3}, 3, ""},
		"behind":          {ExportStatus{State: ExportBehind, Generation: 3}, 5, "it shows generation 3, and 5 is served"},
		"pending":         {ExportStatus{State: ExportPending}, 5, "nothing is exported yet: `syncd sync`"},
		"nothing served":  {ExportStatus{State: ExportPending}, 0, "because nothing is served"},
		"failed":          {ExportStatus{State: ExportFailed, Error: "disk on\nfire"}, 5, "disk on fire"},
		"refused earlier": {ExportStatus{State: ExportRefused, Error: "is a symlink"}, 5, "is a symlink"},
	} {
		s := Status{Generation: row.served, Exports: []ExportStatus{row.export}}
		s.Explain(time.Now())
		if got := s.Exports[0].Explanation; !strings.Contains(got, row.want) || row.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
