package changes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"syncd/internal/changes/spill"
)

// usualMemory is how many differing rows are sorted at once: 48 bytes each.
const usualMemory = 1 << 19

// inMemory is that number, or the one of a test.
func (m *matcher) inMemory() int { return cmp.Or(m.comparison.memory, usualMemory) }

// resolve counts the rows that have met no partner, one partition after the other.
func (m *matcher) resolve(ctx context.Context) error {
	if m.spill == nil {
		var all []waitingRow
		keep := func(w waitingRow) error { all = append(all, w); return nil }
		if err := m.waiting.rest(keep); err != nil {
			return err
		}
		return m.result.add(all)
	}
	if err := m.waiting.rest(m.leave); err != nil {
		return err
	}
	m.waiting.young, m.waiting.old = nil, nil
	for part := range m.spill.Parts() {
		size := m.spill.Len(part)
		passes := uint64(size/int64(m.inMemory()) + 1)
		for pass := range passes {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := m.resolvePart(ctx, part, passes, pass); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolvePart counts one of several shares of a partition. All rows of a key are in the
// same share.
func (m *matcher) resolvePart(ctx context.Context, part int, passes, pass uint64) error {
	records := uint64(m.spill.Len(part))/passes + 100
	slots := 1 << bits.Len64(records*3/2)
	if len(m.table) < slots {
		m.table = make([]waitingRow, slots)
	}
	table, used, crowded := m.table[:slots], 0, false
	err := m.spill.Each(part, func(record []byte) {
		w := readRecord(record)
		if w.key[1]>>32%passes != pass || crowded {
			return
		}
		slot := find(table, w.row)
		if slot.row == (sum{}) {
			used++
			crowded = used*4 > len(table)*3
		}
		slot.join(w)
	})
	if err == nil && crowded {
		clear(table)
		return m.crowd(ctx, part, passes, pass)
	}
	m.left = m.left[:0]
	err = cmp.Or(err, m.waiting.drain(table, func(w waitingRow) error {
		m.left = append(m.left, w)
		return nil
	}))
	return cmp.Or(err, m.result.add(m.left))
}

// merge adds up equal rows, in the order of their keys.
func merge(all []waitingRow) []waitingRow {
	slices.SortFunc(all, func(a, b waitingRow) int {
		if a.key[0] != b.key[0] {
			return cmp.Compare(a.key[0], b.key[0])
		}
		return cmp.Or(a.key.compare(b.key), a.row.compare(b.row), cmp.Compare(b.count, a.count), cmp.Compare(a.offset, b.offset))
	})
	out := all[:0]
	for _, w := range all {
		last := len(out) - 1
		if last >= 0 && out[last].row == w.row && out[last].key == w.key && out[last].count > 0 == (w.count > 0) {
			out[last].count += w.count
			continue
		}
		out = append(out, w)
	}
	return out
}

func (s sum) compare(o sum) int { return cmp.Or(cmp.Compare(s[0], o[0]), cmp.Compare(s[1], o[1])) }

// crowd counts the rows of keys that so many differing rows share that they do not fit
// into memory. Their pairs are counted, and not looked at by column.
func (m *matcher) crowd(ctx context.Context, part int, passes, pass uint64) error {
	size := m.spill.Len(part)
	groups := uint64(2*size/int64(m.inMemory()) + 1)
	type left struct{ rows [2]offsets }
	keys := map[sum]*left{}
	for group := range groups {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var all []waitingRow
		err := m.spill.Each(part, func(record []byte) {
			if w := readRecord(record); w.key[1]>>32%passes == pass && w.row[1]>>32%groups == group {
				if all = append(all, w); len(all) > 2*m.inMemory() {
					all = merge(all)
				}
			}
		})
		if err != nil {
			return err
		}
		eachRow(merge(all), func(w waitingRow) {
			l := keys[w.key]
			if l == nil {
				l = &left{}
				keys[w.key] = l
			}
			side := 0
			if w.count < 0 {
				side = 1
			}
			l.rows[side].add(w.offset, abs(w.count))
		})
	}
	for _, l := range keys {
		before, after := l.rows[0].total, l.rows[1].total
		m.result.changedRows(min(before, after))
		m.result.uncounted = m.result.uncounted || min(before, after) > 0
		for side, more := range []int64{before - after, after - before} {
			if more > 0 {
				m.result.one(side, l.rows[side].first, more)
			}
		}
	}
	return nil
}

// offsets adds up rows and keeps the first one's place.
type offsets struct{ first, total int64 }

func (o *offsets) add(offset, count int64) {
	if o.total == 0 || offset < o.first {
		o.first = offset
	}
	o.total += count
}

func abs(n int64) int64 { return max(n, -n) }

// eachRow visits what is left of merged rows after equal ones of both files have
// cancelled.
func eachRow(all []waitingRow, visit func(waitingRow)) {
	for i := 0; i < len(all); i++ {
		w := all[i]
		if i+1 < len(all) && all[i+1].row == w.row && all[i+1].key == w.key {
			i++
			if w.count += all[i].count; w.count < 0 {
				w.offset = all[i].offset
			}
		}
		if w.count != 0 {
			visit(w)
		}
	}
}

// result collects the rows that differ.
type result struct {
	matcher *matcher
	pairs   *spill.Records // of changed rows: the offsets of both, and how many; partitions by the earlier offset
	record  []byte
	samples [3]places // gone, added, changed
	columns []int64   // changed rows by column
	members map[string]int64
	names   []string   // of columns
	left    [2][]place // rows of one key

	uncounted bool // some changed rows were not looked at by column
}

// place is a row, or a changed row, of a file.
type place struct{ offset, other, count int64 }

// places are the first rows of a kind.
type places []place

// add keeps a place if it is one of the first.
func (p *places) add(limit int, one place) {
	for one.count = min(one.count, int64(limit)); one.count > 0; one.count-- {
		i, _ := slices.BinarySearchFunc(*p, one, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
		if i >= limit {
			return
		}
		if *p = slices.Insert(*p, i, one); len(*p) > limit {
			*p = (*p)[:limit]
		}
	}
}

// pairRecord is the size of a changed row in the scratch file.
const pairRecord = 24

func newResult(m *matcher) *result {
	return &result{matcher: m, members: map[string]int64{},
		pairs: spill.New(m.comparison.Scratch, pairRecord, spill.Partitions(m.files[0].size))}
}

// one counts a row that only one side has.
func (r *result) one(side int, offset, count int64) {
	if side == 0 {
		r.matcher.rows.Gone += count
	} else {
		r.matcher.rows.Added += count
	}
	r.samples[side].add(r.matcher.comparison.Samples, place{offset: offset, count: count})
}

func (r *result) changedRows(count int64) { r.matcher.rows.Changed += count }

// add counts rows that have met no partner. All rows of a key come together.
func (r *result) add(all []waitingRow) error {
	all = merge(all)
	if !r.matcher.keyed {
		eachRow(all, func(w waitingRow) {
			if w.count > 0 {
				r.one(0, w.offset, w.count)
			} else {
				r.one(1, w.offset, -w.count)
			}
		})
		return nil
	}
	var key sum
	var err error
	eachRow(all, func(w waitingRow) {
		if w.key != key {
			err = cmp.Or(err, r.group())
			key = w.key
		}
		side := 0
		if w.count < 0 {
			side = 1
		}
		r.left[side] = append(r.left[side], place{offset: w.offset, count: abs(w.count)})
	})
	return cmp.Or(err, r.group())
}

// group pairs the rows that are left of one key, in the order of their files.
func (r *result) group() error {
	byOffset := func(a, b place) int { return cmp.Compare(a.offset, b.offset) }
	before, after := r.left[0], r.left[1]
	slices.SortFunc(before, byOffset)
	slices.SortFunc(after, byOffset)
	for len(before) > 0 && len(after) > 0 {
		n := min(before[0].count, after[0].count)
		if err := r.changed(place{offset: before[0].offset, other: after[0].offset, count: n}); err != nil {
			return err
		}
		if before[0].count -= n; before[0].count == 0 {
			before = before[1:]
		}
		if after[0].count -= n; after[0].count == 0 {
			after = after[1:]
		}
	}
	for side, rest := range [][]place{before, after} {
		for _, one := range rest {
			r.one(side, one.offset, one.count)
		}
		r.left[side] = r.left[side][:0]
	}
	return nil
}

// changed notes a changed row. Its columns are looked at when all are known.
func (r *result) changed(p place) error {
	r.changedRows(p.count)
	r.samples[2].add(r.matcher.comparison.Samples, p)
	b := binary.LittleEndian.AppendUint64(r.record[:0], uint64(p.offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.other))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.count))
	r.record = b
	parts := int64(r.pairs.Parts())
	part := p.offset / (r.matcher.files[0].size/parts + 1)
	return r.pairs.Add(int(part), b)
}

// finish looks at the columns of changed rows, in the order of the earlier file, and reads
// the samples.
func (r *result) finish(ctx context.Context) error {
	m := r.matcher
	var all []place
	var d difference
	for part := range r.pairs.Parts() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		all = all[:0]
		err := r.pairs.Each(part, func(b []byte) {
			all = append(all, place{
				offset: int64(binary.LittleEndian.Uint64(b)),
				other:  int64(binary.LittleEndian.Uint64(b[8:])),
				count:  int64(binary.LittleEndian.Uint64(b[16:])),
			})
		})
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.other, b.other)) })
		for i, p := range all {
			if i%4096 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := d.find(m, p); err != nil {
				return err
			}
			r.tally(&d, p.count)
		}
	}
	r.nameColumns()
	return r.sample()
}

