package releases

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// Metadata is what the service says about one file, as far as syncd uses it. All values
// are strings on the wire, and any may be missing.
type Metadata struct {
	FileName string
	Release  string
	Size     int64 // in bytes, -1 when missing or not a number

	SHA256  manifest.Digest // zero when missing or not a digest
	Details manifest.Metadata
}

// maxSize limits a file's announced size, so that no sum of sizes overflows.
const maxSize = 1 << 50

func parseMetadata(body []byte) (Metadata, error) {
	var members map[string]anyText
	body = trim(body)
	if !bytes.HasPrefix(body, []byte("{")) || json.Unmarshal(body, &members) != nil || !utf8.Valid(body) {
		return Metadata{}, refusal.New(refusal.BadShape, "metadata is not a JSON object")
	}
	meta := Metadata{Size: -1}
	for name, value := range members {
		meta.set(name, string(value))
	}
	meta.Details.Members = manifest.SortMembers(meta.Details.Members)
	return meta, nil
}

// set takes one member. Names match in any case.
func (m *Metadata) set(name, value string) {
	switch strings.ToLower(name) {
	case "filename":
		m.FileName = value
	case "release":
		m.Release = value
	case "filesize":
		size, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err == nil && size >= 0 && size <= maxSize {
			m.Size = size
		}
	case "sha256":
		m.SHA256, _ = manifest.ParseDigest(manifest.SHA256, value) // the zero value after an error
	case "sha1":
		m.Details.SHA1, _ = manifest.ParseDigest(manifest.SHA1, value)
	case "md5":
		m.Details.MD5, _ = manifest.ParseDigest(manifest.MD5, value)
	default:
		if value != "" && len(name)+len(value) <= manifest.MaxMembers {
			m.Details.Members = append(m.Details.Members, manifest.Member{Name: name, Value: value})
		}
	}
}

// redacted returns m without the Customer ID in its texts. Names stay as they are when
// they hold a short ID.
func (m Metadata) redacted(r transport.Redactor) Metadata {
	m.FileName, m.Release = r.Name(m.FileName), r.Name(m.Release)
	m.Details.Members = slices.DeleteFunc(m.Details.Members, func(member manifest.Member) bool {
		if manifest.IsWireMember(member.Name) { // its value is a date, a number or a name
			return r.Name(member.Value) != member.Value
		}
		return r.Contains(member.Name) || r.Contains(member.Value)
	})
	return m
}

// anyText is the text of any JSON value, see jsonText.
type anyText string

func (t *anyText) UnmarshalJSON(value []byte) error {
	*t = anyText(jsonText(value))
	return nil
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
	if digest, err := manifest.ParseDigest(algorithm, string(unquoted(body))); err == nil {
		return digest, nil // nearly always: the rest is for other formats
	}
	var items []string
	err := readList(context.Background(), bytes.NewReader(body), false, transport.Redactor{}, func(e ListedManifest) error {
		items = append(items, e.Name)
		return nil
	})
	if err != nil {
		return manifest.Digest{}, err
	}
	if len(items) != 1 {
		return manifest.Digest{}, refusal.New(refusal.BadShape, "got %d items instead of one digest", len(items))
	}
	return manifest.ParseDigest(algorithm, items[0])
}

// unquoted returns a text without the quotes around it.
func unquoted(body []byte) []byte {
	if len(body) > 1 && body[0] == '"' && body[len(body)-1] == '"' {
		return body[1 : len(body)-1]
	}
	return body
}

// trim removes white space and the byte order mark that some servers send.
func trim(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte(mark)))
}
