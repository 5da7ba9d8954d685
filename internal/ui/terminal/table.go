package terminal

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"syncd/internal/report"
)

// Screen is a writer that a person may look at.
type Screen interface {
	io.Writer
	Width() int                    // in characters; 0 for no limit: a file or a pipe
	HasColour() bool               // shows the colours of ANSI
	Clean(text string) string      // without secrets, and visible
	WriteStyled(text string) error // text is clean, but for its colours
}

// plain is a writer of a file or a pipe.
type plain struct{ io.Writer }

func (plain) Width() int               { return 0 }
func (plain) HasColour() bool          { return false }
func (plain) Clean(text string) string { return report.VisibleLine(text) }
func (p plain) WriteStyled(text string) error {
	_, err := io.WriteString(p, text)
	return err
}

// screenOf returns w itself if it is a Screen.
func screenOf(w io.Writer) Screen {
	if s, ok := w.(Screen); ok {
		return s
	}
	return plain{w}
}

const (
	gap       = 2  // columns between cells
	narrowest = 24 // a narrower terminal breaks the lines itself
)

// Table is a table that fits the screen: cells are broken into lines where they must be.
// Where not even that is enough, each row becomes lines of a name and a value. Nothing is
// cut off. It is written in parts, and later parts have at least the widths of the earlier
// ones.
type Table struct {
	screen  Screen
	head    []string
	rows    [][]string
	widths  []int // of the earlier parts
	isBegun bool  // the head is written

	isContinued bool // a part is written
	isFine      bool // names are broken within, too
}

// NewTable returns a table with a head.
func NewTable(w io.Writer, head ...string) *Table {
	return &Table{screen: screenOf(w), head: head, widths: make([]int, len(head))}
}

// NewList returns a table that shows its head only where a row becomes lines of a name and
// a value.
func NewList(w io.Writer, head ...string) *Table {
	t := NewTable(w, head...)
	t.isBegun = true
	return t
}

// Row adds a row. An empty cell stays empty.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = t.screen.Clean(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// Flush writes the rows that were added since the last Flush.
func (t *Table) Flush() error {
	rows := t.rows
	if t.isBegun && len(rows) == 0 {
		return nil
	}
	if !t.isBegun {
		rows = append([][]string{t.head}, rows...)
	}
	t.isFine = false
	widths, fits := t.fit(rows)
	if !fits {
		t.isFine = true
		widths, fits = t.fit(rows)
	}
	var shown string
	if fits {
		shown = t.grid(rows, widths)
	} else {
		t.isFine = false
		shown = t.records()
	}
	t.rows, t.isBegun, t.isContinued = nil, true, true
	return t.screen.WriteStyled(shown)
}

// fit returns the widths of the columns, false when no widths fit the screen.
func (t *Table) fit(rows [][]string) (widths []int, fits bool) {
	natural, least, sum := slices.Clone(t.widths), make([]int, len(t.head)), 0
	for i := range t.head {
		for _, row := range rows {
			natural[i] = max(natural[i], text.StringWidth(row[i]))
			for _, piece := range t.piecesOf(row[i]) {
				least[i] = max(least[i], text.StringWidth(strings.TrimRight(piece, " ")))
			}
		}
		sum += least[i]
	}
	room := t.screen.Width()
	if room == 0 {
		copy(t.widths, natural)
		return natural, true
	}
	left := max(room, narrowest) - gap*(len(t.head)-1) - sum
	widths = least
	for grown := true; left > 0 && grown; { // the columns that lack the least, first
		grown = false
		for i := range widths {
			if widths[i] < natural[i] && left > 0 {
				widths[i]++
				left--
				grown = true
			}
		}
	}
	if left >= 0 {
		copy(t.widths, widths)
	}
	return widths, left >= 0
}

// grid shows rows below each other; the first one is the head if the table has not begun.
func (t *Table) grid(rows [][]string, widths []int) string {
	var configs []table.ColumnConfig
	for i, width := range widths {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMin: width})
	}
	w := newWriter(configs)
	for n, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			paint := t.painter(i, cell)
			if n == 0 && !t.isBegun {
				paint = t.bold
			}
			cells[i] = paint(t.wrap(cell, widths[i]))
		}
		w.AppendRow(cells)
	}
	return trimmed(w.Render())
}

