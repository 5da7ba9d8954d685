package wire

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// prefixMark stands in a field's name for the vendor's word.
const prefixMark = "{Prefix}"

// WithPrefix puts the vendor's word into a name that has a place for it.
func WithPrefix(name, prefix string) string { return strings.ReplaceAll(name, prefixMark, prefix) }

// Decode fills the struct that into points to. A field takes the member of its
// name, or of its json tag's, or of one of the comma-separated names of its also
// tag; "{Prefix}" in them stands for prefix, and case does not matter. Text and
// numbers are converted into each other, null and an empty text are the zero
// value of everything, a single value where a list belongs is a list of one.
// What no field can take is kept in the struct's field Unknown of type Object,
// if it has one; nothing is an error.
func Decode(o Object, into any, prefix string) {
	d := decoder{prefix}
	d.object(o, reflect.ValueOf(into).Elem())
}

type decoder struct{ prefix string }

func (d decoder) object(o Object, into reflect.Value) {
	fields := d.fields(into, map[string]reflect.Value{})
	unknown := into.FieldByName("Unknown")
	for _, m := range o {
		field, known := fields[strings.ToLower(m.Name)]
		if known && d.value(m.Value, field) {
			continue
		}
		if kept, ok := fieldAsObject(unknown); ok {
			*kept = append(*kept, m)
		}
	}
}

func fieldAsObject(field reflect.Value) (*Object, bool) {
	if !field.IsValid() || !field.CanAddr() {
		return nil, false
	}
	o, ok := field.Addr().Interface().(*Object)
	return o, ok
}

// fields finds the fields of a struct, those of embedded ones included, by the
// lower-case names that they take.
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

// value fills one field, and tells whether it could take the value.
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
		taken := d.value(v, target.Elem())
		if taken {
			into.Set(target)
		}
		return taken
	}
	return leaf(v, into)
}

// isBlank is true for an element that has only space between its tags.
func isBlank(v Value) bool {
	s, ok := v.(string)
	return ok && strings.TrimSpace(s) == ""
}

// maxList is how many bytes a list may take as Go values. The largest answer
// that the clients read stays far below, unless it is a list of nothing: a few
// bytes each on the wire, and a thousand times that in memory.
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

func leaf(v Value, into reflect.Value) bool {
	text, ok := TextOf(v)
	if !ok {
		return false
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
	case reflect.Int64:
		n, ok := wholeNumber(strings.TrimSpace(text))
		if !ok {
			return false
		}
		into.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return false
		}
		into.SetFloat(f)
	default:
		return false
	}
	return true
}

// wholeNumber reads an integer, also one written as 2.0.
func wholeNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}
