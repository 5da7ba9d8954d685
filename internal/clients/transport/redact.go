package transport

import (
	"bytes"
	"net/url"
	"strings"
)

// redacted is what stands in the place of the Customer ID.
const redacted = "REDACTED"

// Redactor removes the Customer ID from text, however its characters are
// written: plain, percent-encoded in either case and once or twice, or escaped
// as JSON and XML do. The zero value removes nothing. Safe for concurrent use.
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

// Contains is true when s holds the Customer ID in any form.
func (r Redactor) Contains(s string) bool {
	start, _ := r.find([]byte(s), 0)
	return start >= 0
}

// Bytes returns b without the Customer ID; b itself when it holds none.
func (r Redactor) Bytes(b []byte) []byte {
	start, end := r.find(b, 0)
	if start < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	done := 0
	for start >= 0 {
		out = append(append(out, b[done:start]...), redacted...)
		done = end
		start, end = r.find(b, done)
	}
	return append(out, b[done:]...)
}

// find returns where the next occurrence begins and ends, or -1.
func (r Redactor) find(b []byte, from int) (start, end int) {
	if r.secret == "" {
		return -1, -1
	}
	first := string(r.secret[0]) + `%\&+`
	for i := from; i < len(b); i++ {
		skip := bytes.IndexAny(b[i:], first)
		if skip < 0 {
			return -1, -1
		}
		i += skip
		if n := r.match(b[i:]); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}

// match returns the length of the occurrence at the start of b, or 0.
func (r Redactor) match(b []byte) int {
	at := 0
	for i := 0; i < len(r.secret); i++ {
		n := matchByte(b[at:], r.secret[i])
		if n == 0 {
			return 0
		}
		at += n
	}
	return at
}

// matchByte returns how many bytes of b spell the byte c, or 0.
func matchByte(b []byte, c byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == c && !startsEscape(b, c):
		return 1
	case hexByte(b, "%25") == int(c):
		return 5
	case hexByte(b, "%") == int(c):
		return 3
	case hexByte(b, `\u00`) == int(c):
		return 6
	case b[0] == '+' && c == ' ':
		return 1
	case len(b) > 1 && b[0] == '\\' && b[1] == c:
		return 2
	}
	for entity, char := range xmlEntities {
		if char == c && bytes.HasPrefix(b, []byte(entity)) {
			return len(entity)
		}
	}
	if b[0] == c {
		return 1
	}
	return 0
}

// xmlEntities are the spellings that XML and HTML writers use.
var xmlEntities = map[string]byte{
	"&amp;": '&', "&lt;": '<', "&gt;": '>', "&quot;": '"', "&apos;": '\'',
	"&#34;": '"', "&#39;": '\'', "&#43;": '+', "&#x27;": '\'',
}

// startsEscape is true when a c that is itself an escape character begins a
// longer spelling of c: `%25` for `%`, `\\` for `\`, `&amp;` for `&`.
func startsEscape(b []byte, c byte) bool {
	switch c {
	case '%':
		return hexByte(b, "%") == '%'
	case '\\':
		return len(b) > 1 && b[1] == '\\'
	case '&':
		return bytes.HasPrefix(b, []byte("&amp;"))
	}
	return false
}

// hexByte reads two hex digits after prefix at the start of b, or returns -1.
func hexByte(b []byte, prefix string) int {
	if len(b) < len(prefix)+2 || !strings.EqualFold(string(b[:len(prefix)]), prefix) {
		return -1
	}
	hi, lo := unhex(b[len(prefix)]), unhex(b[len(prefix)+1])
	if hi < 0 || lo < 0 {
		return -1
	}
	return hi<<4 | lo
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
