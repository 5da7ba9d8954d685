package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"syncd/internal/refusal"
)

// Limits of what is read: honest bodies nest five deep and have some hundred
// thousand values.
const (
	maxDepth  = 64
	maxValues = 2_000_000
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON reads a body that is one JSON value. Its error is a refusal.
func ParseJSON(body []byte) (Value, error) {
	p := newJSONParser(body)
	v, err := p.value(maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
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
		arguments := trim(body[open+1:])
		p := newJSONParser(arguments)
		v, err = p.value(maxDepth)
		if rest := trim(arguments[p.decoder.InputOffset():]); err == nil && !bytes.HasPrefix(rest, []byte(")")) && !bytes.HasPrefix(rest, []byte(",")) {
			err = refusal.New(refusal.BadShape, "a script call that does not end")
		}
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

func badJSON(err error) error { return refusal.New(refusal.BadShape, "no JSON: %w", err) }

type jsonParser struct {
	decoder *json.Decoder
	values  int
}

func newJSONParser(body []byte) *jsonParser {
	decoder := json.NewDecoder(bytes.NewReader(trim(body)))
	decoder.UseNumber()
	return &jsonParser{decoder: decoder}
}

func (p *jsonParser) value(depth int) (Value, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return nil, badJSON(err)
	}
	if err := within(&p.values, depth); err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		return p.list(depth - 1)
	case json.Delim('{'):
		return p.object(depth - 1)
	}
	return token, nil
}

// within counts a value and refuses one too many, or one too deep.
func within(values *int, depth int) error {
	*values++
	switch {
	case depth == 0:
		return refusal.New(refusal.BadShape, "nested more than %d deep", maxDepth)
	case *values > maxValues:
		return refusal.New(refusal.TooLarge, "more than %d values", maxValues)
	}
	return nil
}

func (p *jsonParser) list(depth int) (Value, error) {
	list := []Value{}
	for p.decoder.More() {
		item, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	if _, err := p.decoder.Token(); err != nil {
		return nil, badJSON(err)
	}
	return list, nil
}

func (p *jsonParser) object(depth int) (Value, error) {
	o := Object{}
	for p.decoder.More() {
		name, err := p.decoder.Token()
		if err != nil {
			return nil, badJSON(err)
		}
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		o = append(o, Member{name.(string), value}) // the decoder lets nothing else stand there
	}
	if _, err := p.decoder.Token(); err != nil {
		return nil, badJSON(err)
	}
	return o, nil
}

// IsXML is true for a body that begins as XML does.
func IsXML(body []byte) bool { return bytes.HasPrefix(trim(body), []byte("<")) }

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
		if err == nil {
			err = p.end()
		}
		return start.Name.Local, v, err
	}
}

// end refuses what follows the outermost element, but for space and comments.
func (p *xmlParser) end() error {
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		_, isComment := token.(xml.Comment)
		space, isText := token.(xml.CharData)
		if err != nil || !isComment && !(isText && len(bytes.TrimSpace(space)) == 0) {
			return refusal.New(refusal.BadShape, "XML with more behind it")
		}
	}
}

type xmlParser struct {
	decoder *xml.Decoder
	lists   []string
	values  int
}

// element reads up to the end of an element that was just opened.
func (p *xmlParser) element(start xml.StartElement, depth int) (Value, error) {
	if err := within(&p.values, depth); err != nil {
		return nil, err
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
// named item. It fails for names and texts that XML cannot carry.
func XML(root string, o Object, item string) ([]byte, error) {
	return appendElement([]byte(xml.Header), root, o, item)
}

func appendElement(b []byte, name string, v Value, item string) (_ []byte, err error) {
	if !isElementName(name) {
		return nil, fmt.Errorf("%q cannot be the name of an XML element", name)
	}
	b = append(append(append(b, '<'), name...), '>')
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
		if strings.ContainsFunc(text, func(r rune) bool { return !isXMLCharacter(r) }) {
			return nil, fmt.Errorf("%s holds a character that XML cannot carry", name)
		}
		var escaped bytes.Buffer
		_ = xml.EscapeText(&escaped, []byte(text)) // a Buffer takes everything
		b = append(b, escaped.Bytes()...)
	}
	return append(append(append(b, "</"...), name...), '>'), nil
}

// isElementName is true for the names that services have; XML would allow more.
func isElementName(name string) bool {
	for i, r := range name {
		isLetter := 'a' <= r|0x20 && r|0x20 <= 'z' || r == '_'
		if !isLetter && (i == 0 || !strings.ContainsRune("0123456789-.", r)) {
			return false
		}
	}
	return name != ""
}

func isXMLCharacter(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || 0x20 <= r && r <= 0xd7ff || 0xe000 <= r && r <= 0xfffd || r >= 0x10000
}
