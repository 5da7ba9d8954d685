package changes

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"strconv"
)

// sum is the keyed hash of a row or a key, cut to 128 bits.
type sum [2]uint64

// seedSize is how much of the text of each hash is the seed of the run.
const seedSize = 16

// seeds differ from run to run, so that nobody can prepare rows that collide. A key needs
// no hash that withstands more than that.
type seeds struct {
	rows [seedSize]byte
	keys [2]maphash.Seed
}

// values makes hashes of the rows of one file.
type values struct {
	format format
	to     format // of the later file: rows are written as it writes them
	key    []int
	names  [][]byte // of the members of a key, in canonical form

	fields  fieldList
	json    jsonText
	members []member
	text    []byte // what is hashed: seed, kind, value
	spare   []byte
	keyText []byte
	seeds   [2]maphash.Seed
}

// The kinds of values, which never collide.
const (
	ofRow byte = iota
	ofRaw
)

func newValues(f, to format, key []int, names []string, seed seeds) *values {
	v := &values{format: f, to: to, key: key, text: bytes.Clone(seed.rows[:]), seeds: seed.keys}
	for _, name := range names {
		text, _ := v.json.canonical(nil, strconv.AppendQuote(nil, name))
		v.names = append(v.names, text)
	}
	return v
}

func newSeeds() seeds {
	s := seeds{keys: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	_, _ = rand.Read(s.rows[:]) // never fails
	return s
}

func (v *values) hash(text []byte) sum {
	d := sha256.Sum256(text)
	return sum{binary.BigEndian.Uint64(d[:]), binary.BigEndian.Uint64(d[8:])}
}

// of returns the hashes of a row and of its key. Without a key, or for a row that has
// none, both are the same.
func (v *values) of(row *row) (value, key sum) {
	v.text = v.text[:seedSize]
	if row.raw {
		return v.ofRaw(row)
	}
	isJSON := v.format.form == jsonLines || v.format.form == jsonArray
	v.text = append(v.text, ofRow)
	if isJSON {
		var ok bool
		if v.text, ok = v.json.canonical(v.text, row.text); !ok {
			v.text = v.text[:seedSize]
			return v.ofRaw(row)
		}
	} else {
		v.text = v.canonical(v.text, row)
	}
	value = v.hash(v.text)
	if len(v.key) == 0 {
		return value, value
	}
	var found bool
	if isJSON {
		found = v.jsonKey(v.text[seedSize+1:])
	} else {
		found = v.fieldKey(row)
	}
	if !found {
		return value, value
	}
	return value, sum{maphash.Bytes(v.seeds[0], v.keyText), maphash.Bytes(v.seeds[1], v.keyText)}
}

func (v *values) ofRaw(row *row) (value, key sum) {
	v.text = append(v.text, ofRaw)
	if row.long != nil {
		v.text = append(v.text, row.long[:]...)
	} else {
		v.text = append(v.text, row.text...)
	}
	value = v.hash(v.text)
	return value, value
}

// canonical appends a row with as few quotes as it needs.
func (v *values) canonical(dst []byte, row *row) []byte {
	if v.format.form != delimited {
		return append(dst, row.text...)
	}
	if v.format.delimiter == v.to.delimiter && bytes.IndexByte(row.text, '"') < 0 {
		return append(dst, row.text...)
	}
	v.fields.split(v.format, row)
	for i, field := range v.fields.all {
		if i > 0 {
			dst = append(dst, v.to.delimiter)
		}
		dst = appendField(dst, field, v.to.delimiter)
	}
	return dst
}

// appendField appends a field, in quotes if it needs them. Its line ends become line feeds.
func appendField(dst, field []byte, delimiter byte) []byte {
	if bytes.IndexByte(field, delimiter) < 0 && bytes.IndexByte(field, '"') < 0 && bytes.IndexByte(field, '\n') < 0 && bytes.IndexByte(field, '\r') < 0 {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for i, c := range field {
		switch {
		case c == '"':
			dst = append(dst, '"')
		case c == '\r' && i+1 < len(field) && field[i+1] == '\n':
			continue
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// fieldKey writes the text of the key. It is false if the row lacks a column.
func (v *values) fieldKey(row *row) bool {
	v.fields.split(v.format, row)
	v.keyText = v.keyText[:0]
	for _, column := range v.key {
		if column < 0 || column >= len(v.fields.all) {
			return false
		}
		v.part(v.fields.all[column])
	}
	return true
}

func (v *values) part(field []byte) {
	v.keyText = binary.AppendUvarint(v.keyText, uint64(len(field)))
	v.keyText = append(v.keyText, field...)
}

// jsonKey does the same for a row in canonical form.
func (v *values) jsonKey(row []byte) bool {
	v.spare = append(v.spare[:0], row...)
	row = v.spare
	v.keyText = v.keyText[:0]
	v.members = membersOf(v.members[:0], row)
	for i, column := range v.key {
		found := false
		for n, one := range v.members {
			if row[0] == '[' && n == column || row[0] == '{' && bytes.Equal(one.name(row), v.names[i]) {
				v.part(one.value(row))
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// fieldList is a row's fields. They are valid until the next split.
type fieldList struct {
	all  [][]byte
	text []byte // of the fields that were quoted
}

// split takes a row apart. A row that is not of its format is one field.
func (l *fieldList) split(f format, row *row) {
	l.all, l.text = l.all[:0], l.text[:0]
	text := row.text
	switch {
	case row.raw || f.form == lines:
		l.all = append(l.all, text)
	case f.form == fixed:
		for _, width := range f.widths {
			width = min(width, len(text))
			l.all = append(l.all, text[:width])
			text = text[width:]
		}
		if len(text) > 0 {
			l.all = append(l.all, text)
		}
	case f.form == delimited:
		l.delimited(f.delimiter, text)
	}
}

func (l *fieldList) delimited(delimiter byte, text []byte) {
	if cap(l.text) < len(text) {
		l.text = make([]byte, 0, 2*len(text))
	}
	for {
		var end int
		if len(text) > 0 && text[0] == '"' {
			start := len(l.text)
			end = l.unquote(text)
			rest := bytes.IndexByte(text[end:], delimiter)
			if rest < 0 {
				rest = len(text) - end
			}
			l.text = append(l.text, text[end:end+rest]...) // text after the closing quote
			end += rest
			l.all = append(l.all, l.text[start:len(l.text):len(l.text)])
		} else {
			if end = bytes.IndexByte(text, delimiter); end < 0 {
				end = len(text)
			}
			l.all = append(l.all, text[:end])
		}
		if end >= len(text) {
			return
		}
		text = text[end+1:]
	}
}

// unquote appends the value of a quoted field, and returns its length in the row.
func (l *fieldList) unquote(text []byte) int {
	i := 1
	for {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			l.text = append(l.text, text[i:]...)
			return len(text)
		}
		l.text = append(l.text, text[i:i+n]...)
		i += n + 1
		if i >= len(text) || text[i] != '"' {
			return i
		}
		l.text = append(l.text, '"')
		i++
	}
}
