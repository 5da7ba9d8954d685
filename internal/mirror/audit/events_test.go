package audit

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestLeft(t *testing.T) {
	for name, row := range map[string]struct{ served, left string }{
		"forward":                       {"08-a 09-a 10-a", ""},
		"back":                          {"09-a 10-a 09-a", "10-a"},
		"back and on":                   {"09-a 10-a 09-a 11-a", "10-a"},
		"back over two":                 {"08-a 09-a 10-a 08-a 11-a", "09-a 10-a"},
		"back twice":                    {"08-a 09-a 10-a 09-a 08-a 11-a", "09-a 10-a"},
		"undone":                        {"08-a 09-a 10-a 08-a 10-a 11-a", ""},
		"undone in part":                {"08-a 09-a 10-a 08-a 09-a 11-a", "10-a"},
		"other bytes":                   {"09-a 10-a 10-b", ""},
		"back to the bytes before":      {"09-a 10-a 10-b 10-a", "10-b"},
		"replaced after a rollback":     {"09-a 10-a 09-a 10-b", "10-a"},
		"gone and back":                 {"09-a 10-a - 10-a", ""},
		"an alias":                      {"Q1-a Q2-a Q1-a", ""},
		"another manifest between them": {"09-a other:08-a 10-a", ""},
	} {
		var list []Event
		for tree := range strings.FieldsSeq(row.served) {
			e := Event{Name: "m"}
			if of, rest, found := strings.Cut(tree, ":"); found {
				e.Name, tree = of, rest
			}
			if tree != "-" {
				e.Tree = "2026." + tree
			}
			list = append(list, e)
		}
		got := strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(left(list, "m"))), " "), "2026.", "")
		if got != row.left {
			t.Errorf("%s: %q left, want %q", name, got, row.left)
		}
	}
}
