package emulator

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
)

// format is a value of the query parameter format.
type format string

const (
	formatCRLF  format = "crLfList"
	formatLF    format = "lfList"
	formatComma format = "comma"
	formatTab   format = "tab"
	formatJSON  format = "json"
	formatXML   format = "xml"
)

var formats = []format{formatCRLF, formatLF, formatComma, formatTab, formatJSON, formatXML}

// separators join the items of the text formats; there is none after the last.
var separators = map[format]string{formatCRLF: "\r\n", formatLF: "\n", formatComma: ",", formatTab: "\t"}

// parseFormat reads a parameter value without case; "" is the default.
func parseFormat(s string) (format, bool) {
	if s == "" {
		return formatCRLF, true
	}
	i := slices.IndexFunc(formats, func(f format) bool { return strings.EqualFold(string(f), s) })
	if i < 0 {
		return "", false
	}
	return formats[i], true
}

func (f format) contentType() string {
	switch f {
	case formatJSON:
		return "application/json; charset=utf-8"
	case formatXML:
		return "application/xml; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// The name spaces that the provider's serialiser writes.
const (
	nsArrays  = "http://schemas.microsoft.com/2003/10/Serialization/Arrays"
	nsStrings = "http://schemas.microsoft.com/2003/10/Serialization/"
)

type xmlStrings struct {
	XMLName xml.Name `xml:"ArrayOfstring"`
	NS      string   `xml:"xmlns,attr"`
	Items   []string `xml:"string"`
}

type xmlString struct {
	XMLName xml.Name `xml:"string"`
	NS      string   `xml:"xmlns,attr"`
	Value   string   `xml:",chardata"`
}

// renderList writes a list of strings.
func renderList(f format, items []string) []byte {
	switch f {
	case formatJSON:
		return asJSON(append([]string{}, items...)) // never null
	case formatXML:
		return asXML(xmlStrings{NS: nsArrays, Items: items})
	}
	return []byte(strings.Join(items, separators[f]))
}

// renderString writes a single string: a hash.
func renderString(f format, s string) []byte {
	switch f {
	case formatJSON:
		return asJSON(s)
	case formatXML:
		return asXML(xmlString{NS: nsStrings, Value: s})
	}
	return []byte(s)
}

// manifestInfo is an item of the result of ManifestList.
type manifestInfo struct {
	Name        string `json:"manifestName" xml:"manifestName"`
	Description string `json:"description" xml:"description"`
	URL         string `json:"url" xml:"url"`
}

type xmlManifests struct {
	XMLName xml.Name       `xml:"ArrayOfManifest"`
	Items   []manifestInfo `xml:"Manifest"`
}

// renderManifests writes the result of ManifestList; the text formats hold the
// names only.
func renderManifests(f format, items []manifestInfo) []byte {
	switch f {
	case formatJSON:
		return asJSON(append([]manifestInfo{}, items...))
	case formatXML:
		return asXML(xmlManifests{Items: items})
	}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Name
	}
	return renderList(f, names)
}

// renderMetadata writes an object, which has a form in JSON and XML only.
func renderMetadata(f format, fs fields) (format, []byte) {
	if f == formatXML {
		return f, asXML(document{root: "Metadata", members: fs})
	}
	body, _ := fs.MarshalJSON() // never fails
	return formatJSON, body
}

// asJSON is for values that cannot fail: strings, and structs and slices of
// such. Ampersands stay readable, as the provider writes them.
func asJSON(v any) []byte {
	w := newJSONWriter()
	w.value(v)
	return w.Bytes()
}

// jsonWriter is asJSON for several values, one behind the other.
type jsonWriter struct {
	bytes.Buffer
	encoder *json.Encoder
}

func newJSONWriter() *jsonWriter {
	w := new(jsonWriter)
	w.encoder = json.NewEncoder(&w.Buffer)
	w.encoder.SetEscapeHTML(false)
	return w
}

func (w *jsonWriter) value(v any) {
	if err := w.encoder.Encode(v); err != nil {
		panic(err)
	}
	w.Truncate(w.Len() - 1) // the encoder's line break
}

// asXML is asJSON for XML.
func asXML(v any) []byte {
	b, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append([]byte(xml.Header), b...)
}
