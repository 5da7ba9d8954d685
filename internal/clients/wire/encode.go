package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) { return appendJSON(nil, o), nil }

// JSON returns a value as one line of JSON. Invisible characters are escaped, so
// that the line is safe to print on a terminal.
func JSON(v Value) []byte {
	line := appendJSON(nil, v)
	if bytes.ContainsFunc(line, isInvisible) {
		return escapeInvisible(line)
	}
	return line
}

// Indent returns a value as indented JSON with a newline at its end, escaped as
// by JSON.
func Indent(v Value) []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, JSON(v), "", "  ") // JSON returns valid JSON
	b.WriteByte('\n')
	return b.Bytes()
}

// appendJSON writes lists and objects itself. encoding/json would copy and check
// an Object once for each level that it lies deep.
func appendJSON(b []byte, v Value) []byte {
	switch v := v.(type) {
	case []Value:
		b = append(b, '[')
		for i, item := range v {
			b = appendJSON(appendComma(b, i), item)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v {
			b = append(append(appendComma(b, i), encode(m.Name)...), ':')
			b = appendJSON(b, m.Value)
		}
		return append(b, '}')
	}
	return append(b, encode(v)...)
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

// encode writes a value without members. It leaves ampersands and angle brackets
// readable, unlike json.Marshal.
func encode(leaf Value) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(leaf); err != nil {
		panic(fmt.Sprintf("wire: %v", err)) // a Value can always be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// isInvisible is true for control and format characters and line separators.
// encoding/json escapes only some of them.
func isInvisible(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }

func escapeInvisible(line []byte) []byte {
	var b []byte
	for _, r := range string(line) {
		switch {
		case !isInvisible(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// XML returns an object as an XML document. The items of its lists become
// elements with the name item. It fails for names and texts that XML cannot carry.
//
// encoding/xml is used for texts alone: it writes any name without a check, so
// that a name could bring elements of its own.
func XML(root string, o Object, item string) ([]byte, error) {
	return appendElement([]byte(xml.Header), root, o, item)
}

// elementName matches the names that the services use; XML would allow more.
var elementName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func appendElement(b []byte, name string, v Value, item string) (_ []byte, err error) {
	if !elementName.MatchString(name) {
		return nil, fmt.Errorf("%q cannot be the name of an XML element", name)
	}
	b = fmt.Appendf(b, "<%s>", name)
	switch v := v.(type) {
	case Object:
		for _, m := range v {
			if b, err = appendElement(b, m.Name, m.Value, item); err != nil {
				return nil, err
			}
		}
	case []Value:
		for _, one := range v {
			if b, err = appendElement(b, item, one, item); err != nil {
				return nil, err
			}
		}
	default:
		text, _ := TextOf(v)
		if b, err = appendText(b, text); err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
	}
	return fmt.Appendf(b, "</%s>", name), nil
}

// appendText escapes a text. EscapeText replaces each character that XML cannot
// carry with U+FFFD; such a text is refused, because it would arrive changed.
func appendText(b []byte, text string) ([]byte, error) {
	const replacement = "\uFFFD"
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a Buffer returns no errors
	if bytes.Count(escaped.Bytes(), []byte(replacement)) != strings.Count(text, replacement) {
		return nil, errors.New("holds a character that XML cannot carry")
	}
	return append(b, escaped.Bytes()...), nil
}
