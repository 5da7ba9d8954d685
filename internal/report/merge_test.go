package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLaterOutcomeCountsUnlessItOnlyStayed(t *testing.T) {
	for _, row := range []struct{ before, after, want Result }{
		{Updated, Unchanged, Updated},
		{Updated, Failed, Failed},
		{Failed, Unchanged, Unchanged}, // it was mended meanwhile
		{Failed, Updated, Updated},
		{Unchanged, Failed, Failed},
		{Unchanged, Updated, Updated},
	} {
		views := AddViews([]ViewResult{{Name: "v", Result: row.before}}, []ViewResult{{Name: "v", Result: row.after}, {Name: "w", Result: Updated}})
		if want := []ViewResult{{Name: "v", Result: row.want}, {Name: "w", Result: Updated}}; !cmp.Equal(views, want) {
			t.Errorf("views, %s then %s: %v", row.before, row.after, views)
		}
		exports := AddExports([]ExportResult{{Path: "/p", Generation: 1, Result: row.before}}, []ExportResult{{Path: "/p", Generation: 2, Result: row.after}})
		if want := []ExportResult{{Path: "/p", Generation: 2, Result: row.want}}; !cmp.Equal(exports, want) {
			t.Errorf("exports, %s then %s: %v", row.before, row.after, exports)
		}
	}
}
