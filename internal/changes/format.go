package changes

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule says how to read the files whose path matches a pattern. What it leaves open is
// found by looking at the first 64 KiB of both files.
type Rule struct {
	Glob      string   // a pattern without a slash matches the last segment of a path
	Key       []string // columns that name a row: numbers from 1 on, names of the header, or members
	Delimiter string   // one byte
	Header    *bool
	Fixed     []int // widths in bytes
}

// Matches is true when the rule is about a path.
func (r Rule) Matches(name string) bool {
	if !strings.Contains(r.Glob, "/") {
		name = path.Base(name)
	}
	matched, err := path.Match(r.Glob, name)
	return matched && err == nil
}

// rule returns the first rule about a path.
func (c Comparison) rule(name string) Rule {
	for _, rule := range c.Rules {
		if rule.Matches(name) {
			return rule
		}
	}
	return Rule{}
}

// form is how rows are written.
type form uint8

const (
	lines     form = iota // one column
	delimited             // quoted as in RFC 4180
	fixed                 // columns of fixed widths
	jsonLines             // one value a line
	jsonArray             // one array for the whole file
)

// format is how one file is read.
type format struct {
	form      form
	delimiter byte
	eol       byte
	header    bool
	widths    []int
}

func (f format) String() string {
	switch f.form {
	case delimited:
		switch f.delimiter {
		case '\t':
			return "delimited by tabs"
		default:
			return fmt.Sprintf("delimited by %q", f.delimiter)
		}
	case fixed:
		return "fixed width"
	case jsonLines:
		return "JSON lines"
	case jsonArray:
		return "JSON array"
	}
	return "lines"
}

// sniffed is how much of a file says how it is written.
const sniffed = 64 << 10

var bom = []byte("\xef\xbb\xbf")

// decide returns the formats of two files. heads are their first bytes; ends are true when
// these are the whole file.
func decide(rule Rule, heads [2][]byte, ends [2]bool) [2]format {
	var found [2]format
	for side, head := range heads {
		found[side] = look(rule, bytes.TrimPrefix(head, bom), ends[side])
	}
	for side, head := range heads {
		if other := found[1-side]; len(bytes.TrimSpace(head)) == 0 || found[side].form == lines && other.form == delimited && columns(head, other, ends[side]) {
			eol := found[side].eol
			found[side] = other
			if len(head) > 0 {
				found[side].eol = eol
			}
		}
	}
	for side, head := range heads {
		f := &found[side]
		switch {
		case f.isJSON():
		case rule.Header != nil:
			f.header = *rule.Header
		default:
			f.header = looksLikeHeader(bytes.TrimPrefix(head, bom), *f, ends[side])
		}
	}
	if rule.Header == nil && found[0].header != found[1].header && len(heads[0]) > 0 && len(heads[1]) > 0 {
		found[0].header, found[1].header = false, false
	}
	return found
}

// columns is true when a file can be read with the delimiter of the other one.
func columns(head []byte, other format, end bool) bool {
	for _, row := range headRows(head, other, end) {
		if len(row) > 1 {
			return true
		}
	}
	return false
}

// look finds the format of one file.
func look(rule Rule, head []byte, end bool) format {
	f := format{eol: '\n'}
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		f.eol = '\r'
	}
	switch {
	case len(rule.Fixed) > 0:
		f.form, f.widths = fixed, rule.Fixed
		return f
	case rule.Delimiter != "":
		f.form, f.delimiter = delimited, rule.Delimiter[0]
		return f
	}
	if f.form = lookForJSON(head, f.eol, end); f.form != lines {
		return f
	}
	best := 1
	for _, delimiter := range []byte(",\t|;") {
		try := format{form: delimited, delimiter: delimiter, eol: f.eol}
		if n := usualColumns(headRows(head, try, end)); n > best {
			best, f.form, f.delimiter = n, delimited, delimiter
		}
	}
	if f.form == lines && bytes.HasPrefix(head, []byte{'"'}) {
		// One quoted column: its quotes are none of its values.
		try := format{form: delimited, delimiter: ',', eol: f.eol}
		if rows := headRows(head, try, end); usualColumns(rows) == 1 && bytes.Count(head, []byte{f.eol, '"'})+1 >= len(rows) {
			return try
		}
	}
	return f
}

// lookForJSON recognises JSON lines and an array. A single document that is none of them
// is text.
func lookForJSON(head []byte, eol byte, end bool) form {
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return lines
	}
	var j jsonText
	whole := 0
	for rest := text; whole < 2; whole++ {
		line, after, ended := bytes.Cut(rest, []byte{eol})
		if !ended && !end && len(line) > 0 {
			break
		}
		if line = bytes.TrimSpace(line); len(line) == 0 && !ended {
			break
		} else if len(line) == 0 {
			whole--
		} else if _, ok := j.canonical(nil, line); !ok || line[0] != '{' && line[0] != '[' {
			whole = -1
			break
		}
		if rest = after; !ended {
			whole++
			break
		}
	}
	switch {
	case whole >= 2 || whole == 1 && text[0] == '{':
		return jsonLines
	case text[0] == '[' && startsArray(text, end):
		return jsonArray
	case whole == 0 && text[0] == '{' && bytes.IndexByte(text, eol) < 0 && startsObject(text):
		return jsonLines // whose first row is longer than this head
	}
	return lines
}

