package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Compared is the result of a comparison of two revisions without contents, as it is kept.
type Compared struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Rule    string  `json:"rule,omitempty"` // fingerprint of how rows were read; "" if none were
	Summary Summary `json:"summary"`
	Worst   Loss    `json:"worst,omitzero"` // of the files that both have
	All     Loss    `json:"all,omitzero"`   // of all files; zero if no file with rows is gone
}

// maxKept is how many results are kept of a manifest.
const maxKept = 4

// Keep adds a result to those that are kept, and drops the oldest.
func Keep(known []Compared, c Compared) []Compared {
	known = slices.DeleteFunc(slices.Clone(known), func(k Compared) bool { return k.From == c.From && k.To == c.To })
	known = append(known, c)
	return known[max(len(known)-maxKept, 0):]
}

// Find returns the result for two revisions.
func Find(known []Compared, from, to string) (Compared, bool) {
	for _, c := range known {
		if c.From == from && c.To == to {
			return c, true
		}
	}
	return Compared{}, false
}

// Latest returns what the newest result says of a revision, nil for no difference.
func Latest(known []Compared, to string) *Summary {
	for _, c := range slices.Backward(known) {
		if c.To == to && c.Summary.Any() {
			return &c.Summary
		}
	}
	return nil
}

// String counts the changes in one line.
func (s Summary) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{s.Files.Added, "added"}, {s.Files.Removed, "removed"}, {s.Files.Changed, "changed"}, {s.Files.Moved, "moved"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", english.Plural(p.n, "file", ""), p.word))
		}
	}
	if s.Rows != nil {
		for _, p := range []struct {
			n    int64
			word string
		}{{s.Rows.Added, "added"}, {s.Rows.Gone, "gone"}, {s.Rows.Changed, "changed"}} {
			if p.n > 0 {
				word := "rows"
				if p.n == 1 {
					word = "row"
				}
				parts = append(parts, fmt.Sprintf("%s %s %s", humanize.Comma(p.n), word, p.word))
			}
		}
	}
	return strings.Join(parts, ", ")
}