// maxMembers bounds the names of members and columns that are counted, which a publisher
// chooses, and maxChanged those of one sample.
const (
	maxMembers = 10000
	maxChanged = 100
)

// otherMembers is the name for those beyond it.
const otherMembers = "(others)"

func (r *result) tally(d *difference, count int64) {
	for _, column := range d.columns {
		for column >= len(r.columns) {
			r.columns = append(r.columns, make([]int64, column-len(r.columns)+1)...)
		}
		r.columns[column] += count
	}
	for _, name := range d.members {
		r.tallyName(name, count)
	}
}

func (r *result) tallyName(name string, count int64) {
	if _, known := r.members[name]; !known && len(r.members) >= maxMembers {
		name = otherMembers
	}
	r.members[name] += count
}

func (r *result) nameColumns() {
	m := r.matcher
	r.names = namesOf(m.headers[1])
	for column, n := range r.columns {
		if n > 0 {
			r.tallyName(columnName(r.names, column), n)
		}
	}
	if len(r.members) > 0 {
		m.rows.Columns = r.members
	}
	if r.uncounted {
		m.note = "more rows than fit into memory share a key: their columns are not counted"
	}
}

// maxSample is how much of a row a sample shows.
const maxSample = 1000

func (r *result) sample() error {
	m := r.matcher
	if m.comparison.Samples == 0 || len(r.samples[0])+len(r.samples[1])+len(r.samples[2]) == 0 {
		return nil
	}
	m.rows.Samples = &Samples{}
	for side, out := range []*[]string{&m.rows.Samples.Gone, &m.rows.Samples.Added} {
		for _, p := range r.samples[side] {
			row, err := m.at(side, p.offset)
			if err != nil {
				return err
			}
			*out = append(*out, sampleText(row))
		}
	}
	var d difference
	for _, p := range r.samples[2] {
		if err := d.find(m, p); err != nil {
			return err
		}
		one := ChangedSample{Before: sampleText(&d.rows[0]), After: sampleText(&d.rows[1]), Columns: slices.Clone(d.members[:min(len(d.members), maxChanged)])}
		for _, column := range d.columns[:min(len(d.columns), maxChanged)] {
			one.Columns = append(one.Columns, columnName(r.names, column))
		}
		if len(d.members)+len(d.columns) > maxChanged {
			one.Columns = append(one.Columns, otherMembers)
		}
		m.rows.Samples.Changed = append(m.rows.Samples.Changed, one)
	}
	return nil
}

