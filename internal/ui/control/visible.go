package control

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// visible rewrites a JSON text so that its strings hold no control characters: they
// become their escapes, as text. Commands print what they get, and another program could
// have the place of the engine.
func visible(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		size, escape := next(raw)
		if escape == "" {
			out = append(out, raw[:size]...)
		} else {
			out = append(append(out, '\\'), escape...)
		}
		raw = raw[size:]
	}
	return out
}

// next returns the size of the first character, and its escape if it has no shape.
func next(raw []byte) (size int, escape string) {
	if raw[0] != '\\' || len(raw) < 2 {
		r, size := utf8.DecodeRune(raw)
		if r < ' ' || unicode.IsPrint(r) { // below a space: only white space between values
			return size, ""
		}
		return size, fmt.Sprintf(`\u%04x`, r)
	}
	if bytes.IndexByte([]byte("bfnrt"), raw[1]) >= 0 {
		return 2, string(raw[:2])
	}
	if raw[1] == 'u' && len(raw) >= 6 {
		r, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
		if err == nil && !unicode.IsPrint(rune(r)) && !utf16.IsSurrogate(rune(r)) {
			return 6, string(raw[:6])
		}
	}
	return 2, ""
}