// startsObject is true for text such as {"name":
func startsObject(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t")
	return len(rest) > 0 && rest[0] == '"'
}

// startsArray is true when the first element of an array is a value, as far as it is known.
func startsArray(text []byte, end bool) bool {
	var s valueScanner
	text = bytes.TrimLeft(text[1:], " \t\r\n")
	n, complete := s.scan(text)
	if !complete {
		return !end && len(text) > 0 && strings.IndexByte("{[\"-0123456789tfn", text[0]) >= 0
	}
	var j jsonText
	_, ok := j.canonical(nil, text[:n])
	return ok || len(text) > 0 && text[0] == ']'
}

// headRows splits the head of a file into rows of fields. It leaves a last row out that
// may go on.
func headRows(head []byte, f format, end bool) [][][]byte {
	r := newReader(content{ReaderAt: bytes.NewReader(head), size: int64(len(head))}, f)
	var all [][][]byte
	for {
		row, err := r.next()
		if err != nil || row == nil {
			return all
		}
		if r.offset() >= int64(len(head)) && !end && len(all) > 0 {
			return all
		}
		var fields fieldList
		fields.split(f, row)
		kept := make([][]byte, len(fields.all))
		for i, field := range fields.all {
			kept[i] = bytes.Clone(field)
		}
		if all = append(all, kept); len(all) == 1000 {
			return all
		}
	}
}

// usualColumns is the number of columns that nine rows of ten have, or 0.
func usualColumns(rows [][][]byte) int {
	count := map[int]int{}
	for _, row := range rows {
		count[len(row)]++
	}
	for n, times := range count {
		if times*10 >= len(rows)*9 {
			return n
		}
	}
	return 0
}

// looksLikeHeader is true when the first row has names, and a column below it has only
// numbers, or only values of one length that its name has not.
func looksLikeHeader(head []byte, f format, end bool) bool {
	if f.form != delimited {
		return false
	}
	rows := headRows(head, f, end)
	if len(rows) < 2 {
		return false
	}
	seen := map[string]bool{}
	for _, name := range rows[0] {
		if !isName(name) || seen[string(name)] {
			return false
		}
		seen[string(name)] = true
	}
	for column, name := range rows[0] {
		numbers, lengths, filled, length := true, true, 0, 0
		for _, row := range rows[1:] {
			if column >= len(row) || len(row[column]) == 0 {
				continue
			}
			if filled++; filled == 1 {
				length = len(row[column])
			}
			numbers = numbers && isNumber(row[column])
			lengths = lengths && len(row[column]) == length
		}
		if filled > 0 && (numbers || filled > 2 && lengths && length != len(name)) {
			return true
		}
	}
	return false
}

func isNumber(text []byte) bool {
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil
}

// isName is true for text that begins like a name and holds no control characters.
func isName(text []byte) bool {
	first, _ := utf8.DecodeRune(text)
	if len(text) == 0 || len(text) > 64 || !utf8.Valid(text) || isNumber(text) {
		return false
	}
	return !strings.ContainsRune("-+.0123456789", first) && !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' })
}

func (f format) isJSON() bool { return f.form == jsonLines || f.form == jsonArray }

// isBinary is true for content that no format can read.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head, 0) >= 0 && utf16Order(head) == nil
}

// keyOf resolves the columns of a key. It returns the columns that no header names.
func keyOf(rule Rule, f format, header []string) (numbers []int, missing []string) {
	for _, name := range rule.Key {
		if column := slices.Index(header, name); column >= 0 {
			numbers = append(numbers, column)
		} else if n, err := strconv.Atoi(name); err == nil && n > 0 {
			numbers = append(numbers, n-1)
		} else if f.isJSON() {
			numbers = append(numbers, -1) // a member
		} else {
			missing = append(missing, name)
		}
	}
	return numbers, missing
}

// namesOf are the names that a header gives to columns, each once: "" for a column without a
// name of its own.
func namesOf(header []string) []string {
	names, seen := make([]string, len(header)), make(map[string]bool, len(header))
	for column, text := range header {
		if name := strings.ToValidUTF8(text, "\ufffd"); !seen[name] {
			names[column], seen[name] = name, true
		}
	}
	return names
}

// columnName is the name of a column from 0 on.
func columnName(names []string, column int) string {
	if column < len(names) && names[column] != "" {
		return names[column]
	}
	return strconv.Itoa(column + 1)
}
