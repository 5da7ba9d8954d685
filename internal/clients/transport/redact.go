package transport

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// redacted is what stands in the place of the Customer ID.
const redacted = "REDACTED"

// maxNesting is how many encodings may lie over each other and still be seen
// through: percent-encoding done twice within JSON, say.
const maxNesting = 3

// Redactor removes the Customer ID from text, however its characters are
// written: plain, percent-encoded in either case, with + for a space, escaped as
// JSON and XML do, or several of these over each other, and each character in
// its own way. The zero value removes nothing. Safe for concurrent use.
type Redactor struct{ secret string }

// NewRedactor returns a Redactor for the given Customer ID; "" removes nothing.
func NewRedactor(customerID string) Redactor { return Redactor{secret: customerID} }

// String returns s without the Customer ID.
func (r Redactor) String(s string) string {
	if !r.Contains(s) {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// readsOtherwise are the bytes that can be read as others. A text without them
// holds the Customer ID as it is, or not at all: the usual case, made quick.
const readsOtherwise = `%\&+`

// Contains is true when s holds the Customer ID in any form.
func (r Redactor) Contains(s string) bool {
	if !strings.ContainsAny(s, readsOtherwise) {
		return r.secret != "" && strings.Contains(s, r.secret)
	}
	start, _ := r.scan([]byte(s)).find(0)
	return start >= 0
}

// Bytes returns b without the Customer ID; b itself when it holds none.
func (r Redactor) Bytes(b []byte) []byte {
	if !bytes.ContainsAny(b, readsOtherwise) && !bytes.Contains(b, []byte(r.secret)) {
		return b
	}
	scan := r.scan(b)
	start, end := scan.find(0)
	if start < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	done := 0
	for start >= 0 {
		out = append(append(out, b[done:start]...), redacted...)
		done = end
		start, end = scan.find(done)
	}
	return append(out, b[done:]...)
}

func (r Redactor) scan(text []byte) *scan { return &scan{secret: r.secret, text: text} }

// scan looks for a secret in a text.
type scan struct {
	secret  string
	text    []byte
	found   [maxNesting + 1]readings // of the last place looked at, by nesting
	reached [][]int                  // by how many bytes of the secret are read: up to where
	touched int                      // how many of reached are in use
}

// find returns where the next occurrence, with those that overlap it, begins
// and ends, or -1.
func (s *scan) find(from int) (start, end int) {
	if s.secret == "" {
		return -1, -1
	}
	for start = from; start < len(s.text); start++ {
		if c := s.text[start]; !stands(c, s.secret[0]) && !beginsEscape(c) {
			continue
		}
		if skip := s.run(start); skip > 0 {
			start += skip - 1
			continue
		}
		if end = s.match(start); end < 0 {
			continue
		}
		for i := start + 1; i < end; i++ {
			end = max(end, s.match(i))
		}
		return start, end
	}
	return -1, -1
}

// longestRun is how many backslashes in a row can be one escape after another of
// a single character.
const longestRun = 1 << (maxNesting + 1)

// run is how many of the backslashes at a place can be passed over, because what
// they could stand for begins behind them: a long run would else be read again
// from each of its bytes.
func (s *scan) run(at int) int {
	if s.text[at] != '\\' || s.secret[0] == '\\' {
		return 0
	}
	length := 0
	for at+length < len(s.text) && s.text[at+length] == '\\' {
		length++
	}
	return max(length-longestRun, 0)
}

func beginsEscape(c byte) bool { return c == '%' || c == '\\' || c == '&' }

// stands is true when c stands for want: itself, or the + of a query for a space.
func stands(c, want byte) bool { return c == want || c == '+' && want == ' ' }

// match returns where the longest occurrence that begins at a place ends, or -1.
// The longest, because what follows may belong to the last character: `%25` is
// one way to write a `%`, and so is its first byte.
func (s *scan) match(at int) int {
	done := 0
	for ; at < len(s.text) && !beginsEscape(s.text[at]); at++ { // the usual case, made quick
		if !stands(s.text[at], s.secret[done]) {
			return -1
		}
		if done++; done == len(s.secret) {
			return at + 1
		}
	}
	return s.matchEscaped(at, done)
}

// matchEscaped is match where the text may be read in several ways, all of which
// are followed at once. So many bytes of the secret are read already.
func (s *scan) matchEscaped(at, done int) int {
	if s.reached == nil {
		s.reached = make([][]int, len(s.secret)+1)
	}
	for i := range s.reached[:s.touched] {
		s.reached[i] = s.reached[i][:0]
	}
	s.reached[done] = append(s.reached[done], at)
	s.touched = done + 1
	for ; done < min(s.touched, len(s.secret)); done++ {
		for _, at := range s.reached[done] {
			for _, next := range s.read(at, maxNesting).all() {
				if next.begins(s.secret[done:]) {
					s.reach(done+next.size, next.end)
				}
			}
		}
	}
	longest := -1
	for _, end := range s.reached[len(s.secret)] {
		longest = max(longest, end)
	}
	return longest
}

func (s *scan) reach(done, end int) {
	if !slices.Contains(s.reached[done], end) {
		s.reached[done] = append(s.reached[done], end)
		s.touched = max(s.touched, done+1)
	}
}

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

// PublicURL is u as it may be shown and recorded: without query, fragment and user part.
func PublicURL(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return clean.String()
}

// HoldsID is true when a name or a short text holds the Customer ID, also in
// other case where the ID is long enough for that to be no accident.
func (c *Client) HoldsID(text string) bool {
	return c.redact.Contains(text) || c.folded.Contains(strings.ToLower(text))
}

// minFolded is the length from which a Customer ID in other case is no accident.
const minFolded = 8

func foldedRedactor(customerID string) Redactor {
	if len(customerID) < minFolded {
		return Redactor{}
	}
	return NewRedactor(strings.ToLower(customerID))
}
