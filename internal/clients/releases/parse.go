package releases

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"syncd/internal/manifest"
	"syncd/internal/refusal"
)

// parseList reads a list in any format of the service: JSON, XML, or text with CR LF,
// LF, tab or comma between the items (docs/wire/releases.md, "List formats"). The first
// byte tells the format, because a server may ignore the one that was asked for.
func parseList(body []byte) ([]string, error) {
	body = trim(body)
	switch {
	case len(body) == 0:
		return nil, nil
	case !utf8.Valid(body):
		return nil, refusal.New(refusal.BadShape, "list is not valid UTF-8")
	case body[0] == '[':
		return parseJSONList(body)
	case body[0] == '<':
		return parseXMLList(body)
	case body[0] == '{':
		return nil, notAList(body)
	case slices.Contains([]string{"null", "true", "false"}, string(body)):
		return nil, refusal.New(refusal.BadShape, "got the JSON value %s instead of a list", body)
	case body[0] == '"':
		var item string
		if err := json.Unmarshal(body, &item); err != nil {
			return nil, refusal.New(refusal.BadShape, "list begins with a quote but is no JSON string")
		}
		return splitText(item), nil
	default:
		return splitText(string(body)), nil
	}
}

// trim removes white space and the byte order mark that some servers send.
func trim(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff")))
}

func parseJSONList(body []byte) ([]string, error) {
	var items []string
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, refusal.New(refusal.BadShape, "list is not a JSON array of strings")
	}
	if slices.Contains(items, "") { // decoding null gives "" too
		if i := indexOfNull(body); i >= 0 {
			return nil, refusal.New(refusal.BadShape, "entry %d of the list is null", i+1)
		}
	}
	return items, nil
}

// indexOfNull returns the index of the first null in an array of strings, or -1.
func indexOfNull(body []byte) int {
	var items []*string
	_ = json.Unmarshal(body, &items) // cannot fail: parseJSONList decoded it before
	return slices.Index(items, nil)
}

// notAList returns the error for an object instead of a list. It quotes an error
// object, which some servers send with status 200.
func notAList(body []byte) error {
	var problem struct{ Type, Message, Title string }
	if json.Unmarshal(body, &problem) == nil && problem.Type+problem.Message+problem.Title != "" {
		return refusal.New(refusal.BadShape, "got an error object instead of a list: %.40q %.200q", problem.Type, problem.Message+problem.Title)
	}
	return refusal.New(refusal.BadShape, "got an object instead of a list")
}

// parseXMLList returns the text of each element directly below the root. It refuses
// deeper elements, elements with different names (an error object) and HTML pages.
func parseXMLList(body []byte) ([]string, error) {
	var list []string
	var item string // the name of its elements
	var text strings.Builder
	depth := 0
	err := eachToken(body, func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			text.Reset()
			if depth > 2 || strings.EqualFold(t.Name.Local, "html") {
				return errors.New("not a flat list")
			}
			if depth == 2 && item != "" && t.Name.Local != item {
				return errors.New("elements differ in name")
			}
			if depth == 2 {
				item = t.Name.Local
			}
		case xml.CharData:
			if depth == 2 {
				text.Write(t)
			} else if len(bytes.TrimSpace(t)) > 0 {
				return errors.New("text between the items")
			}
		case xml.EndElement:
			if depth == 2 {
				list = append(list, strings.TrimSpace(text.String()))
			}
			depth--
		}
		return nil
	})
	if err != nil {
		return nil, refusal.New(refusal.BadShape, "got neither a list nor XML with a list: is it a proxy's HTML page?")
	}
	return list, nil
}

// eachToken calls visit for each token of an XML document. It refuses directives,
// because a list needs no DTD.
func eachToken(body []byte, visit func(xml.Token) error) error {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, isDirective := token.(xml.Directive); isDirective {
			return errors.New("directive")
		}
		if err := visit(token); err != nil {
			return err
		}
	}
}

// splitText reads the text formats. A link may hold commas, so in a list of links only
// a comma before another link is a separator.
func splitText(text string) []string {
	separator := ","
	switch {
	case strings.ContainsAny(text, "\r\n"):
		separator = "\n"
		text = strings.ReplaceAll(text, "\r", "\n")
	case strings.Contains(text, "\t"):
		separator = "\t"
	}
	var list []string
	for item := range strings.SplitSeq(text, separator) {
		item = strings.TrimSpace(item)
		partOfLink := separator == "," && len(list) > 0 && strings.Contains(list[0], "://") && !strings.Contains(item, "://")
		switch {
		case partOfLink:
			list[len(list)-1] += "," + item
		case item != "":
			list = append(list, item)
		}
	}
	return list
}

