package changes

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// valueScanner finds the end of a JSON value without looking at its grammar.
type valueScanner struct {
	depth   int
	begun   bool
	quoted  bool
	escaped bool
}

// scan goes on with text. n is how much of it belongs to the value. It is complete with a
// bracket or quote that closes it, or before a byte that ends a number or a literal.
func (s *valueScanner) scan(text []byte) (n int, complete bool) {
	for n < len(text) {
		c := text[n]
		if s.quoted {
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.quoted = false
				if s.depth == 0 {
					return n + 1, true
				}
			default:
				if skip := bytes.IndexByte(text[n:], '"'); skip > 0 && bytes.IndexByte(text[n:n+skip], '\\') < 0 {
					n += skip - 1
				}
			}
			n++
			continue
		}
		switch c {
		case '"':
			if s.depth == 0 && s.begun {
				return n, true
			}
			s.quoted = true
		case '{', '[':
			if s.depth == 0 && s.begun {
				return n, true
			}
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				return n, true
			}
			if s.depth--; s.depth == 0 {
				return n + 1, true
			}
		case ',', ' ', '\t', '\r', '\n':
			if s.depth == 0 {
				return n, true
			}
		}
		s.begun = true
		n++
	}
	return n, false
}

// maxDepth is how deep values may nest. Deeper ones compare as text.
const maxDepth = 200

// jsonText writes values in one canonical form: members by name, no white space, strings
// and numbers in one spelling. Its zero value is ready; it may be used again.
type jsonText struct {
	text   []byte
	at     int
	failed bool
	spare  [][]member
	copied []byte
}

// member is a member of an object, in the text that is written.
type member struct{ start, colon, end int }

// canonical appends the canonical form of text to dst. It is false for text that is not
// one value.
func (j *jsonText) canonical(dst, text []byte) ([]byte, bool) {
	j.text, j.at, j.failed = text, 0, false
	dst = j.value(dst, 0)
	j.space()
	return dst, !j.failed && j.at == len(text)
}

// membersOf appends the members of an object in canonical form, or the elements of an
// array, whose names are empty.
func membersOf(list []member, text []byte) []member {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return list
	}
	for i := 1; i < len(text)-1; i++ {
		one := member{start: i, colon: i}
		if text[0] == '{' {
			var s valueScanner
			n, _ := s.scan(text[i:])
			one.colon = i + n
			i += n + 1
		}
		var s valueScanner
		n, _ := s.scan(text[i:])
		i += n
		one.end = i
		list = append(list, one)
	}
	return list
}

// name is the canonical name of a member, value its canonical value.
func (m member) name(text []byte) []byte { return text[m.start:m.colon] }

func (m member) value(text []byte) []byte {
	if m.colon > m.start {
		return text[m.colon+1 : m.end]
	}
	return text[m.start:m.end]
}

func (j *jsonText) space() {
	for j.at < len(j.text) {
		switch j.text[j.at] {
		case ' ', '\t', '\r', '\n':
			j.at++
		default:
			return
		}
	}
}

// take is true when the next byte is c, and skips it.
func (j *jsonText) take(c byte) bool {
	if j.at < len(j.text) && j.text[j.at] == c {
		j.at++
		return true
	}
	return false
}

func (j *jsonText) value(dst []byte, depth int) []byte {
	j.space()
	if j.failed || j.at >= len(j.text) || depth > maxDepth {
		j.failed = true
		return dst
	}
	switch c := j.text[j.at]; c {
	case '{':
		return j.object(dst, depth)
	case '[':
		return j.array(dst, depth)
	case '"':
		return j.string(dst)
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if bytes.HasPrefix(j.text[j.at:], []byte(word)) {
				j.at += len(word)
				return append(dst, word...)
			}
		}
		j.failed = true
		return dst
	}
	return j.number(dst)
}

func (j *jsonText) array(dst []byte, depth int) []byte {
	j.at++
	dst = append(dst, '[')
	if j.space(); j.take(']') {
		return append(dst, ']')
	}
	for !j.failed {
		dst = j.value(dst, depth+1)
		if j.space(); j.take(']') {
			return append(dst, ']')
		}
		if !j.take(',') {
			j.failed = true
		}
		dst = append(dst, ',')
	}
	return dst
}

