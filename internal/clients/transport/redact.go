package transport

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// redacted replaces the Customer ID.
const redacted = "REDACTED"

// Redactor removes the Customer ID from text, plain and encoded (secretsOf). The zero
// value removes nothing. Safe for concurrent use.
type Redactor struct {
	search   *search
	accident bool // names and numbers can hold the ID by accident
	long     bool // no text holds the ID by accident in another case
}

// search finds secrets in a text.
type search struct {
	secrets []secret
	begins  [256]bool // true for the first byte of each spelling of a secret
}

// minLong is the length of an ID that no text holds by accident in another case.
const minLong = 8

func isLong(customerID string) bool { return utf8.RuneCountInString(customerID) >= minLong }

// NewRedactor returns a Redactor for a Customer ID. It computes all spellings, which
// takes milliseconds: keep the Redactor. With "" it removes nothing.
func NewRedactor(customerID string) Redactor {
	if customerID == "" {
		return Redactor{}
	}
	s := &search{secrets: secretsOf(customerID)}
	for _, secret := range s.secrets {
		for c, begins := range secret[0].begins {
			s.begins[c] = s.begins[c] || begins
		}
	}
	long := isLong(customerID)
	return Redactor{s, !long || strings.Trim(customerID, "0123456789") == "", long}
}

// ForNames returns the Redactor for names and numbers that were parsed, and for output
// that is full of them. Sizes, dates, digests and names of files hold a short or numeric
// ID by accident, so this Redactor does not look for such an ID.
func (r Redactor) ForNames() Redactor {
	if r.accident {
		return Redactor{}
	}
	return r
}

// Name returns the name of a file, a release or a manifest, without the ID if the name
// repeats it.
func (r Redactor) Name(name string) string {
	if r.repeatedIn(name) {
		return r.String(name)
	}
	return name
}

// repeatedIn is true when a path repeats the ID. Honest paths hold a numeric ID by
// accident, as a date or a number, so this one must be a whole segment. A short ID can
// even be a whole segment: it is not looked for.
func (r Redactor) repeatedIn(path string) bool {
	switch {
	case !r.accident:
		return r.Contains(path)
	case !r.long:
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }), r.is)
}

// is true when the whole text is the Customer ID.
func (r Redactor) is(text string) bool { return r.String(text) == redacted }

// String returns s without the Customer ID.
func (r Redactor) String(s string) string {
	if !r.Contains(s) {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// Contains is true when s holds the Customer ID in any spelling.
func (r Redactor) Contains(s string) bool {
	start, _ := find(r.search, s, 0)
	return start >= 0
}

// Bytes returns b without the Customer ID; b itself when it holds none.
func (r Redactor) Bytes(b []byte) []byte {
	start, end := find(r.search, b, 0)
	if start < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	done := 0
	for start >= 0 {
		out = append(append(out, b[done:start]...), redacted...)
		done = end
		start, end = find(r.search, b, done)
	}
	return append(out, b[done:]...)
}

// find returns the start and the end of the next occurrence of a secret, or -1.
// Overlapping occurrences count as one.
func find[T string | []byte](s *search, text T, from int) (start, end int) {
	if s == nil {
		return -1, -1
	}
	for start = from; start < len(text); start++ {
		if !s.begins[text[start]] {
			continue
		}
		if end = match(s.secrets, text, start); end < 0 {
			continue
		}
		for i := start + 1; i < end; i++ {
			end = max(end, match(s.secrets, text, i))
		}
		return start, end
	}
	return -1, -1
}

// match returns the end of the longest occurrence that begins at a place, or -1.
func match[T string | []byte](secrets []secret, text T, at int) int {
	end := -1
	for _, s := range secrets {
		end = max(end, matchOne(s, text, at))
	}
	return end
}

// matchOne is match for one secret. A byte that begins no escape spells only itself.
func matchOne[T string | []byte](s secret, text T, at int) int {
	for len(s) > 0 && at < len(text) && !beginsEscape(text[at]) {
		if !s[0].begins[text[at]] {
			return -1
		}
		s, at = s[1:], at+1
	}
	return matchEscaped(s, text, at)
}

func beginsEscape(c byte) bool { return c == '%' || c == '\\' || c == '&' || c >= utf8.RuneSelf }

// matchEscaped follows all spellings at once, because one can be the beginning of
// another: `%` and `%25` are both spellings of a `%`.
func matchEscaped[T string | []byte](s secret, text T, at int) int {
	var room [2][8]int // enough in nearly all cases, so that matching allocates nothing
	reached, next := append(room[0][:0], at), room[1][:0]
	for _, c := range s {
		for _, at := range reached {
			next = appendEnds(next, c.spellings, text, at)
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
