package syncer_test

import (
	"fmt"
	"strings"
	"testing"

	"syncd/internal/changes"
	"syncd/internal/golive"
	"syncd/internal/golive/rows"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d,row %d\n", i, i)
	}
	return b.String()
}

// TestRefusesAReleaseThatLostRows also looks that the result is kept: a retry, and a limit
// that was raised, read no row again.
func TestRefusesAReleaseThatLostRows(t *testing.T) {
	w := start(t, "data")
	w.target("data", func(t *golive.Target) {
		t.Rows = rows.Rule{MaxGone: 0.1, Formats: []changes.Rule{{Glob: "*.csv", Key: []string{"1"}}}}
	})
	w.configure()
	before := files{"a.csv": numbered(0, 100), "b.csv": numbered(0, 100), "version": "1"}
	w.publish("data", "2026.09", before)
	w.expect(w.demand(), "data", report.Updated)

	w.publish("data", "2026.10", files{"a.csv": numbered(0, 89), "b.csv": numbered(0, 100), "version": "2"})
	m := w.refuses(refusal.Shrink)
	want := "release 2026.10: \"a.csv\" lost 11 of 100 rows, beyond guards.max_rows_gone 10%: check it with `syncd files data`; `syncd sync --force data` accepts it, `syncd skip data 2026.10` passes over it"
	equal(t, "error", m.Error, want)
	w.serves("data", before)
	known := w.state("data").Compared
	if len(known) != 1 || known[0].Worst != (changes.Loss{Path: "a.csv", Gone: 11, Of: 100}) || *known[0].Summary.Rows != (changes.RowCounts{Added: 1, Gone: 12}) {
		t.Fatalf("kept: %+v", known)
	}
	equal(t, "error", w.refuses(refusal.Shrink).Error, want)
	equal(t, "kept", fmt.Sprint(w.state("data").Compared), fmt.Sprint(known))

	// A file is gone: no other one lost a row, and the manifest lost half of them.
	w.publish("data", "2026.11", files{"b.csv": numbered(0, 100), "version": "2"})
	m = w.refuses(refusal.Shrink)
	if !strings.Contains(m.Error, "the files lost 101 of 201 rows") && !strings.Contains(m.Error, "the files lost 100 of 200 rows") {
		t.Errorf("error: %s", m.Error)
	}
	w.expect(w.force(), "data", report.Updated)

	// Changed rows with a key are not gone.
	next := files{"b.csv": strings.ReplaceAll(numbered(0, 100), "row", "line"), "version": "3"}
	w.publish("data", "2026.12", next)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", next)
}