func (j *jsonText) object(dst []byte, depth int) []byte {
	j.at++
	dst = append(dst, '{')
	if j.space(); j.take('}') {
		return append(dst, '}')
	}
	var list []member
	if n := len(j.spare); n > 0 {
		list, j.spare = j.spare[n-1][:0], j.spare[:n-1]
	}
	start, sorted := len(dst), true
	for !j.failed {
		one := member{start: len(dst)}
		if j.space(); j.at >= len(j.text) || j.text[j.at] != '"' {
			j.failed = true
			break
		}
		dst = j.string(dst)
		if one.colon = len(dst); j.failed {
			break
		}
		if j.space(); !j.take(':') {
			j.failed = true
			break
		}
		dst = j.value(append(dst, ':'), depth+1)
		one.end = len(dst)
		if n := len(list); n > 0 && bytes.Compare(list[n-1].name(dst), one.name(dst)) > 0 {
			sorted = false
		}
		list = append(list, one)
		j.space()
		last := j.take('}')
		if !last && !j.take(',') {
			j.failed = true
		}
		if last {
			break
		}
		dst = append(dst, ',')
	}
	if !sorted && !j.failed {
		dst = j.sort(dst, start, list)
	}
	j.spare = append(j.spare, list)
	return append(dst, '}')
}

// sort brings the members of an object, which begin at start, into the order of their
// names. Members of one name keep their order.
func (j *jsonText) sort(dst []byte, start int, list []member) []byte {
	slices.SortStableFunc(list, func(a, b member) int { return bytes.Compare(a.name(dst), b.name(dst)) })
	j.copied = append(j.copied[:0], dst[start:]...)
	dst = dst[:start]
	for i, one := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, j.copied[one.start-start:one.end-start]...)
	}
	return dst
}

// string writes a string with the escapes that it needs and no others.
func (j *jsonText) string(dst []byte) []byte {
	j.at++
	dst = append(dst, '"')
	for j.at < len(j.text) {
		rest := j.text[j.at:]
		n := bytes.IndexByte(rest, '"')
		if n < 0 {
			break
		}
		e := bytes.IndexByte(rest[:n], '\\')
		if e < 0 {
			j.at += n + 1
			return append(append(dst, rest[:n]...), '"')
		}
		dst = append(dst, rest[:e]...)
		j.at += e
		if dst = j.escape(dst); j.failed {
			return dst
		}
	}
	j.failed = true
	return dst
}

// escape reads one escape. The characters that stay escaped are the quote, the backslash
// and half of a surrogate pair.
func (j *jsonText) escape(dst []byte) []byte {
	rest := j.text[j.at:]
	if len(rest) < 2 {
		j.failed = true
		return dst
	}
	j.at += 2
	switch rest[1] {
	case '"', '\\':
		return append(dst, '\\', rest[1])
	case '/':
		return append(dst, '/')
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
		return j.unicode(dst, rest)
	}
	j.failed = true
	return dst
}

// unicode reads an escape \u and, for a surrogate pair, the one behind it.
func (j *jsonText) unicode(dst, rest []byte) []byte {
	c, ok := hexRune(rest)
	if !ok {
		j.failed = true
		return dst
	}
	j.at += 4
	if utf16.IsSurrogate(c) {
		if low, ok := hexRune(rest[6:]); ok {
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				j.at += 6
				return utf8.AppendRune(dst, pair)
			}
		}
		return append(dst, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
	}
	if c == '"' || c == '\\' {
		return append(dst, '\\', byte(c))
	}
	return utf8.AppendRune(dst, c)
}

const hex = "0123456789abcdef"

// hexRune reads \uXXXX.
func hexRune(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// number writes a number as its digits without zeros at either end, and its exponent, so
// that 1, 1.0 and 10e-1 are one value, whatever their size.
func (j *jsonText) number(dst []byte) []byte {
	rest, i := j.text[j.at:], 0
	digits := func() (start int) {
		start = i
		for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
			i++
		}
		return start
	}
	negative := i < len(rest) && rest[i] == '-'
	if negative {
		i++
	}
	start := digits()
	whole, fraction := rest[start:i], []byte(nil)
	j.failed = len(whole) == 0 || len(whole) > 1 && whole[0] == '0'
	if i < len(rest) && rest[i] == '.' {
		i++
		start = digits()
		fraction = rest[start:i]
		j.failed = j.failed || len(fraction) == 0
	}
	exponent := int64(0)
	if i < len(rest) && (rest[i] == 'e' || rest[i] == 'E') {
		i++
		sign := i
		if i < len(rest) && (rest[i] == '+' || rest[i] == '-') {
			i++
		}
		start = digits()
		var err error
		if exponent, err = strconv.ParseInt(string(bytes.TrimPrefix(rest[sign:i], []byte("+"))), 10, 60); err != nil || start == i {
			j.failed = true // with it the row compares as text
		}
	}
	j.at += i
	all := bytes.TrimLeft(slices.Concat(whole, fraction), "0")
	exponent -= int64(len(fraction))
	short := bytes.TrimRight(all, "0")
	exponent += int64(len(all) - len(short))
	if len(short) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, short...)
	if exponent != 0 {
		dst = strconv.AppendInt(append(dst, 'e'), exponent, 10)
	}
	return dst
}
