package store

import (
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"syncd/internal/manifest"
)

// The bucket's texts stay those of json.Marshal, which earlier versions read.
func TestPlannedContentsAreWrittenAsJSON(t *testing.T) {
	lists := [][]Planned{
		{{}},
		{{Expected: someMD5}},
		{{Expected: someMD5, Object: object(1), Size: 1, Release: "2026.10", Adopted: true}, {Expected: object(2).Digest(), Release: `a"<`}, {Expected: manifest.Digest{}, Size: -1}},
	}
	for _, list := range lists {
		want, err := json.Marshal(list)
		must(t, err)
		if got := encodePlanned(slices.Values(list)); string(got) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, nothing := range []iter.Seq[Planned]{nil, slices.Values([]Planned{})} {
		if got := encodePlanned(nothing); got != nil {
			t.Errorf("nothing is written as %s", got)
		}
	}
}

// listsOf are lists for Changes.
func listsOf(of map[string][]Planned) map[string]iter.Seq[Planned] {
	lists := map[string]iter.Seq[Planned]{}
	for name, list := range of {
		lists[name] = slices.Values(list)
	}
	return lists
}
