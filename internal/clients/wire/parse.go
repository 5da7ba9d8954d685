package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"syncd/internal/refusal"
)

// maxDepth is how deep a body may nest; honest ones nest five deep.
const maxDepth = 64

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON reads a body that is one JSON value. Its error is a refusal.
func ParseJSON(body []byte) (Value, error) {
	decoder := newDecoder(body)
	v, err := readValue(decoder, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, refusal.New(refusal.BadShape, "JSON with more behind it")
	}
	return v, nil
}

// ParseJSONP reads the answer of a script endpoint: JSON, or JSON as the first
// argument of a call, in either case within a member d or not. The type names
// that the endpoint writes into objects are left out. Its error is a refusal.
func ParseJSONP(body []byte) (Value, error) {
	body = trim(body)
	v, err := ParseJSON(body)
	if open := bytes.IndexByte(body, '('); open >= 0 && !bytes.HasPrefix(body, []byte("{")) {
		// The framework adds a status as the second argument, and a semicolon.
		v, err = readValue(newDecoder(body[open+1:]), maxDepth)
	}
	if err != nil {
		return nil, err
	}
	if o, ok := v.(Object); ok && o.Find("d") >= 0 {
		v = o.Get("d")
	}
	return withoutTypes(v), nil
}

func withoutTypes(v Value) Value {
	switch v := v.(type) {
	case []Value:
		for i := range v {
			v[i] = withoutTypes(v[i])
		}
	case Object:
		v = slices.DeleteFunc(v, func(m Member) bool { return m.Name == "__type" })
		for i := range v {
			v[i].Value = withoutTypes(v[i].Value)
		}
		return v
	}
	return v
}

func trim(body []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark)) }

func newDecoder(body []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(trim(body)))
	decoder.UseNumber()
	return decoder
}

func badJSON(err error) error { return refusal.New(refusal.BadShape, "no JSON: %w", err) }

func readValue(decoder *json.Decoder, depth int) (Value, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, badJSON(err)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == 0 {
		return nil, refusal.New(refusal.BadShape, "nested more than %d deep", maxDepth)
	}
	if delim == '[' {
		return readList(decoder, depth-1)
	}
	return readObject(decoder, depth-1)
}

func readList(decoder *json.Decoder, depth int) (Value, error) {
	list := []Value{}
	for decoder.More() {
		item, err := readValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, badJSON(err)
	}
	return list, nil
}

func readObject(decoder *json.Decoder, depth int) (Value, error) {
	o := Object{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, badJSON(err)
		}
		value, err := readValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		o = append(o, Member{name.(string), value}) // the decoder lets nothing else stand there
	}
	if _, err := decoder.Token(); err != nil {
		return nil, badJSON(err)
	}
	return o, nil
}

// ParseXML reads a body that is one XML element, by local names; attributes but
// nil are left out. An element with the name of one of lists, and one name that
// is repeated, become a list; an element without children is a text. root is the
// name of the outermost element. Its error is a refusal.
func ParseXML(body []byte, lists ...string) (root string, v Value, err error) {
	decoder := xml.NewDecoder(bytes.NewReader(trim(body)))
	for {
		token, err := decoder.Token()
		if err != nil {
			return "", nil, refusal.New(refusal.BadShape, "no XML: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if strings.EqualFold(start.Name.Local, "html") {
			return "", nil, refusal.New(refusal.BadShape, "a web page instead of data")
		}
		p := &xmlParser{decoder: decoder, lists: lists}
		v, err := p.element(start, maxDepth)
		return start.Name.Local, v, err
	}
}

type xmlParser struct {
	decoder *xml.Decoder
	lists   []string
}

// element reads up to the end of an element that was just opened.
func (p *xmlParser) element(start xml.StartElement, depth int) (Value, error) {
	if depth == 0 {
		return nil, refusal.New(refusal.BadShape, "nested more than %d deep", maxDepth)
	}
	var text strings.Builder
	var children Object
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, refusal.New(refusal.BadShape, "no XML: %w", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			child, err := p.element(token, depth-1)
			if err != nil {
				return nil, err
			}
			children = append(children, Member{token.Name.Local, child})
		case xml.CharData:
			text.Write(token)
		case xml.EndElement:
			return p.value(start, children, text.String()), nil
		}
	}
}

// value is what an element that was read stands for.
func (p *xmlParser) value(start xml.StartElement, children Object, text string) Value {
	isNil := slices.ContainsFunc(start.Attr, func(a xml.Attr) bool { return a.Name.Local == "nil" && a.Value == "true" })
	isList := slices.ContainsFunc(p.lists, func(name string) bool { return strings.EqualFold(name, start.Name.Local) })
	switch {
	case isNil && len(children) == 0:
		return nil
	case isList && (len(children) > 0 || strings.TrimSpace(text) == ""):
		items := make([]Value, len(children))
		for i, child := range children {
			items[i] = child.Value
		}
		return items
	case len(children) > 0:
		return gather(children)
	}
	return text
}

// gather makes lists of names that are repeated.
func gather(children Object) Object {
	var o Object
	at := map[string]int{}
	count := map[string]int{}
	for _, child := range children {
		i, again := at[child.Name]
		if !again {
			at[child.Name] = len(o)
			o = append(o, child)
		} else if count[child.Name] == 1 {
			o[i].Value = []Value{o[i].Value, child.Value}
		} else {
			o[i].Value = append(o[i].Value.([]Value), child.Value)
		}
		count[child.Name]++
	}
	return o
}

// XML writes an object as an XML document. The items of its lists are elements
// named item.
func XML(root string, o Object, item string) []byte {
	b := []byte(xml.Header)
	return appendElement(b, root, o, item)
}

func appendElement(b []byte, name string, v Value, item string) []byte {
	b = append(append(append(b, '<'), name...), '>')
	switch v := v.(type) {
	case Object:
		for _, m := range v {
			b = appendElement(b, m.Name, m.Value, item)
		}
	case []Value:
		for _, one := range v {
			b = appendElement(b, item, one, item)
		}
	default:
		text, _ := TextOf(v)
		var escaped bytes.Buffer
		_ = xml.EscapeText(&escaped, []byte(text)) // a Buffer takes everything
		b = append(b, escaped.Bytes()...)
	}
	return append(append(append(b, "</"...), name...), '>')
}
