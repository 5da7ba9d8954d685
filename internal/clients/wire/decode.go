package wire

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// prefixMark stands for the vendor's word in the name of a field.
const prefixMark = "{Prefix}"

// WithPrefix replaces "{Prefix}" in a name with the vendor's word.
func WithPrefix(name, prefix string) string { return strings.ReplaceAll(name, prefixMark, prefix) }

// Decode fills the struct that into points to. A field takes the member with its
// name, with the name of its json tag, or with one of the comma-separated names
// of its also tag. Case does not matter, and "{Prefix}" stands for prefix.
//
// Text and numbers are converted into each other. Null and empty text give the
// zero value of any type. A single value becomes a list of one where the field is
// a list. A member that no field takes, or whose value does not fit its field, is
// kept in the field Unknown of type Object, if the struct has one. Decode never
// fails.
//
// encoding/json cannot do this: it has no names with {Prefix}, reads no text as a
// number or the reverse, drops unknown members, and stops at a wrong type.
func Decode(o Object, into any, prefix string) {
	d := decoder{prefix}
	d.object(o, reflect.ValueOf(into).Elem())
}

type decoder struct{ prefix string }

func (d decoder) object(o Object, into reflect.Value) {
	fields := d.fields(into, map[string]reflect.Value{})
	unknown := unknownOf(into)
	for _, m := range o {
		field, known := fields[strings.ToLower(m.Name)]
		if known && d.value(m.Value, field) {
			continue
		}
		if unknown != nil {
			*unknown = append(*unknown, m)
		}
	}
}

// unknownOf returns the field Unknown of a struct, or nil.
func unknownOf(of reflect.Value) *Object {
	field := of.FieldByName("Unknown")
	if !field.IsValid() || !field.CanAddr() {
		return nil
	}
	unknown, _ := field.Addr().Interface().(*Object)
	return unknown
}

// fields adds the fields of a struct and of its embedded structs to found, by
// each name in lower case.
func (d decoder) fields(of reflect.Value, found map[string]reflect.Value) map[string]reflect.Value {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() || field.Name == "Unknown":
			continue
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			d.fields(of.Field(i), found)
			continue
		case name == "":
			name = field.Name
		}
		for alias := range strings.SplitSeq(name+","+field.Tag.Get("also"), ",") {
			if alias != "" {
				found[strings.ToLower(WithPrefix(alias, d.prefix))] = of.Field(i)
			}
		}
	}
	return found
}

// value fills one field. It is false when the value does not fit.
func (d decoder) value(v Value, into reflect.Value) bool {
	if into.Kind() == reflect.Interface {
		if v != nil {
			into.Set(reflect.ValueOf(v))
		}
		return true
	}
	if v == nil || v == "" {
		return true
	}
	if text, ok := into.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, isText := TextOf(v)
		return isText && text.UnmarshalText([]byte(s)) == nil
	}
	switch into.Kind() {
	case reflect.Struct:
		o, ok := v.(Object)
		if ok {
			d.object(o, into)
		}
		return ok || isBlank(v)
	case reflect.Slice:
		return d.list(v, into)
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		fits := d.value(v, target.Elem())
		if fits {
			into.Set(target)
		}
		return fits
	}
	return leaf(v, into)
}

// isBlank is true for an XML element that has only space between its tags.
func isBlank(v Value) bool {
	s, ok := v.(string)
	return ok && strings.TrimSpace(s) == ""
}

// maxList bounds the memory of one list, in bytes. A hostile list of empty
// objects takes a thousand times its size on the wire.
const maxList = 256 << 20

func (d decoder) list(v Value, into reflect.Value) bool {
	if o, ok := v.(Object); ok && into.Type() == reflect.TypeFor[Object]() {
		into.Set(reflect.ValueOf(o))
		return true
	}
	items, ok := v.([]Value)
	if !ok {
		items = []Value{v}
	}
	if uintptr(len(items))*into.Type().Elem().Size() > maxList {
		return false
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		if !d.value(item, list.Index(i)) {
			return false
		}
	}
	into.Set(list)
	return true
}

// leaf fills a field that is a string or a number.
func leaf(v Value, into reflect.Value) bool {
	text, ok := TextOf(v)
	if !ok {
		return false
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
		return true
	case reflect.Int64:
		n, ok := wholeNumber(strings.TrimSpace(text))
		if ok {
			into.SetInt(n)
		}
		return ok
	case reflect.Float64:
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err == nil {
			into.SetFloat(f)
		}
		return err == nil
	}
	return false
}

// wholeNumber reads an integer, also in the form "2.0".
func wholeNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}