// parseEntries reads the result of ManifestList: objects in JSON or XML, or names
// alone in the text formats.
func parseEntries(body []byte) ([]Entry, error) {
	entries, err := parseAnyEntries(trim(body))
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if entry.Name == "" {
			return nil, refusal.New(refusal.BadShape, "entry %d of the list has no manifest name", i+1)
		}
		if manifest.CheckSegment(entry.Name) != nil {
			return nil, refusal.New(refusal.BadName, "entry %d of the list has a name that is not one plain path segment", i+1)
		}
	}
	return entries, nil
}

func parseAnyEntries(body []byte) ([]Entry, error) {
	var entries []Entry
	switch {
	case len(body) > 0 && body[0] == '<':
		return parseXMLEntries(body)
	case len(body) > 0 && body[0] == '[' && utf8.Valid(body) && json.Unmarshal(body, &entries) == nil:
		return entries, nil
	}
	names, err := parseList(body)
	if err != nil {
		return nil, err
	}
	entries = make([]Entry, len(names))
	for i, name := range names {
		entries[i].Name = name
	}
	return entries, nil
}

func parseXMLEntries(body []byte) ([]Entry, error) {
	var list struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
		Items   []struct {
			XMLName xml.Name
			Entry
			Text string `xml:",chardata"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(body, &list); err != nil || strings.EqualFold(list.XMLName.Local, "html") || strings.TrimSpace(list.Text) != "" {
		return nil, refusal.New(refusal.BadShape, "got neither a list nor XML with a list: is it a proxy's HTML page?")
	}
	entries := make([]Entry, len(list.Items))
	for i, item := range list.Items {
		if item.XMLName.Local != list.Items[0].XMLName.Local {
			return nil, refusal.New(refusal.BadShape, "got XML whose elements differ in name instead of a list")
		}
		entries[i] = item.Entry
		if entries[i].Name == "" {
			entries[i].Name = strings.TrimSpace(item.Text)
		}
	}
	return entries, nil
}

// Metadata is what the service says about one file. All values are strings on the
// wire, and any may be missing.
type Metadata struct {
	FileName string
	Release  string
	Size     int64                         // in bytes, -1 when missing or not a number
	Digests  map[manifest.Algorithm]string // as sent, not validated
	Other    map[string]string             // the remaining values by their key
}

// maxSize limits a file's announced size, so that no sum of sizes overflows.
const maxSize = 1 << 50

func parseMetadata(body []byte) (Metadata, error) {
	body = trim(body)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil || !utf8.Valid(body) {
		return Metadata{}, refusal.New(refusal.BadShape, "metadata is not a JSON object")
	}
	meta := Metadata{Size: -1, Digests: map[manifest.Algorithm]string{}, Other: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(members)) { // sorted, so that of names that differ only in case the same one always wins
		text := jsonText(members[name])
		switch strings.ToLower(name) {
		case "filename":
			meta.FileName = text
		case "release":
			meta.Release = text
		case "filesize":
			if size, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && size >= 0 && size <= maxSize {
				meta.Size = size
			}
		case "md5", "sha1", "sha256":
			meta.Digests[manifest.Algorithm(strings.ToUpper(name))] = text
		default:
			meta.Other[name] = text
		}
	}
	return meta, nil
}

// jsonText returns the text of a JSON string, and any other value as it is written: a
// number out of range must not refuse the other values.
func jsonText(value json.RawMessage) string {
	if inner, isString := bytes.CutPrefix(value, []byte(`"`)); isString && bytes.IndexByte(inner, '\\') < 0 {
		return string(bytes.TrimSuffix(inner, []byte(`"`))) // no escapes to decode
	}
	var text string // stays empty for null
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// parseHash reads the result of a hash endpoint: one item in any list format, or one
// XML element that holds only text.
func parseHash(algorithm manifest.Algorithm, body []byte) (manifest.Digest, error) {
	var single struct {
		Text  string     `xml:",chardata"`
		Other []struct{} `xml:",any"`
	}
	if body = trim(body); bytes.HasPrefix(body, []byte("<")) && xml.Unmarshal(body, &single) == nil && len(single.Other) == 0 {
		return manifest.ParseDigest(algorithm, single.Text)
	}
	items, err := parseList(body)
	if err != nil {
		return manifest.Digest{}, err
	}
	if len(items) != 1 {
		return manifest.Digest{}, refusal.New(refusal.BadShape, "got %d items instead of one digest", len(items))
	}
	return manifest.ParseDigest(algorithm, items[0])
}
