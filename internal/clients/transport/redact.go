package transport

import (
	"slices"
	"sort"
	"strings"
)

// redacted replaces the Customer ID.
const redacted = "REDACTED"

// Redactor removes the Customer ID from text, plain and encoded: each character of the
// ID may have any spelling of spellingsOf. The zero value removes nothing. Safe for
// concurrent use.
type Redactor struct{ secrets []*secret }

// NewRedactor returns a Redactor for a Customer ID. It computes all spellings, which
// takes milliseconds: keep the Redactor. With "" it removes nothing.
func NewRedactor(customerID string) Redactor {
	if customerID == "" {
		return Redactor{}
	}
	return Redactor{secrets: []*secret{newSecret(customerID)}}
}

// String returns s without the Customer ID.
func (r Redactor) String(s string) string {
	if !r.Contains(s) {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// Contains is true when s holds the Customer ID in any spelling.
func (r Redactor) Contains(s string) bool {
	start, _ := find(r.secrets, s, 0)
	return start >= 0
}

// Bytes returns b without the Customer ID; b itself when it holds none.
func (r Redactor) Bytes(b []byte) []byte {
	start, end := find(r.secrets, b, 0)
	if start < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	done := 0
	for start >= 0 {
		out = append(append(out, b[done:start]...), redacted...)
		done = end
		start, end = find(r.secrets, b, done)
	}
	return append(out, b[done:]...)
}

// secret is a text to find.
type secret struct {
	begins     [256]bool  // true for the first byte of each spelling of the first character
	characters [][]string // the sorted spellings of each character
}

func newSecret(text string) *secret {
	s := &secret{}
	for c := range strings.SplitSeq(text, "") {
		s.characters = append(s.characters, spellingsOf(c))
	}
	for _, spelling := range s.characters[0] {
		s.begins[spelling[0]] = true
	}
	return s
}

// find returns the start and the end of the next occurrence of a secret, or -1.
// Overlapping occurrences count as one.
func find[T string | []byte](secrets []*secret, text T, from int) (start, end int) {
	for start = from; start < len(text); start++ {
		if end = match(secrets, text, start); end < 0 {
			continue
		}
		for i := start + 1; i < end; i++ {
			end = max(end, match(secrets, text, i))
		}
		return start, end
	}
	return -1, -1
}

// match returns the end of the longest occurrence that begins at a place, or -1.
func match[T string | []byte](secrets []*secret, text T, at int) int {
	end := -1
	for _, s := range secrets {
		if s.begins[text[at]] {
			end = max(end, matchOne(s, text, at))
		}
	}
	return end
}

// matchOne is match for one secret. It follows all spellings at once, because one can
// be the beginning of another: `%` and `%25` are both spellings of a `%`.
func matchOne[T string | []byte](s *secret, text T, at int) int {
	var room [2][8]int // enough in nearly all cases, so that matching allocates nothing
	reached, next := append(room[0][:0], at), room[1][:0]
	for _, spellings := range s.characters {
		for _, at := range reached {
			next = appendEnds(next, spellings, text, at)
		}
		if len(next) == 0 {
			return -1
		}
		reached, next = next, reached[:0]
	}
	return slices.Max(reached)
}

// appendEnds appends the ends of the spellings that the text has at a place. It narrows
// the sorted spellings down byte by byte.
func appendEnds[T string | []byte](ends []int, spellings []string, text T, at int) []int {
	for depth := 0; len(spellings) > 0; depth++ {
		if len(spellings[0]) == depth {
			if !slices.Contains(ends, at+depth) {
				ends = append(ends, at+depth)
			}
			spellings = spellings[1:]
		}
		if at+depth == len(text) {
			break
		}
		c := text[at+depth]
		from := sort.Search(len(spellings), func(i int) bool { return spellings[i][depth] >= c })
		spellings = spellings[from:]
		to := sort.Search(len(spellings), func(i int) bool { return spellings[i][depth] > c })
		spellings = spellings[:to]
	}
	return ends
}

// HoldsID is true when a text holds the Customer ID. An ID of at least minFolded bytes
// is found in any case.
func (c *Client) HoldsID(text string) bool {
	return c.redact.Contains(text) || c.folded.Contains(strings.ToLower(text))
}

// minFolded is the length of an ID that does not occur by chance in another case.
const minFolded = 8

func foldedRedactor(customerID string) Redactor {
	if len(customerID) < minFolded {
		return Redactor{}
	}
	return NewRedactor(strings.ToLower(customerID))
}
