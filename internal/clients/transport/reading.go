package transport

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is one way to read what stands at a place of a text: as a character
// in UTF-8, or as a byte of one.
type reading struct {
	text [utf8.UTFMax]byte
	size int // of text
	end  int // where what was read ends
}

func readByte(c byte, end int) reading { return reading{text: [4]byte{c}, size: 1, end: end} }

func readRune(c rune, end int) reading {
	r := reading{end: end}
	r.size = utf8.EncodeRune(r.text[:], c)
	return r
}

// begins is true when secret begins with what was read.
func (r reading) begins(secret string) bool {
	if r.size > len(secret) {
		return false
	}
	for i := range r.size {
		if !stands(r.text[i], secret[i]) {
			return false
		}
	}
	return true
}

// readings are all ways to read what stands at a place. Eight are more than
// there are, but for nonsense.
type readings struct {
	list  [8]reading
	count int
}

func (r *readings) all() []reading { return r.list[:r.count] }

func (r *readings) add(read reading) {
	if r.count < len(r.list) && !slices.Contains(r.all(), read) {
		r.list[r.count] = read
		r.count++
	}
}

// read finds every way to read what stands at a place, with up to so many
// escapes over each other. The result holds until the next call.
func (s *scan) read(at, nesting int) *readings {
	found := &s.found[nesting]
	found.count = 0
	if at >= len(s.text) {
		return found
	}
	if nesting == 0 || !beginsEscape(s.text[at]) {
		found.add(readByte(s.text[at], at+1))
		return found
	}
	inner := s.read(at, nesting-1)
	copy(found.list[:], inner.all())
	found.count = inner.count
	for _, begin := range found.all() {
		if begin.size != 1 {
			continue
		}
		switch begin.text[0] {
		case '%':
			if value, end := s.hexNumber(begin.end, 2, nesting-1); end > 0 {
				found.add(readByte(byte(value), end))
			}
		case '\\':
			s.readJSON(found, begin.end, nesting-1)
		case '&':
			s.readXML(found, begin.end, nesting-1)
		}
	}
	return found
}

// readJSON reads what follows a backslash: uXXXX, also twice for what lies
// beyond 16 bits, xXX as other languages have it, or the character itself.
func (s *scan) readJSON(found *readings, at, nesting int) {
	after := *s.read(at, nesting) // a copy, for what follows reads on
	for _, next := range after.all() {
		found.add(next)
		switch next.text[0] {
		case 'u', 'U':
			if value, end := s.hexNumber(next.end, 4, nesting); end > 0 {
				found.add(s.joinSurrogates(value, end, nesting))
			}
		case 'x', 'X':
			if value, end := s.hexNumber(next.end, 2, nesting); end > 0 {
				found.add(readRune(value, end))
			}
		}
	}
}

// joinSurrogates reads the second half of a character, when high is a first one.
func (s *scan) joinSurrogates(high rune, at, nesting int) reading {
	if utf16.IsSurrogate(high) {
		_, next := s.oneByte(at, nesting, func(c byte) bool { return c == '\\' })
		_, next = s.oneByte(next, nesting, func(c byte) bool { return c == 'u' || c == 'U' })
		if low, end := s.hexNumber(next, 4, nesting); end > 0 {
			return readRune(utf16.DecodeRune(high, low), end)
		}
	}
	return readRune(high, at)
}

// maxEntity is how many characters an entity has at most, zeros in front included.
const maxEntity = 12

// readXML reads what follows an ampersand, up to the semicolon.
func (s *scan) readXML(found *readings, at, nesting int) {
	var name [maxEntity]byte
	for i := range name {
		c, end := s.oneByte(at, nesting, isOfEntity)
		if end < 0 {
			return
		}
		if c != ';' {
			name[i], at = c, end
			continue
		}
		if value, known := entity(strings.ToLower(string(name[:i]))); known {
			found.add(readRune(value, end))
		}
		return
	}
}

func entity(name string) (rune, bool) {
	digits, isNumber := strings.CutPrefix(name, "#")
	if !isNumber {
		value, known := xmlEntities[name]
		return value, known
	}
	base := 10
	if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
		digits, base = hex, 16
	}
	value, err := strconv.ParseUint(digits, base, 21) // as many bits as Unicode has
	return rune(value), err == nil
}

// xmlEntities are the names that XML has for characters.
var xmlEntities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// hexNumber reads so many hex digits; end is -1 when they are not there.
func (s *scan) hexNumber(at, digits, nesting int) (value rune, end int) {
	for range digits {
		c, next := s.oneByte(at, nesting, isHex)
		if next < 0 {
			return 0, -1
		}
		value, at = value<<4|rune(unhex(c)), next
	}
	return value, at
}

// oneByte reads a byte within an escape: of the readings that are of use there
// the one that undoes most. end is -1 when none is, or at was.
func (s *scan) oneByte(at, nesting int, isOfUse func(byte) bool) (c byte, end int) {
	if at < 0 {
		return 0, -1
	}
	for _, r := range slices.Backward(s.read(at, nesting).all()) {
		if r.size == 1 && isOfUse(r.text[0]) {
			return r.text[0], r.end
		}
	}
	return 0, -1
}

func isHex(c byte) bool { return unhex(c) >= 0 }

func isOfEntity(c byte) bool {
	return c == '#' || c == ';' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
