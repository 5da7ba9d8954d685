// Package wire reads and writes the bodies of the provider's services, of which
// little is promised: names come in any case, numbers as text and text as
// numbers, lists as null, and members that nobody has described. Parse turns a
// body into a Value with everything that came, in its order; Decode fills a
// struct from it and keeps what the struct has no field for. Both are pure.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is what a body holds: nil, bool, json.Number, string, []Value or Object.
type Value = any

// Object is a JSON object or an XML element, with its members in the order of
// the wire.
type Object []Member

// Member is one named value of an Object.
type Member struct {
	Name  string
	Value Value
}

// Find returns where the first member of that name stands, matched without
// case; -1 when there is none.
func (o Object) Find(name string) int {
	for i, m := range o {
		if strings.EqualFold(m.Name, name) {
			return i
		}
	}
	return -1
}

// Get returns the value of the first member of that name, matched without case;
// nil when there is none.
func (o Object) Get(name string) Value {
	if i := o.Find(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Text returns the text of a member that is a string or a number, else "".
func (o Object) Text(name string) string {
	text, _ := TextOf(o.Get(name))
	return text
}

// Set gives a member its value, in place or at the end.
func (o *Object) Set(name string, value Value) {
	if i := o.Find(name); i >= 0 {
		(*o)[i].Value = value
		return
	}
	*o = append(*o, Member{name, value})
}

// MarshalJSON writes the object in its order.
func (o Object) MarshalJSON() ([]byte, error) { return appendJSON(nil, o), nil }

// TextOf is the text of a leaf; ok is false for null, lists and objects.
func TextOf(v Value) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// Map returns v with every text in it, names and numbers included, changed by f.
// A number that f changes becomes a text.
func Map(v Value, f func(string) string) Value { return change(v, f, f) }

// Rename returns v with every name of a member changed by f.
func Rename(v Value, f func(string) string) Value {
	return change(v, f, func(text string) string { return text })
}

func change(v Value, name, text func(string) string) Value {
	switch v := v.(type) {
	case string:
		return text(v)
	case json.Number:
		if changed := text(v.String()); changed != v.String() {
			return changed
		}
	case []Value:
		list := make([]Value, len(v))
		for i, item := range v {
			list[i] = change(item, name, text)
		}
		return list
	case Object:
		o := make(Object, len(v))
		for i, m := range v {
			o[i] = Member{name(m.Name), change(m.Value, name, text)}
		}
		return o
	}
	return v
}

// JSON writes a value as one line of JSON.
func JSON(v Value) []byte { return appendJSON(nil, v) }

// Indent writes a value as JSON for people, with a newline at its end. Control
// and format characters are escaped, those beyond ASCII too, so that it is safe
// to print. What indentation would blow up stays on one line.
func Indent(v Value) []byte {
	line := appendJSON(nil, v)
	if indentation(v, 0) > 8*len(line)+1<<20 {
		return append(line, '\n')
	}
	var b bytes.Buffer
	_ = json.Indent(&b, line, "", "  ") // what appendJSON writes is JSON
	b.WriteByte('\n')
	return b.Bytes()
}

// indentation is how many bytes indentation adds.
func indentation(v Value, depth int) int {
	added := 0
	switch v := v.(type) {
	case []Value:
		for _, item := range v {
			added += 2*depth + 3 + indentation(item, depth+1)
		}
	case Object:
		for _, m := range v {
			added += 2*depth + 4 + indentation(m.Value, depth+1)
		}
	}
	return added
}

func appendJSON(b []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return fmt.Append(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return appendString(b, v)
	case []Value:
		b = append(b, '[')
		for i, item := range v {
			b = appendJSON(appendComma(b, i), item)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v {
			b = append(appendString(appendComma(b, i), m.Name), ':')
			b = appendJSON(b, m.Value)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("wire: %T is no Value", v))
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

// appendString quotes a text. The ampersands of addresses stay readable.
func appendString(b []byte, s string) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can always be written
	for _, r := range strings.TrimSuffix(quoted.String(), "\n") {
		switch {
		case !unicode.In(r, unicode.C, unicode.Zl, unicode.Zp):
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
