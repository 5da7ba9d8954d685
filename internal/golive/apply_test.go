package golive

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"syncd/internal/mirror"
)

// leaver notes what leaves its change.
type leaver struct {
	description
	names, mates []string
}

func (l *leaver) Leave(names, mates []string, _ error) { l.names, l.mates = names, mates }

func TestAManifestLeavesTheChangeWithItsGroupAndNothingElse(t *testing.T) {
	for name, row := range map[string]struct {
		broken              []string
		whole               bool
		left                bool
		stays, names, mates string
	}{
		"alone":                 {broken: []string{"c"}, left: true, stays: "a b", names: "c"},
		"one of a group":        {broken: []string{"b"}, left: true, stays: "c", names: "b", mates: "a"},
		"a whole group":         {broken: []string{"a", "b"}, left: true, stays: "c", names: "a b"},
		"not in the change":     {broken: []string{"d", ""}, stays: "a b c"},
		"published as a whole":  {broken: []string{"c"}, whole: true, stays: "a b c"},
		"one is in the change":  {broken: []string{"c", "d"}, left: true, stays: "a b", names: "c"},
		"different groups' two": {broken: []string{"a", "c"}, left: true, names: "a c", mates: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			op := &leaver{}
			a := &application{op: op, proposal: Proposal{Together: [][]string{{"a", "b"}, {"c"}}, Whole: row.whole}}
			for _, m := range []string{"a", "b", "c"} {
				a.outcome.Change.Set = append(a.outcome.Change.Set, mirror.Record{Manifest: m})
			}
			left := a.leave(row.broken, errors.New("broken"))
			var stays []string
			for _, record := range a.outcome.Change.Set {
				stays = append(stays, record.Manifest)
			}
			got := []string{strings.Join(stays, " "), strings.Join(op.names, " "), strings.Join(op.mates, " ")}
			if want := []string{row.stays, row.names, row.mates}; left != row.left || !slices.Equal(got, want) {
				t.Errorf("left %t: %q, want %t: %q", left, got, row.left, want)
			}
		})
	}
}

func TestViewsAloneArePublishedOnlyBySyncs(t *testing.T) {
	views := mirror.Change{Views: []mirror.View{{Name: "v"}}}
	for name, row := range map[string]struct {
		change mirror.Change
		late   bool
		empty  bool
	}{
		"nothing":                     {empty: true},
		"views of a sync":             {change: views, late: true},
		"views of another operation":  {change: views, empty: true},
		"orders":                      {change: mirror.Change{Orders: map[string]mirror.Orders{"a": {}}}},
		"a view that is not served":   {change: mirror.Change{Remove: []string{"v"}}},
		"more is known of a revision": {change: mirror.Change{Described: make([]mirror.Record, 1)}},
	} {
		a := &application{proposal: Proposal{LateViews: row.late}, outcome: Outcome{Change: row.change}}
		if a.isEmpty() != row.empty {
			t.Errorf("%s: empty is %t", name, !row.empty)
		}
	}
}
