package batch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	unicodetext "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"syncd/internal/clients/wire"
)

// maxRow bounds one row of the input, in bytes. A longer one is nearly always a quote that
// is not closed.
const maxRow = 1 << 20

// row is one row of a table.
type row struct {
	line    int         // where it begins
	members wire.Object // its cells by their columns
	err     error       // why the row cannot be used; the others can
}

// table reads a file row by row. An error of next other than io.EOF says that the file
// cannot be used.
type table interface {
	columns() []string // nil if each row names its own
	next() (row, error)
}

// format is the form of a table.
type format int

const (
	unknown format = iota
	separated
	lines // of JSON
)

// formatOf returns the format that the end of a name tells.
func formatOf(name string) format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv", ".tsv", ".tab", ".txt":
		return separated
	case ".ndjson", ".jsonl", ".json":
		return lines
	}
	return unknown
}

// newTable reads a table. A byte order mark chooses UTF-8 or UTF-16, which are read as UTF-8.
// comma separates cells; 0 finds it in the header.
func newTable(r io.Reader, f format, comma rune) (table, format, rune, error) {
	decoded := transform.NewReader(r, unicodetext.BOMOverride(encoding.Nop.NewDecoder()))
	buffered := bufio.NewReaderSize(decoded, maxRow)
	begin, err := buffered.Peek(maxRow)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f, comma, err
	}
	if f == unknown {
		f = separated
		if bytes.HasPrefix(bytes.TrimSpace(begin), []byte("{")) {
			f = lines
		}
	}
	if f == lines {
		return &jsonTable{r: buffered}, f, comma, nil
	}
	if comma == 0 {
		comma = separator(begin)
	}
	t, err := newCSV(buffered, comma)
	return t, f, comma, err
}

// separator returns the character that separates the names of a header.
func separator(begin []byte) rune {
	counts := map[rune]int{}
	quoted := false
	for _, c := range string(begin[:min(len(begin), 64<<10)]) {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			return mostOf(counts)
		default:
			counts[c]++
		}
	}
	return mostOf(counts)
}

func mostOf(counts map[rune]int) rune {
	most := ','
	for _, c := range ";\t" {
		if counts[c] > counts[most] {
			most = c
		}
	}
	return most
}

// checkColumns refuses names of columns that are no text, or given twice.
func checkColumns(names []string) error {
	seen := map[string]int{}
	for i, name := range names {
		switch before := seen[name]; {
		case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("the name of column %d is not plain text: save the file as CSV in UTF-8, with the names of the columns in the first line", i+1)
		case name != "" && before > 0:
			return fmt.Errorf("columns %d and %d are both called %s: rename or remove one", before, i+1, name)
		}
		seen[name] = i + 1
	}
	return nil
}

// jsonTable reads a JSON object from each line.
type jsonTable struct {
	r    *bufio.Reader
	line int
}

func (t *jsonTable) columns() []string { return nil }

func (t *jsonTable) next() (row, error) {
	for {
		text, err := t.r.ReadSlice('\n')
		t.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return row{}, fmt.Errorf("line %d has more than %d bytes", t.line, maxRow)
		case err != nil && !errors.Is(err, io.EOF):
			return row{}, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			return parseLine(text, t.line), nil
		}
		if err != nil {
			return row{}, io.EOF
		}
	}
}

func parseLine(text []byte, line int) row {
	if !utf8.Valid(text) {
		return row{line: line, err: fmt.Errorf("line %d is not UTF-8", line)}
	}
	v, err := wire.ParseJSON(text)
	o, isObject := v.(wire.Object)
	if err != nil || !isObject {
		return row{line: line, err: fmt.Errorf("line %d is not one JSON object", line)}
	}
	return row{line: line, members: o}
}
