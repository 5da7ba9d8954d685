package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"syncd/internal/manifest/refusal"
)

// Schema tells ParseXML what an XML document itself does not say, so that its
// Value has the shape of the same answer in JSON. Paths begin below the root,
// have dots between names and [] behind a list: "Records[].Parcel". The path of
// the root is "". Case does not matter.
type Schema struct {
	Lists   []string // are lists, also with one item or none
	Objects []string // are objects, also without members
	Numbers []string
}

func has(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return strings.EqualFold(p, path) })
}

// IsXML is true for a body that begins as XML does.
func IsXML(body []byte) bool { return bytes.HasPrefix(trim(body), []byte("<")) }

// IsPage is true for a web page. Proxies and login walls send one with status 200.
func IsPage(body []byte) bool {
	begin := strings.ToLower(string(trim(body[:min(len(body), 256)])))
	return strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// ParseXML reads a body that is one XML element, by local names. It ignores
// attributes except nil. An element without children is a text, and a repeated
// name becomes a list, unless the schema says otherwise. Errors are refusals.
func ParseXML(body []byte, schema Schema) (Value, error) {
	if IsPage(body) {
		return nil, refusal.New(refusal.BadShape, "a web page instead of data")
	}
	p := &xmlParser{decoder: xml.NewDecoder(bytes.NewReader(trim(body))), schema: schema}
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, notXML(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			v, err := p.element(start, "", maxDepth)
			if err != nil {
				return nil, err
			}
			return v, p.end()
		}
	}
}

func notXML(err error) error { return refusal.New(refusal.BadShape, "not XML: %w", err) }

type xmlParser struct {
	decoder *xml.Decoder
	schema  Schema
	budget  budget
}

// end refuses anything except space and comments after the outermost element.
func (p *xmlParser) end() error {
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		_, isComment := token.(xml.Comment)
		text, isText := token.(xml.CharData)
		if err != nil || !isComment && !(isText && len(bytes.TrimSpace(text)) == 0) {
			return refusal.New(refusal.BadShape, "more text follows the XML element")
		}
	}
}

// element reads up to the end of the element that start has opened.
func (p *xmlParser) element(start xml.StartElement, path string, depth int) (Value, error) {
	if err := p.budget.spend(depth); err != nil {
		return nil, err
	}
	var text strings.Builder
	var children Object
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, notXML(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			child, err := p.element(token, p.childPath(path, token.Name.Local), depth-1)
			if err != nil {
				return nil, err
			}
			children = append(children, Member{token.Name.Local, child})
		case xml.CharData:
			text.Write(token)
		case xml.EndElement:
			return p.value(start, path, children, text.String()), nil
		}
	}
}

func (p *xmlParser) childPath(path, name string) string {
	switch {
	case has(p.schema.Lists, path):
		return path + "[]"
	case path == "":
		return name
	}
	return path + "." + name
}

// value returns what an element stands for, after all of it was read.
func (p *xmlParser) value(start xml.StartElement, path string, children Object, text string) Value {
	isNil := slices.ContainsFunc(start.Attr, func(a xml.Attr) bool { return a.Name.Local == "nil" && a.Value == "true" })
	isBlank := strings.TrimSpace(text) == ""
	switch {
	case isNil && len(children) == 0:
		return nil
	case has(p.schema.Lists, path) && (len(children) > 0 || isBlank):
		items := make([]Value, len(children))
		for i, child := range children {
			items[i] = child.Value
		}
		return items
	case len(children) > 0:
		return gather(children)
	case has(p.schema.Objects, path) && isBlank:
		return Object{}
	case has(p.schema.Numbers, path):
		return numberOrText(text)
	}
	return text
}

// numberOrText keeps a text that JSON could not write as a number.
func numberOrText(text string) Value {
	var n json.Number
	if trimmed := strings.TrimSpace(text); json.Unmarshal([]byte(trimmed), &n) == nil && trimmed == n.String() {
		return n
	}
	return text
}

// gather turns repeated names into lists.
func gather(children Object) Object {
	values := map[string][]Value{}
	var names []string
	for _, child := range children {
		if len(values[child.Name]) == 0 {
			names = append(names, child.Name)
		}
		values[child.Name] = append(values[child.Name], child.Value)
	}
	o := make(Object, len(names))
	for i, name := range names {
		o[i] = Member{name, values[name]}
		if list := values[name]; len(list) == 1 {
			o[i].Value = list[0]
		}
	}
	return o
}
