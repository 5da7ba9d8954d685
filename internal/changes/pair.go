package changes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"syncd/internal/changes/spill"
)

// pair compares the rows of two files, of which one may be missing.
func (c Comparison) pair(ctx context.Context, files [2]content, change *Change) error {
	var heads [2][]byte
	for side := range files {
		head, err := headOf(files[side])
		if err != nil {
			return fmt.Errorf("read %s: %w", change.Path, err)
		}
		if isBinary(head) {
			change.Binary = true
		}
		heads[side] = head
	}
	if change.Binary {
		return nil
	}
	var ends [2]bool
	for side := range files {
		file, remove, err := asUTF8(c.Scratch, files[side], heads[side])
		if err != nil {
			return fmt.Errorf("read %s: %w", change.Path, err)
		}
		defer remove()
		if utf16Order(heads[side]) != nil {
			if heads[side], err = headOf(file); err != nil {
				return err
			}
		}
		files[side], ends[side] = file, int64(len(heads[side])) == file.size
	}
	rule := c.rule(change.Path)
	m := &matcher{comparison: c, files: files, formats: decide(rule, heads, ends)}
	defer m.close()
	if err := m.run(ctx, rule); err != nil {
		return fmt.Errorf("compare the rows of %s: %w", change.Path, err)
	}
	change.Rows, change.Note = &m.rows, m.note
	return nil
}

// headOf reads the bytes that say how a file is written.
func headOf(file content) ([]byte, error) {
	if file.ReaderAt == nil {
		return nil, nil
	}
	head := make([]byte, min(sniffed, file.size))
	n, err := file.ReadAt(head, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:n], err
}

// matcher compares the rows of two files.
type matcher struct {
	comparison Comparison
	files      [2]content
	formats    [2]format
	keyed      bool
	headers    [2][]string
	note       string

	readers [2]*reader
	values  [2]*values
	rows    Rows
	waiting *waiting
	spill   *spill.Records // nil as long as all rows fit into the tables
	record  []byte
	table   []waitingRow // of one share of the scratch file: open addressing
	left    []waitingRow // of that share, after equal rows have cancelled

	steps  int
	result *result
}

func (m *matcher) close() {
	m.spill.Close()
	if m.result != nil {
		m.result.pairs.Close()
	}
}

func (m *matcher) run(ctx context.Context, rule Rule) error {
	if err := m.open(rule); err != nil {
		return err
	}
	m.result = newResult(m)
	for side := range m.files {
		if m.files[side].ReaderAt == nil {
			return cmp.Or(m.only(ctx, 1-side), m.result.finish(ctx))
		}
	}
	if err := m.read(ctx); err != nil {
		return err
	}
	if err := m.resolve(ctx); err != nil {
		return err
	}
	m.waiting, m.table, m.left = nil, nil, nil
	return m.result.finish(ctx)
}

// open reads the headers and resolves the key.
func (m *matcher) open(rule Rule) error {
	for side := range m.files {
		m.readers[side] = newReader(m.files[side], m.formats[side])
		if !m.formats[side].header {
			continue
		}
		row, err := m.readers[side].next()
		if err != nil {
			return err
		}
		if row != nil {
			var fields fieldList
			fields.split(m.formats[side], row)
			for _, field := range fields.all {
				m.headers[side] = append(m.headers[side], strings.TrimSpace(string(field)))
			}
		}
	}
	to := m.formats[1]
	if m.files[1].ReaderAt == nil {
		to = m.formats[0]
	}
	m.rows.Format = to.String()
	m.rows.HeaderChanged = len(m.headers[0]) > 0 && len(m.headers[1]) > 0 &&
		strings.Join(m.headers[0], "\x00") != strings.Join(m.headers[1], "\x00")
	seed := newSeeds()
	var keys [2][]int
	for side := range m.files {
		if m.files[side].size == 0 {
			continue
		}
		var missing []string
		if keys[side], missing = keyOf(rule, m.formats[side], m.headers[side]); len(missing) > 0 {
			m.note = fmt.Sprintf("no column %s: compared without a key", strings.Join(missing, ", "))
		}
	}
	if len(rule.Key) > 0 && m.note == "" && m.files[0].size > 0 && m.files[1].size > 0 && m.formats[0].isJSON() != m.formats[1].isJSON() {
		m.note = "one of the files is not JSON: compared without a key" // equal rows would have other keys
	}
	m.keyed = len(rule.Key) > 0 && m.note == ""
	for side := range m.files {
		names := rule.Key
		if !m.keyed {
			keys[side], names = nil, nil
		}
		m.values[side] = newValues(m.formats[side], to, keys[side], names, seed)
	}
	return nil
}

