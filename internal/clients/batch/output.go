package batch

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// sheet says which columns the output has.
type sheet struct {
	format  format
	comma   rune
	redact  func(string) string
	input   columnSet
	errors  string // the column of errors
	result  string // answers are below this name
	depth   depth
	results columnSet
}

// write writes the output in one step, removes the journal, and returns how many rows have
// an error.
func (b *Batch) write() (failed int, err error) {
	s, err := b.sheet()
	if err != nil {
		return 0, err
	}
	perm := b.info.Mode().Perm()&0o666 | 0o600
	err = b.journal.disk.ReplaceFile(b.folder, filepath.Base(b.cfg.Output), perm, func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		if failed, err = b.writeRows(buffered, s); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", b.cfg.Output, err)
	}
	err = b.journal.remove()
	b.journal = nil
	return failed, err
}

// sheet reads the input and all answers for their columns.
func (b *Batch) sheet() (*sheet, error) {
	s, err := b.inputSheet()
	if err != nil || s.format == lines {
		return s, err
	}
	for s.depth = allTheWay; ; s.depth++ {
		s.results = columnSet{limit: maxColumns}
		for number := 1; number <= b.Rows && !s.results.isFull(); number++ {
			o, err := b.journal.read(number)
			if err != nil {
				return nil, err
			}
			s.cells(o, func(column, _ string) { s.results.add(column) })
		}
		if !s.results.isFull() || s.depth == notAtAll {
			return s, nil
		}
	}
}

// cells calls visit for each cell of an answer.
func (s *sheet) cells(o outcome, visit func(column, cell string)) {
	if o.answer != nil {
		flatten(s.result, o.answer, s.depth, visit)
	}
}

// inputSheet returns a sheet with the columns of the input.
func (b *Batch) inputSheet() (*sheet, error) {
	s := &sheet{format: formatOf(b.cfg.Output), comma: b.comma, redact: b.cfg.Client.Redactor().ForNames().String, errors: "error", result: "result"}
	if s.format == unknown {
		s.format = b.format
	}
	switch {
	case strings.EqualFold(filepath.Ext(b.cfg.Output), ".tsv"):
		s.comma = '\t'
	case s.comma == 0:
		s.comma = ','
	}
	s.input.limit = maxNames
	if b.columns != nil {
		s.input.names = b.columns
	} else if err := b.again(func(_ int, r row) error {
		s.inputCells(r, func(column, _ string) { s.input.add(column) })
		if s.input.isFull() {
			return fmt.Errorf("the rows have more than %d names: name an output that ends in .ndjson", maxNames)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	s.avoid(s.input.names)
	return s, nil
}

// inputCells calls visit for each cell of a row.
func (s *sheet) inputCells(r row, visit func(column, cell string)) {
	for _, m := range r.members {
		flatten(m.Name, m.Value, allTheWay, visit)
	}
}

// avoid chooses names that the input's columns leave free.
func (s *sheet) avoid(columns []string) {
	taken := func(name string) bool {
		return slices.ContainsFunc(columns, func(c string) bool { return c == name || strings.HasPrefix(c, name+".") })
	}
	for _, name := range []*string{&s.errors, &s.result} {
		plain := *name
		for i := 2; taken(*name); i++ {
			*name = fmt.Sprintf("%s%d", plain, i)
		}
	}
}

// inputRow returns the cells of a row in the columns of the input. The cells of CSV have
// their places, because columns without a name may be several.
func (s *sheet) inputRow(b *Batch, r row) []string {
	cells := make([]string, len(s.input.names))
	if b.columns != nil {
		for i, m := range r.members {
			cells[i] = s.redact(m.Value.(string))
		}
		return cells
	}
	named := map[string]string{}
	s.inputCells(r, func(column, cell string) { named[column] = s.redact(cell) })
	for i, column := range s.input.names {
		cells[i] = named[column]
	}
	return cells
}

// writeRows writes all rows in the order of the input.
func (b *Batch) writeRows(w io.Writer, s *sheet) (failed int, err error) {
	writer := csv.NewWriter(w)
	writer.Comma = s.comma
	if s.format == separated {
		header := slices.Concat(s.input.names, []string{s.errors}, s.results.names)
		if err := writer.Write(header); err != nil {
			return 0, err
		}
	}
	err = b.again(func(number int, r row) error {
		o, err := b.journal.read(number)
		if err != nil {
			return err
		}
		if o.err != "" {
			failed++
		}
		if s.format == lines {
			_, err = w.Write(append(s.line(r, o), '\n'))
			return err
		}
		named := map[string]string{}
		s.cells(o, func(column, cell string) { named[column] = cell })
		record := append(s.inputRow(b, r), o.err)
		for _, column := range s.results.names {
			record = append(record, named[column])
		}
		return writer.Write(record)
	})
	writer.Flush()
	return failed, errors.Join(err, writer.Error())
}

// line returns a row and what became of it as JSON.
func (s *sheet) line(r row, o outcome) []byte {
	return wire.JSON(append(s.inputMembers(r), wire.Member{Name: s.errors, Value: o.err}, wire.Member{Name: s.result, Value: o.answer}))
}

func (s *sheet) inputMembers(r row) wire.Object {
	return wire.Map(r.members, s.redact, s.redact).(wire.Object)
}

// checkOutput compares an output without a journal with the input. It is an *InputError if
// the output is not the outcome of this input; failed counts the rows with an error.
func (b *Batch) checkOutput() (failed int, err error) {
	s, err := b.inputSheet()
	if err != nil {
		return 0, err
	}
	other := &InputError{fmt.Errorf("%s exists and is not the outcome of %s: remove it, or name another output", b.cfg.Output, b.cfg.Input)}
	file, err := b.folder.OpenRegular(filepath.Base(b.cfg.Output))
	if err != nil {
		return 0, &InputError{fmt.Errorf("%w: remove %s, or name another output", err, b.cfg.Output)}
	}
	defer file.Close()
	t, _, _, err := newTable(file, s.format, s.comma)
	if err != nil || s.format == separated && !hasPrefix(t.columns(), append(slices.Clone(s.input.names), s.errors)) {
		return 0, other
	}
	err = b.again(func(_ int, r row) error {
		found, err := t.next()
		switch {
		case err != nil || found.err != nil:
			return other
		case s.format == lines && !s.isLineOf(r, found):
			return other
		case s.format == separated && !hasPrefix(cellsOf(found), s.inputRow(b, r)):
			return other
		case found.members.Text(s.errors) != "":
			failed++
		}
		return nil
	})
	if _, err := t.next(); !errors.Is(err, io.EOF) {
		return 0, other
	}
	if _, isOther := errors.AsType[*InputError](err); isOther {
		return 0, other
	}
	return failed, err
}

func hasPrefix(list, prefix []string) bool {
	return len(list) >= len(prefix) && slices.Equal(list[:len(prefix)], prefix)
}

func cellsOf(r row) []string {
	cells := make([]string, len(r.members))
	for i, m := range r.members {
		cells[i], _ = wire.TextOf(m.Value)
	}
	return cells
}

// isLineOf is true if a line of an output begins with a row.
func (s *sheet) isLineOf(r, found row) bool {
	own := s.inputMembers(r)
	return len(found.members) == len(own)+2 && bytes.Equal(wire.JSON(own), wire.JSON(found.members[:len(own)]))
}
