package terminal

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"syncd/internal/report"
)

// screen is a terminal of a width.
type screen struct {
	bytes.Buffer
	width  int
	colour bool
}

func (s *screen) Width() int                    { return s.width }
func (s *screen) HasColour() bool               { return s.colour }
func (s *screen) Clean(text string) string      { return report.VisibleLine(text) }
func (s *screen) WriteStyled(text string) error { s.WriteString(text); return nil }

// hostile has names as others can choose them, and as long as they may be.
func hostile() report.Status {
	at := time.Date(2026, 11, 23, 6, 4, 5, 0, time.UTC)
	status := report.Status{Generation: 3, Manifests: []report.ManifestStatus{
		{Name: "dq_addr_data", Release: "2026.10", Revision: "32d3eccd36ad", State: report.StateInSync, Files: 5, Bytes: 7 << 20, CheckedAt: &at, NextSync: &at},
	}}
	for _, name := range []string{
		strings.Repeat("x", 255), strings.Repeat("データ", 40), "a\x1b[2J\u202eb\nc\td", strings.Repeat("a-b/", 60), strings.Repeat("two words ", 20), "👩‍👩‍👧", "",
	} {
		status.Manifests = append(status.Manifests, report.ManifestStatus{Name: name, Release: "2026.10", State: report.StateQuarantined, HeldFrom: name})
	}
	return status
}

var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

func TestTablesFitEveryTerminal(t *testing.T) {
	for _, width := range []int{20, 40, 60, 80, 120, 400} {
		for _, colour := range []bool{false, true} {
			s := &screen{width: width, colour: colour}
			if err := PrintStatus(s, hostile()); err != nil {
				t.Fatal(err)
			}
			shown := s.String()
			if !colour && strings.Contains(shown, "\x1b") {
				t.Errorf("%d: a terminal without colours got some: %q", width, shown)
			}
			bare := colours.ReplaceAllString(shown, "")
			if strings.ContainsAny(bare, "\x1b\u202e\t") {
				t.Errorf("%d: a name controls the terminal: %q", width, bare)
			}
			_, table, _ := strings.Cut(bare, "\n\n")
			for line := range strings.Lines(table) {
				line = strings.TrimSuffix(line, "\n")
				if text.StringWidth(line) > max(width, narrowest) || strings.HasSuffix(line, " ") {
					t.Errorf("%d: a line has %d columns: %q", width, text.StringWidth(line), line)
				}
			}
			whole := strings.Join(strings.Fields(bare), "")
			for _, want := range []string{"MANIFEST", "dq_addr_data", "2026.10-", "32d3eccd36ad", strings.Repeat("x", 10), "06:04"} {
				if !strings.Contains(whole, want) && width >= 80 {
					t.Errorf("%d: no %q in:\n%s", width, want, bare)
				}
			}
		}
	}
}

// Nothing is cut off: a narrow table has the same characters as a wide one.
func TestNothingIsCutOff(t *testing.T) {
	show := func(width int) map[rune]int {
		s := &screen{width: width}
		table := NewTable(s, "A", "B")
		table.Row(strings.Repeat("0123456789", 20)+" end", strings.Repeat("語", 50))
		table.Row("second/with-breaks", "2026-11-23 06:04 UTC")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		count := map[rune]int{}
		for _, r := range s.String() {
			if r != ' ' && r != '\n' && r != 'A' && r != 'B' {
				count[r]++
			}
		}
		return count
	}
	want := fmt.Sprint(show(0))
	for _, width := range []int{24, 40, 60, 80, 120} {
		if got := fmt.Sprint(show(width)); got != want {
			t.Errorf("%d columns: %s, want %s", width, got, want)
		}
	}
}

func TestAPipeGetsOneLineForEachRow(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out, "NAME", "TEXT", "STATE")
	table.Row("a", strings.Repeat("long ", 50)+"end", "failed")
	table.Row("bcd", "", "")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	table.Row("later", "x", "y")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || !strings.HasSuffix(lines[1], "long end  failed") || lines[2] != "bcd" || !strings.HasPrefix(lines[3], "later  x ") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", lines)
	}
}

func TestColoursTellStatesApart(t *testing.T) {
	s := &screen{width: 200, colour: true}
	table := NewTable(s, "NAME", "STATE")
	table.Row("in_sync", "in_sync")
	table.Row("b", "failed")
	table.Row("c", "staged (2026.10)")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in_sync  \x1b[32min_sync\x1b[0m\n", "\x1b[31mfailed\x1b[0m\n", "\x1b[33mstaged (2026.10)\x1b[0m\n", "\x1b[1mNAME\x1b[0m"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in %q", want, s.String())
		}
	}
}