// records shows each row as lines of a name and a value.
func (t *Table) records() string {
	label := 0
	for _, name := range t.head {
		label = max(label, text.StringWidth(name))
	}
	room := max(t.screen.Width(), narrowest) - label - gap
	var out strings.Builder
	for n, row := range t.rows {
		if n > 0 || t.isContinued {
			out.WriteString("\n")
		}
		w := newWriter(nil)
		for i, cell := range row {
			w.AppendRow(table.Row{t.bold([]string{t.head[i]}), t.painter(i, cell)(t.wrap(cell, max(room, 1)))})
		}
		out.WriteString(trimmed(w.Render()))
	}
	return out.String()
}

func newWriter(configs []table.ColumnConfig) table.Writer {
	w := table.NewWriter()
	w.SetColumnConfigs(configs)
	w.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: strings.Repeat(" ", gap)},
		Options: table.OptionsNoBordersAndSeparators,
	})
	return w
}

var trailing = regexp.MustCompile(`(?m) +$`)

func trimmed(shown string) string { return trailing.ReplaceAllString(shown, "") + "\n" }

// wrap breaks a cell into lines of at most width characters.
func (t *Table) wrap(cell string, width int) (lines []string) {
	line := ""
	for _, piece := range t.piecesOf(cell) {
		if line != "" && text.StringWidth(line+strings.TrimRight(piece, " ")) > width {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		line += piece
		for text.StringWidth(strings.TrimRight(line, " ")) > width {
			head := text.Trim(line, width)
			if head == "" { // a character that is wider than the column
				head = string([]rune(line)[:1])
			}
			lines, line = append(lines, head), strings.TrimPrefix(line, head)
		}
	}
	return append(lines, strings.TrimRight(line, " "))
}

// A cell may be broken after a space that is not within a size, and after a dash or a slash
// in a word that is no date. Only a table that does not fit otherwise has finer breaks.
var (
	breaks = regexp.MustCompile(`[0-9.]+ [KMGTPE]?i?B\b *|[^ ]+ *| +`)
	within = regexp.MustCompile(`[^/-]*[/-]+|[^/-]+`)
	finer  = regexp.MustCompile(`[^/_.-]*[/_.-]+|[^/_.-]+`)
	date   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} *$`)
)

// longestPiece is the length from which a name is broken anywhere: others choose names.
const longestPiece = 30

func (t *Table) piecesOf(cell string) (pieces []string) {
	for _, word := range breaks.FindAllString(cell, -1) {
		if date.MatchString(word) {
			pieces = append(pieces, word)
			continue
		}
		parts := within
		if t.isFine {
			parts = finer
		}
		for _, piece := range parts.FindAllString(word, -1) {
			for text.StringWidth(piece) > longestPiece {
				head := text.Trim(piece, longestPiece)
				pieces, piece = append(pieces, head), strings.TrimPrefix(piece, head)
			}
			pieces = append(pieces, piece)
		}
	}
	return pieces
}

// The colours of ANSI.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (t *Table) bold(lines []string) string { return t.styled(bold, lines) }

func (t *Table) styled(colour string, lines []string) string {
	for i, line := range lines {
		lines[i] = styled(t.screen, colour, line)
	}
	return strings.Join(lines, "\n")
}

func styled(screen Screen, colour, text string) string {
	if !screen.HasColour() || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// PrintMarked writes a line that begins with a word in the colour of its meaning.
func PrintMarked(w io.Writer, word, rest string) {
	screen := screenOf(w)
	mark := styled(screen, colourOf(strings.TrimSpace(word)), word)
	_ = screen.WriteStyled(mark + " " + screen.Clean(rest) + "\n") // a report has no reader left
}

// painter returns how the cells of a column are shown.
func (t *Table) painter(column int, cell string) func(lines []string) string {
	colour := ""
	switch t.head[column] {
	case "STATE", "RESULT":
		colour = colourOf(cell)
	}
	return func(lines []string) string { return t.styled(colour, lines) }
}

// colourOf is the colour of a state or a result: red for what needs someone, yellow for what
// is on its way, green for what is as it should be.
func colourOf(state string) string {
	word, _, _ := strings.Cut(state, " ")
	switch word {
	case "failed", "refused", "quarantined", "expired", "given_up", "stopped", "DAMAGED", "failure":
		return red
	case "in_sync", "updated", "ok", "repaired":
		return green
	case "unchanged", "removed", "skipped", "-":
		return ""
	}
	return yellow
}
