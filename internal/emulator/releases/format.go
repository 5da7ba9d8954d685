package releases

import (
	"encoding/xml"
	"slices"
	"strings"

	"syncd/internal/emulator/wire"
)

// The formats of plain text.
const (
	formatCRLF  wire.Format = "crLfList"
	formatLF    wire.Format = "lfList"
	formatComma wire.Format = "comma"
	formatTab   wire.Format = "tab"
)

var formats = []wire.Format{formatCRLF, formatLF, formatComma, formatTab, wire.JSON, wire.XML}

// separators stand between the items of the text formats, and not after the last.
var separators = map[wire.Format]string{formatCRLF: "\r\n", formatLF: "\n", formatComma: ",", formatTab: "\t"}

// parseFormat reads a value of the parameter format without case. "" is the default,
// crLfList.
func parseFormat(s string) (wire.Format, bool) {
	if s == "" {
		return formatCRLF, true
	}
	i := slices.IndexFunc(formats, func(f wire.Format) bool { return strings.EqualFold(string(f), s) })
	if i < 0 {
		return "", false
	}
	return formats[i], true
}

// The XML namespaces that the provider's serialiser writes.
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

func renderList(f wire.Format, items []string) []byte {
	switch f {
	case wire.JSON:
		return wire.EncodeJSON(append([]string{}, items...)) // never null
	case wire.XML:
		return wire.EncodeXML(xmlStrings{NS: nsArrays, Items: items})
	}
	return []byte(strings.Join(items, separators[f]))
}

// renderString writes a single string: a hash.
func renderString(f wire.Format, s string) []byte {
	switch f {
	case wire.JSON:
		return wire.EncodeJSON(s)
	case wire.XML:
		return wire.EncodeXML(xmlString{NS: nsStrings, Value: s})
	}
	return []byte(s)
}

// manifestInfo is an item of ManifestList.
type manifestInfo struct {
	Name        string `json:"manifestName" xml:"manifestName"`
	Description string `json:"description" xml:"description"`
	URL         string `json:"url" xml:"url"`
}

type xmlManifests struct {
	XMLName xml.Name       `xml:"ArrayOfManifest"`
	Items   []manifestInfo `xml:"Manifest"`
}

// renderManifests writes ManifestList. The text formats hold the names only.
func renderManifests(f wire.Format, items []manifestInfo) []byte {
	switch f {
	case wire.JSON:
		return wire.EncodeJSON(append([]manifestInfo{}, items...))
	case wire.XML:
		return wire.EncodeXML(xmlManifests{Items: items})
	}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Name
	}
	return renderList(f, names)
}

// renderMetadata writes an object: in XML when f is XML, else in JSON.
func renderMetadata(f wire.Format, members wire.Fields) (wire.Format, []byte) {
	if f == wire.XML {
		return f, wire.EncodeXML(wire.Document{Root: "Metadata", Members: members})
	}
	body, _ := members.MarshalJSON() // never fails
	return wire.JSON, body
}
