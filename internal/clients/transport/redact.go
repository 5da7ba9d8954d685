package transport

import (
	"bytes"
	"slices"
	"strings"
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
