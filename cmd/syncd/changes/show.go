package changes

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"syncd/internal/changes"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// show prints a report for people.
func show(w io.Writer, r changes.Report) error {
	if !r.Summary.Any() {
		fmt.Fprintf(w, "%s: no file differs between %s and %s\n", line(r.Manifest), line(r.From), line(r.To))
		return nil
	}
	fmt.Fprintf(w, "%s: from %s to %s\n", line(r.Manifest), line(r.From), line(r.To))
	table := terminal.NewTable(w, "CHANGE", "FILE", "BEFORE", "AFTER", "ROWS")
	for _, c := range r.Files {
		path := c.Path
		if c.Was != "" {
			path += " (was " + c.Was + ")"
		}
		before, after := size(c.SizeBefore), size(c.SizeAfter)
		switch c.Kind {
		case changes.Added:
			before = ""
		case changes.Removed:
			after = ""
		}
		table.Row(string(c.Kind), path, before, after, rowsOf(c))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, c := range r.Files {
		showRows(w, c)
	}
	fmt.Fprintf(w, "\n%s; %s before, %s after\n", r.Summary, size(r.Summary.BytesBefore), size(r.Summary.BytesAfter))
	return nil
}

func line(text string) string { return report.VisibleLine(text) }

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }

// rowsOf says in one cell how the rows of a file differ.
func rowsOf(c changes.Change) string {
	switch {
	case c.Binary:
		return "binary"
	case c.Rows == nil:
		return ""
	}
	var parts []string
	for _, p := range []struct {
		n    int64
		word string
	}{{c.Rows.Added, "added"}, {c.Rows.Gone, "gone"}, {c.Rows.Changed, "changed"}} {
		if p.n > 0 {
			parts = append(parts, humanize.Comma(p.n)+" "+p.word)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "the same")
}

// showRows prints the columns and the samples of a file.
func showRows(w io.Writer, c changes.Change) {
	if c.Note != "" {
		fmt.Fprintf(w, "\n%s: %s\n", line(c.Path), line(c.Note))
	}
	r := c.Rows
	if r == nil || r.Added+r.Gone+r.Changed == 0 && !r.HeaderChanged {
		return
	}
	fmt.Fprintf(w, "\n%s (%s)\n", line(c.Path), r.Format)
	if r.HeaderChanged {
		fmt.Fprintln(w, "  the header changed")
	}
	if len(r.Columns) > 0 {
		names := slices.SortedFunc(maps.Keys(r.Columns), func(a, b string) int {
			return cmp.Or(cmp.Compare(r.Columns[b], r.Columns[a]), cmp.Compare(a, b))
		})
		var parts []string
		for _, name := range names[:min(len(names), 20)] {
			parts = append(parts, fmt.Sprintf("%s %s", line(name), humanize.Comma(r.Columns[name])))
		}
		if more := len(names) - len(parts); more > 0 {
			parts = append(parts, fmt.Sprintf("and %s", english.Plural(more, "more column", "")))
		}
		fmt.Fprintf(w, "  changed by column: %s\n", strings.Join(parts, ", "))
	}
	if r.Samples == nil {
		return
	}
	for _, text := range r.Samples.Gone {
		fmt.Fprintf(w, "  - %s\n", line(text))
	}
	for _, text := range r.Samples.Added {
		fmt.Fprintf(w, "  + %s\n", line(text))
	}
	for _, s := range r.Samples.Changed {
		fmt.Fprintf(w, "  < %s\n  > %s\n", line(s.Before), line(s.After))
	}
}
