package config

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/changes"
)

func TestRowsOfAManifest(t *testing.T) {
	yes := true
	c := mustLoad(t, minimal+`    rows:
      - {glob: "*.csv", key: [1, id], delimiter: tab, header: true}
      - {glob: "x/*.txt", key: name, fixed: [10, 20, 5]}
`)
	want := []changes.Rule{
		{Glob: "*.csv", Key: []string{"1", "id"}, Delimiter: "\t", Header: &yes},
		{Glob: "x/*.txt", Key: []string{"name"}, Fixed: []int{10, 20, 5}},
	}
	if diff := cmp.Diff(want, c.Manifests[0].Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for rule, problem := range map[string]string{
		`{key: [1]}`:                            "manifests[0].rows[0].glob: is missing",
		`{glob: "[", key: [1]}`:                 "manifests[0].rows[0].glob: is not a glob",
		`{glob: a, key: [0]}`:                   "manifests[0].rows[0].key[0]: is no column",
		`{glob: a, delimiter: "::"}`:            "manifests[0].rows[0].delimiter: is no delimiter",
		`{glob: a, delimiter: "ä"}`:             "manifests[0].rows[0].delimiter: is no delimiter",
		`{glob: a, delimiter: ",", fixed: [1]}`: "manifests[0].rows[0].fixed: delimiter is set too",
		`{glob: a, fixed: [0]}`:                 "manifests[0].rows[0].fixed[0]: is out of range: 0",
		`{glob: a, header: maybe}`:              "manifests[0].rows[0].header: is neither true nor false",
		`{glob: a, columns: 3}`:                 "manifests[0].rows[0].columns: unknown key",
		`"*.csv"`:                               "manifests[0].rows[0]: must be a mapping",
	} {
		_, err := load(t, minimal+"    rows: ["+rule+"]\n")
		var got []string
		for _, p := range problems(err) {
			got = append(got, fmt.Sprintf("%s: %s", p.Key, p.Problem))
		}
		if !slices.Contains(got, problem) {
			t.Errorf("%s: %q, want %q", rule, got, problem)
		}
	}
}
