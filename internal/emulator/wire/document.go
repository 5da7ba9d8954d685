package wire

import (
	"encoding/xml"
	"fmt"
	"slices"
)

// Field is a member of an object. Its value is a string, a number, a bool, nil,
// Fields or a List.
//
// It is an alias of an unnamed struct, so that tables of members in other
// packages need not repeat the names of its fields.
type Field = struct {
	Key   string
	Value any
}

// Fields is an object. Its members keep their order in JSON and in XML.
type Fields []Field

// List is an array of objects; Item is the name of each one's element in XML.
type List struct {
	Item string
	Rows []Fields
}

// Document is an object with a root element in XML. JSON does not show the root.
type Document struct {
	Root    string
	Space   string // the default XML namespace, "" for none
	Schema  bool   // declares the XML prefix i, as the provider's serialiser does
	Members Fields
}

const schemaInstanceSpace = "http://www.w3.org/2001/XMLSchema-instance"

// MarshalJSON writes the members in their order.
func (fs Fields) MarshalJSON() ([]byte, error) {
	w := newJSONWriter()
	w.WriteByte('{')
	for i, f := range fs {
		if i > 0 {
			w.WriteByte(',')
		}
		w.value(f.Key)
		w.WriteByte(':')
		w.value(f.Value)
	}
	w.WriteByte('}')
	return w.Bytes(), nil
}

// MarshalJSON writes an array, [] for no rows and never null.
func (l List) MarshalJSON() ([]byte, error) {
	return EncodeJSON(append([]Fields{}, l.Rows...)), nil
}

// MarshalJSON writes the members.
func (d Document) MarshalJSON() ([]byte, error) { return d.Members.MarshalJSON() }

// MarshalXML writes the members as elements within the root.
func (d Document) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	root := xml.StartElement{Name: xml.Name{Local: d.Root}}
	if d.Space != "" {
		root.Attr = append(root.Attr, xml.Attr{Name: xml.Name{Local: "xmlns"}, Value: d.Space})
	}
	if d.Schema {
		root.Attr = append(root.Attr, xml.Attr{Name: xml.Name{Local: "xmlns:i"}, Value: schemaInstanceSpace})
	}
	return d.Members.encode(e, root)
}

// encode writes the members as elements within start.
func (fs Fields) encode(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, f := range fs {
		if err := encodeValue(e, f.Key, f.Value); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

func encodeValue(e *xml.Encoder, name string, value any) error {
	start := xml.StartElement{Name: xml.Name{Local: name}}
	switch v := value.(type) {
	case Fields:
		return v.encode(e, start)
	case List:
		items := make(Fields, len(v.Rows))
		for i, row := range v.Rows {
			items[i] = Field{v.Item, row}
		}
		return items.encode(e, start)
	case nil:
		return e.EncodeElement("", start)
	}
	return e.EncodeElement(fmt.Sprint(value), start)
}

// Get returns the value of a member, nil for none.
func (fs Fields) Get(key string) any {
	for _, f := range fs {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// With returns a copy whose members have the values of changes. It panics on a
// change of a member that fs lacks.
func (fs Fields) With(changes Fields) Fields {
	changed := slices.Clone(fs)
	for _, c := range changes {
		if !changed.Put(c) {
			panic("wire: no member " + c.Key)
		}
	}
	return changed
}

// Put replaces the value of a member. It returns false and changes nothing when
// fs lacks the member.
func (fs Fields) Put(f Field) bool {
	for i := range fs {
		if fs[i].Key == f.Key {
			fs[i].Value = f.Value
			return true
		}
	}
	return false
}

// Without returns a copy that lacks a member.
func (fs Fields) Without(key string) Fields {
	return slices.DeleteFunc(slices.Clone(fs), func(f Field) bool { return f.Key == key })
}
