package batch

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"syncd/internal/clients/wire"
)

// csvTable reads cells with a separator between them; the first row names the columns.
type csvTable struct {
	reader *csv.Reader
	source *rationed
	names  []string
	line   int // where the last record begins
}

// rationed gives at most left bytes.
type rationed struct {
	r    io.Reader
	left int
}

func (r *rationed) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errRation
	}
	n, err := r.r.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

var errRation = errors.New("the row is too long")

func newCSV(r io.Reader, comma rune) (*csvTable, error) {
	source := &rationed{r: r}
	t := &csvTable{reader: csv.NewReader(source), source: source}
	t.reader.Comma = comma
	t.reader.FieldsPerRecord = -1
	names, err := t.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("is empty: the first line names the columns")
	case err != nil:
		return nil, err
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	t.names = names
	return t, checkColumns(names)
}

// read reads one record. The reader reads a few KiB ahead, so that the bound is not exact.
func (t *csvTable) read() ([]string, error) {
	t.source.left = maxRow
	cells, err := t.reader.Read()
	if errors.Is(err, errRation) {
		return nil, fmt.Errorf("the row after line %d has more than %d bytes: is a quote not closed there?", t.line, maxRow)
	}
	if err == nil {
		t.line, _ = t.reader.FieldPos(0)
	}
	return cells, err
}

func (t *csvTable) columns() []string { return t.names }

func (t *csvTable) next() (row, error) {
	cells, err := t.read()
	if broken, ok := errors.AsType[*csv.ParseError](err); ok {
		if broken.StartLine != broken.Line {
			return row{}, fmt.Errorf("a quote that opens in line %d is not closed as it should be in line %d: correct that row", broken.StartLine, broken.Line)
		}
		return row{line: broken.Line, members: t.members(nil), err: fmt.Errorf("line %d, character %d: %w: put quotes around the cell, and double those inside", broken.Line, broken.Column, broken.Err)}, nil
	}
	if err != nil {
		return row{}, err
	}
	r := row{line: t.line, members: t.members(cells)}
	if len(cells) != len(t.names) {
		r.err = fmt.Errorf("line %d has %d cells, the header has %d", t.line, len(cells), len(t.names))
	}
	return r, nil
}

// members names the cells. Cells beyond the header are left out, and missing ones are empty.
func (t *csvTable) members(cells []string) wire.Object {
	o := make(wire.Object, len(t.names))
	for i, name := range t.names {
		o[i] = wire.Member{Name: name, Value: ""}
		if i < len(cells) {
			o[i].Value = cells[i]
		}
	}
	return o
}
