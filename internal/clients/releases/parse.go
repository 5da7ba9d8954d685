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

// parseList reads a list result in any format of the service: JSON, XML, or
// text with CR LF, LF, tab or comma between the items. Which it is shows in the
// first byte; the format that was asked for is only a wish.
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
		return nil, refusal.New(refusal.BadShape, "JSON %s in place of a list", body)
	case body[0] == '"':
		var item string
		if err := json.Unmarshal(body, &item); err != nil {
			return nil, refusal.New(refusal.BadShape, "list begins like a JSON string and is none")
		}
		return splitText(item), nil
	default:
		return splitText(string(body)), nil
	}
}

// trim drops white space and the byte order mark that some servers send.
func trim(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff")))
}

func parseJSONList(body []byte) ([]string, error) {
	var items []string
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, refusal.New(refusal.BadShape, "list is not a JSON array of strings")
	}
	if slices.Contains(items, "") { // which a null leaves too
		if i := indexOfNull(body); i >= 0 {
			return nil, refusal.New(refusal.BadShape, "entry %d of the list is null", i+1)
		}
	}
	return items, nil
}

// indexOfNull returns where the first null of an array of strings is, or -1.
func indexOfNull(body []byte) int {
	var items []*string
	_ = json.Unmarshal(body, &items) // it was read before
	return slices.Index(items, nil)
}

// notAList tells an error object, which some servers send with status 200, from nonsense.
func notAList(body []byte) error {
	var problem struct{ Type, Message, Title string }
	if json.Unmarshal(body, &problem) == nil && problem.Type+problem.Message+problem.Title != "" {
		return refusal.New(refusal.BadShape, "an error object in place of a list: %.40q %.200q", problem.Type, problem.Message+problem.Title)
	}
	return refusal.New(refusal.BadShape, "an object in place of a list")
}

// parseXMLList takes the text of each element directly below the root. Anything
// deeper is no list of strings, nor are elements of several names, as an error
// has them; an HTML page ends here.
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
				return errors.New("not a list of one kind")
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
		return nil, refusal.New(refusal.BadShape, "neither a list nor XML of one (an HTML page?)")
	}
	return list, nil
}

// eachToken reads a whole XML document. Directives are refused: a list has no use for a DTD.
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

// splitText reads the text formats. A comma may be part of a link, so in a list
// of links only a comma before another link separates.
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

// parseEntries reads the result of ManifestList: objects in JSON or XML, or only
// the names in the text formats.
func parseEntries(body []byte) ([]Entry, error) {
	entries, err := parseAnyEntries(trim(body))
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if entry.Name == "" {
			return nil, refusal.New(refusal.BadShape, "entry %d has no name of a manifest", i+1)
		}
		if manifest.CheckSegment(entry.Name) != nil {
			return nil, refusal.New(refusal.BadName, "entry %d has a name that is not one plain path segment", i+1)
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
		return nil, refusal.New(refusal.BadShape, "neither a list nor XML of one (an HTML page?)")
	}
	entries := make([]Entry, len(list.Items))
	for i, item := range list.Items {
		if item.XMLName.Local != list.Items[0].XMLName.Local {
			return nil, refusal.New(refusal.BadShape, "XML that is not a list of one kind")
		}
		entries[i] = item.Entry
		if entries[i].Name == "" {
			entries[i].Name = strings.TrimSpace(item.Text)
		}
	}
	return entries, nil
}

// Metadata is what the service says of one file. Its values are strings on the
// wire; any may be missing, and those not named here are kept in Other.
type Metadata struct {
	FileName string
	Release  string
	Size     int64 // bytes, -1 when missing or no number
	Digests  map[manifest.Algorithm]string
	Other    map[string]string
}

// maxSize bounds a file's announced size: a larger one is a slip or an attack,
// and must not overflow a sum of sizes.
const maxSize = 1 << 50

func parseMetadata(body []byte) (Metadata, error) {
	body = trim(body)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil || !utf8.Valid(body) {
		return Metadata{}, refusal.New(refusal.BadShape, "metadata is not a JSON object")
	}
	meta := Metadata{Size: -1, Digests: map[manifest.Algorithm]string{}, Other: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(members)) { // in an order, for names that differ only in case
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

// jsonText is the text of a string, and everything else as it was written: a
// number out of range is no reason to refuse the rest.
func jsonText(value json.RawMessage) string {
	if inner, isString := bytes.CutPrefix(value, []byte(`"`)); isString && bytes.IndexByte(inner, '\\') < 0 {
		return string(bytes.TrimSuffix(inner, []byte(`"`))) // nothing in it stands for something else
	}
	var text string // stays empty for null
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// parseHash reads the result of a hash endpoint: one item in any list format, or
// a single XML element with nothing but text.
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
		return manifest.Digest{}, refusal.New(refusal.BadShape, "%d items in place of one digest", len(items))
	}
	return manifest.ParseDigest(algorithm, items[0])
}
