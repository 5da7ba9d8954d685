package emulator

import (
	"encoding/xml"
	"fmt"
	"slices"
)

// field is a member of an object. Its value is a string, a number, a bool, nil,
// fields or a list.
type field struct {
	key   string
	value any
}

// fields is an object whose members stand in the order of the wire, in JSON as
// in XML.
type fields []field

// list is an array of objects; item is what XML calls each of them.
type list struct {
	item string
	rows []fields
}

// document is an object as the root of an XML text; in JSON its name is not
// seen.
type document struct {
	root    string
	space   string // the default name space, "" for none
	schema  bool   // declares the prefix i, as the provider's serialiser does
	members fields
}

const nsSchemaInstance = "http://www.w3.org/2001/XMLSchema-instance"

func (fs fields) MarshalJSON() ([]byte, error) {
	w := newJSONWriter()
	w.WriteByte('{')
	for i, f := range fs {
		if i > 0 {
			w.WriteByte(',')
		}
		w.value(f.key)
		w.WriteByte(':')
		w.value(f.value)
	}
	w.WriteByte('}')
	return w.Bytes(), nil
}

func (l list) MarshalJSON() ([]byte, error) {
	return asJSON(append([]fields{}, l.rows...)), nil // never null
}

func (d document) MarshalJSON() ([]byte, error) { return d.members.MarshalJSON() }

func (d document) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	root := xml.StartElement{Name: xml.Name{Local: d.root}}
	if d.space != "" {
		root.Attr = append(root.Attr, xml.Attr{Name: xml.Name{Local: "xmlns"}, Value: d.space})
	}
	if d.schema {
		root.Attr = append(root.Attr, xml.Attr{Name: xml.Name{Local: "xmlns:i"}, Value: nsSchemaInstance})
	}
	return d.members.encode(e, root)
}

// encode writes the members as elements within start.
func (fs fields) encode(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, f := range fs {
		if err := encodeValue(e, f.key, f.value); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

func encodeValue(e *xml.Encoder, name string, value any) error {
	start := xml.StartElement{Name: xml.Name{Local: name}}
	switch v := value.(type) {
	case fields:
		return v.encode(e, start)
	case list:
		items := make(fields, len(v.rows))
		for i, row := range v.rows {
			items[i] = field{v.item, row}
		}
		return items.encode(e, start)
	case nil:
		return e.EncodeElement("", start)
	}
	return e.EncodeElement(fmt.Sprint(value), start)
}

// get returns the value of a member, or nil.
func (fs fields) get(key string) any {
	for _, f := range fs {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// with returns a copy in which the members of changes have their values. A
// member that is not there is a mistake in the program.
func (fs fields) with(changes fields) fields {
	changed := slices.Clone(fs)
	for _, c := range changes {
		if !changed.put(c) {
			panic("emulator: no member " + c.key)
		}
	}
	return changed
}

// put replaces the value of a member, if it is there.
func (fs fields) put(f field) bool {
	for i := range fs {
		if fs[i].key == f.key {
			fs[i].value = f.value
			return true
		}
	}
	return false
}

// without returns a copy that lacks a member.
func (fs fields) without(key string) fields {
	return slices.DeleteFunc(slices.Clone(fs), func(f field) bool { return f.key == key })
}