// only counts the rows of a file that has no other one.
func (m *matcher) only(ctx context.Context, side int) error {
	for {
		row, err := m.readers[side].next()
		if row == nil || err != nil {
			return err
		}
		m.count(side)
		m.result.one(side, row.offset, 1)
		if m.steps++; m.steps%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// read goes through both files and lets equal rows meet. Where both are at equal rows, a
// comparison of their bytes is enough. Behind rows that only one file has, that file is
// read alone until both are at equal rows again.
func (m *matcher) read(ctx context.Context) error {
	slots := m.comparison.tables
	if slots == 0 {
		slots = usualTable
		for small := m.files[0].size + m.files[1].size; slots > 1<<10 && int64(slots)*16 > small; {
			slots /= 2
		}
	}
	m.waiting = newWaiting(slots, m.leave)
	isAlike := m.formats[0].form == m.formats[1].form && m.formats[0].delimiter == m.formats[1].delimiter
	var next [2]*row
	alone := [2]int64{} // the offset up to which a file is read alone
	for {
		for side := range next {
			if next[side] != nil {
				continue
			}
			row, err := m.readers[side].next()
			if err != nil {
				return err
			}
			if next[side] = row; row != nil {
				m.count(side)
			}
		}
		if m.steps++; m.steps%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a, b := next[0], next[1]
		switch {
		case a == nil && b == nil:
			return nil
		case a != nil && b != nil && isAlike && a.long == nil && b.long == nil && a.raw == b.raw && bytes.Equal(a.text, b.text):
			next = [2]*row{}
			continue
		}
		only := -1
		for side := range next {
			if next[1-side] == nil || next[side] != nil && next[side].offset < alone[side] {
				only = side
			}
		}
		for side := range next {
			if only >= 0 && side != only {
				continue
			}
			other := m.readers[1-side].offset()
			if next[1-side] != nil {
				other = next[1-side].offset
			}
			until, err := m.meet(side, next[side], other)
			if err != nil {
				return err
			}
			if until != 0 {
				alone = [2]int64{}
				alone[side] = until
			}
			next[side] = nil
		}
	}
}

func (m *matcher) count(side int) {
	if side == 0 {
		m.rows.Before++
	} else {
		m.rows.After++
	}
}

// signs are how rows of each side count.
var signs = [2]int64{1, -1}

// meet lets a row meet the rows of the other file, of which the next one is at other. After
// a meeting, until is the offset at which this file has caught up with it.
func (m *matcher) meet(side int, row *row, other int64) (until int64, err error) {
	value, key := m.values[side].of(row)
	met, partner, err := m.waiting.meet(value, key, row.offset, signs[side])
	if !met || err != nil {
		return 0, err
	}
	return row.offset + max(other-partner, 0), nil
}

// leave takes a row that has waited too long into the scratch file.
func (m *matcher) leave(w waitingRow) error {
	if m.spill == nil {
		record := shortRecord
		if m.keyed {
			record = keyedRecord
		}
		m.spill = spill.New(m.comparison.Scratch, record, spill.Partitions(m.files[0].size+m.files[1].size))
	}
	m.record = appendRecord(m.record[:0], w, m.keyed)
	return m.spill.Add(partOf(w.key, m.spill.Parts()), m.record)
}