// sampleText shows a row.
func sampleText(row *row) string {
	text := row.text
	if len(text) > maxSample {
		text = text[:maxSample]
	}
	shown := strings.ToValidUTF8(string(text), "\ufffd")
	if len(row.text) > maxSample {
		shown += "…"
	}
	return shown
}

// at reads one row again.
func (m *matcher) at(side int, offset int64) (*row, error) {
	m.readers[side].seek(offset)
	found, err := m.readers[side].next()
	if found == nil && err == nil {
		found = &row{offset: offset}
	}
	return found, err
}

// difference is how a row changed.
type difference struct {
	rows    [2]row
	columns []int    // from 0 on
	members []string // of an object
	fields  [2]fieldList
	json    [2]jsonText
	text    [2][]byte
	list    [2][]member
}

// find reads both rows and compares their columns.
func (d *difference) find(m *matcher, p place) error {
	d.columns, d.members = d.columns[:0], d.members[:0]
	for side, offset := range []int64{p.offset, p.other} {
		row, err := m.at(side, offset)
		if err != nil {
			return err
		}
		d.rows[side] = *row
		d.fields[side].all, d.list[side], d.text[side] = d.fields[side].all[:0], d.list[side][:0], d.text[side][:0]
		switch m.formats[side].form {
		case jsonLines, jsonArray:
			d.text[side], _ = d.json[side].canonical(d.text[side], row.text)
			d.list[side] = membersOf(d.list[side], d.text[side])
			for _, one := range d.list[side] {
				d.fields[side].all = append(d.fields[side].all, one.value(d.text[side]))
			}
		default:
			d.fields[side].split(m.formats[side], row)
		}
	}
	if len(d.text[0]) > 0 && len(d.text[1]) > 0 && d.text[0][0] == '{' && d.text[1][0] == '{' {
		d.byName()
		return nil
	}
	before, after := d.fields[0].all, d.fields[1].all
	for column := range max(len(before), len(after)) {
		if column >= len(before) || column >= len(after) || !sameField(before[column], after[column]) {
			d.columns = append(d.columns, column)
		}
	}
	return nil
}

// sameField is true for equal values. Line ends in quoted fields do not count.
func sameField(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.IndexByte(a, '\n') >= 0 &&
		bytes.Equal(bytes.ReplaceAll(a, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
}

// byName compares the members of two objects, which are sorted.
func (d *difference) byName() {
	a, b := d.list[0], d.list[1]
	for len(a) > 0 || len(b) > 0 {
		var order int
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = bytes.Compare(a[0].name(d.text[0]), b[0].name(d.text[1]))
		}
		switch {
		case order < 0:
			d.member(a[0].name(d.text[0]))
			a = a[1:]
		case order > 0:
			d.member(b[0].name(d.text[1]))
			b = b[1:]
		default:
			if !bytes.Equal(a[0].value(d.text[0]), b[0].value(d.text[1])) {
				d.member(a[0].name(d.text[0]))
			}
			a, b = a[1:], b[1:]
		}
	}
}

// member notes a member by its canonical name.
func (d *difference) member(name []byte) {
	text := strings.ToValidUTF8(strings.Trim(string(name), `"`), "\ufffd")
	if len(d.members) == 0 || d.members[len(d.members)-1] != text {
		d.members = append(d.members, text)
	}
}
