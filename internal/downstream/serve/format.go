package serve

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
)

// format is a value of the parameter format (docs/wire/releases.md, "List formats").
type format struct {
	name        string
	contentType string
	separator   string // between the items of a list; none in JSON and XML
}

const (
	textType = "text/plain; charset=utf-8"
	jsonType = "application/json; charset=utf-8"
	xmlType  = "application/xml; charset=utf-8"
)

var (
	formatJSON = format{name: "json", contentType: jsonType}
	formatXML  = format{name: "xml", contentType: xmlType}
	formats    = []format{
		{"crLfList", textType, "\r\n"}, // the default
		{"lfList", textType, "\n"},
		{"comma", textType, ","},
		{"tab", textType, "\t"},
		formatJSON, formatXML,
	}
)

// parseFormat reads a format without case.
func parseFormat(text string) (format, bool) {
	if text == "" {
		return formats[0], true
	}
	for _, f := range formats {
		if strings.EqualFold(f.name, text) {
			return f, true
		}
	}
	return format{}, false
}

// The XML namespaces that the provider's serialiser writes.
const (
	nsArrays  = "http://schemas.microsoft.com/2003/10/Serialization/Arrays"
	nsStrings = "http://schemas.microsoft.com/2003/10/Serialization/"
)

// before, between and after stand around the items of a list.
func (f format) before() string {
	switch f {
	case formatJSON:
		return "["
	case formatXML:
		return xml.Header + `<ArrayOfstring xmlns="` + nsArrays + `">`
	}
	return ""
}

func (f format) between() string {
	if f == formatJSON {
		return ","
	}
	return f.separator
}

func (f format) after() string {
	switch f {
	case formatJSON:
		return "]"
	case formatXML:
		return "</ArrayOfstring>"
	}
	return ""
}

// appendItem appends an item of a list.
func (f format) appendItem(b []byte, item string) []byte {
	switch f {
	case formatJSON:
		return appendJSON(b, item)
	case formatXML:
		return appendElement(b, "string", item)
	}
	return append(b, item...)
}

// list is a whole list.
func (f format) list(items []string) []byte {
	b := []byte(f.before())
	for i, item := range items {
		if i > 0 {
			b = append(b, f.between()...)
		}
		b = f.appendItem(b, item)
	}
	return append(b, f.after()...)
}

// text is a single text: a hash.
func (f format) text(s string) []byte {
	switch f {
	case formatJSON:
		return appendJSON(nil, s)
	case formatXML:
		b := append([]byte(xml.Header), `<string xmlns="`+nsStrings+`">`...)
		b = appendXML(b, s)
		return append(b, "</string>"...)
	}
	return []byte(s)
}

// appendJSON appends a JSON string. Ampersands stay as they are: the provider does not
// escape them.
func appendJSON(b []byte, s string) []byte {
	if isPlain(s, `"\`) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// appendXML appends text of an XML element.
func appendXML(b []byte, s string) []byte {
	if isPlain(s, `"&'<>`) {
		return append(b, s...)
	}
	var text bytes.Buffer
	_ = xml.EscapeText(&text, []byte(s)) // a buffer takes everything
	return append(b, text.Bytes()...)
}

func appendElement(b []byte, name, text string) []byte {
	b = append(b, '<')
	b = append(b, name...)
	b = append(b, '>')
	b = appendXML(b, text)
	b = append(b, "</"...)
	b = append(b, name...)
	return append(b, '>')
}

// isPlain is true for printable ASCII without special characters.
func isPlain(s, special string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || strings.IndexByte(special, s[i]) >= 0 {
			return false
		}
	}
	return true
}
