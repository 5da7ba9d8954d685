package wire

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Value is one value of a body: nil, bool, json.Number, string, []Value or Object.
type Value = any

// Object is a JSON object or an XML element, with its members in the order of
// the body.
type Object []Member

// Member is one named value of an Object.
type Member struct {
	Name  string
	Value Value
}

// Find returns the index of the first member with that name, ignoring case, or -1.
func (o Object) Find(name string) int {
	for i, m := range o {
		if strings.EqualFold(m.Name, name) {
			return i
		}
	}
	return -1
}

// Get returns the value of the first member with that name, ignoring case, or nil.
func (o Object) Get(name string) Value {
	if i := o.Find(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Text returns the text of a member that is a string, a number or a bool, else "".
func (o Object) Text(name string) string {
	text, _ := TextOf(o.Get(name))
	return text
}

// Set replaces the value of the first member with that name, or appends a member.
func (o *Object) Set(name string, value Value) {
	if i := o.Find(name); i >= 0 {
		(*o)[i].Value = value
		return
	}
	*o = append(*o, Member{name, value})
}

// TextOf returns the text of a string, a number or a bool; ok is false for null,
// lists and objects.
func TextOf(v Value) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// Map returns a copy of v in which name has changed the name of every member and text
// every string.
func Map(v Value, name, text func(string) string) Value {
	switch v := v.(type) {
	case string:
		return text(v)
	case []Value:
		list := make([]Value, len(v))
		for i, item := range v {
			list[i] = Map(item, name, text)
		}
		return list
	case Object:
		o := make(Object, len(v))
		for i, m := range v {
			o[i] = Member{name(m.Name), Map(m.Value, name, text)}
		}
		return o
	}
	return v
}

// Rename returns a copy of v in which f has changed the name of every member.
func Rename(v Value, f func(string) string) Value {
	return Map(v, f, func(text string) string { return text })
}
