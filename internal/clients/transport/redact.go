package transport

import (
	"slices"
	"sort"
	"strings"
)

// redacted replaces the Customer ID.
const redacted = "REDACTED"

// Redactor removes the Customer ID from text: as it is, and in every spelling of
// spellingsOf, which each character may have on its own. The zero value removes
// nothing. Safe for concurrent use.
type Redactor struct{ secrets []*secret }

// NewRedactor returns a Redactor for the given Customer ID; "" removes nothing.
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

// secret is a text to find: the spellings of each of its characters, sorted.
type secret struct {
	begins     [256]bool // the first bytes of the first character's spellings
	characters [][]string
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

// find returns where the next occurrence of a secret begins and ends, or -1.
// Occurrences that overlap are one.
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

// match returns where the longest occurrence that begins at a place ends, or -1.
func match[T string | []byte](secrets []*secret, text T, at int) int {
	end := -1
	for _, s := range secrets {
		if s.begins[text[at]] {
			end = max(end, matchOne(s, text, at))
		}
	}
	return end
}

// matchOne follows every spelling at once, because one can begin another: `%25`
// spells a `%`, and so does its first byte.
func matchOne[T string | []byte](s *secret, text T, at int) int {
	var room [2][8]int // enough for nearly all texts without an allocation
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

// appendEnds appends where the spellings end that the text has at a place. It
// narrows the sorted spellings down byte by byte.
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

// HoldsID is true when a name or a short text holds the Customer ID. Other case
// counts too where the ID is long enough for that to be no accident.
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
