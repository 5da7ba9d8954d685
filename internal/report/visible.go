package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// blank is a letter without a shape, U+2800 of Braille.
const blank = '⠀'

// isVisible is true for a character that shows itself: it neither controls the terminal nor
// changes the direction of text, and it takes a place on the screen.
func isVisible(r rune) bool {
	return unicode.IsPrint(r) && r != blank && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Visible returns text with the escapes of JSON for each character that is not visible,
// but for line feeds and tabs. Text that is JSON keeps its meaning. Commands and the log
// write names that others chose: a command's name, the name of a file, an answer.
func Visible(text []byte) []byte {
	return escaped(text, func(r rune) bool { return isVisible(r) || r == '\n' || r == '\t' })
}

// VisibleLine is Visible for a text that has no line feeds and tabs of its own.
func VisibleLine(text string) string { return string(escaped([]byte(text), isVisible)) }

func escaped(text []byte, stays func(rune) bool) []byte {
	var out []byte // nil while nothing was escaped
	done := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		isInvalid := r == utf8.RuneError && size == 1
		if isInvalid || !stays(r) {
			out = append(out, text[done:i]...)
			if isInvalid {
				out = fmt.Appendf(out, `\x%02x`, text[i])
			} else {
				out = append(out, escapeOf(r)...)
			}
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

func escapeOf(r rune) string {
	if first, second := utf16.EncodeRune(r); first != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, first, second)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// VisibleCopy returns a value of the JSON contract whose strings hold no character that is
// not visible, not even a line feed.
func VisibleCopy[T any](value T) (clean T, err error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return value, err
	}
	err = json.Unmarshal(VisibleJSON(raw), &clean)
	return clean, err
}

// VisibleJSON rewrites a JSON text so that its strings hold only visible characters. The
// others become their escapes, as text.
func VisibleJSON(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		size, escape := nextInJSON(raw)
		if escape == "" {
			out = append(out, raw[:size]...)
		} else {
			out = append(append(out, '\\'), escape...)
		}
		raw = raw[size:]
	}
	return out
}

// nextInJSON returns the size of the first character, and its escape if it is not visible.
func nextInJSON(raw []byte) (size int, escape string) {
	if raw[0] != '\\' || len(raw) < 2 {
		r, size := utf8.DecodeRune(raw)
		if r < ' ' || isVisible(r) { // below a space: only white space between values
			return size, ""
		}
		return size, strings.ReplaceAll(escapeOf(r), `\u`, `\\u`)[1:]
	}
	if bytes.IndexByte([]byte("bfnrt"), raw[1]) >= 0 {
		return 2, string(raw[:2])
	}
	r, size := escapedRune(raw)
	if size > 0 && !isVisible(r) && !utf16.IsSurrogate(r) {
		return size, strings.ReplaceAll(string(raw[:size]), `\u`, `\\u`)[1:]
	}
	return 2, ""
}

// escapedRune reads an escape such as \u202e, or a pair of them. The size is 0 for none.
func escapedRune(raw []byte) (r rune, size int) {
	if r, size = escapedUnit(raw); !utf16.IsSurrogate(r) {
		return r, size
	}
	if second, more := escapedUnit(raw[size:]); more > 0 && utf16.DecodeRune(r, second) != unicode.ReplacementChar {
		return utf16.DecodeRune(r, second), size + more
	}
	return r, size
}

func escapedUnit(raw []byte) (r rune, size int) {
	const length = len(`\u0000`)
	if len(raw) < length || raw[0] != '\\' || raw[1] != 'u' {
		return 0, 0
	}
	unit, err := strconv.ParseUint(string(raw[2:length]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(unit), length
}

// OneLine replaces characters that are not visible with spaces: line breaks, terminal
// control sequences, changes of the text direction. Errors quote text of the provider, such
// as file names, so each error passes OneLine before it is shown or saved.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !isVisible(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
