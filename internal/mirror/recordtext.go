package mirror

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"syncd/internal/manifest"
)

// writeSums writes `<manifest>.SHA256SUMS` for `sha256sum -c` within the generation.
func (r Record) writeSums(w io.Writer) error {
	sums := sumsWriter{to: w, dir: r.Manifest}
	for _, f := range r.Files {
		if err := sums.add(f.Object, f.Path); err != nil {
			return err
		}
	}
	return nil
}

// sumsWriter writes a file for `sha256sum -c`. Names need no escaping, because those that
// would need it are refused.
type sumsWriter struct {
	to   io.Writer
	dir  string
	line []byte
}

func (s *sumsWriter) add(id manifest.ObjectID, path string) error {
	line := append(hex.AppendEncode(s.line[:0], id[:]), "  "...)
	line = append(append(line, s.dir...), '/')
	s.line = append(append(line, path...), '\n')
	_, err := s.to.Write(s.line)
	return err
}

// noFiles is how json.MarshalIndent writes and ends a record without files.
const noFiles = "[]\n}"

// write writes the text of json.MarshalIndent.
func (r Record) write(w io.Writer) error {
	files := r.Files
	r.Files = []File{}
	return writeListed(w, r, files, File.appendJSON)
}

// writeListed writes head, whose last member is an empty list, with the files as that
// list. It goes file by file: MarshalIndent would hold the text of a record with 100,000
// files in memory several times.
func writeListed[F any](w io.Writer, head any, files []F, appendJSON func(F, []byte) []byte) error {
	text, err := json.MarshalIndent(head, "", " ")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		_, err := w.Write(append(text, '\n'))
		return err
	}
	before := strings.TrimSuffix(string(text), noFiles) + "[\n  "
	for _, f := range files {
		text = appendJSON(f, append(text[:0], before...))
		if _, err := w.Write(text); err != nil {
			return err
		}
		before = ",\n  "
	}
	_, err = io.WriteString(w, "\n ]\n}\n")
	return err
}

// appendJSON appends the text of json.MarshalIndent, without reflection: a record can have
// 250,000 files.
func (f File) appendJSON(to []byte) []byte {
	to = appendQuoted(append(to, "{\n   \"path\": "...), f.Path)
	to = appendQuoted(append(to, ",\n   \"reference\": "...), f.Reference)
	to = strconv.AppendInt(append(to, ",\n   \"size\": "...), f.Size, 10)
	to = hex.AppendEncode(append(to, ",\n   \"sha256\": \""...), f.Object[:])
	to = append(append(to, "\",\n   \"promised\": \""...), f.Expected.String()...)
	to = append(to, '"')
	if f.Slash {
		to = append(to, ",\n   \"slash\": true"...)
	}
	if f.Position != 0 {
		to = strconv.AppendInt(append(to, ",\n   \"position\": "...), int64(f.Position), 10)
	}
	if f.Metadata != nil {
		to = appendMetadata(append(to, ",\n   \"metadata\": "...), f.Metadata)
	}
	return append(to, "\n  }"...)
}

// appendMetadata is appendJSON for the metadata of a file.
func appendMetadata(to []byte, m *manifest.Metadata) []byte {
	before := "{\n    "
	member := func(name string) {
		to = append(append(append(append(to, before...), '"'), name...), "\": "...)
		before = ",\n    "
	}
	if !m.MD5.IsZero() {
		member("md5")
		to = appendQuoted(to, m.MD5.String())
	}
	if !m.SHA1.IsZero() {
		member("sha1")
		to = appendQuoted(to, m.SHA1.String())
	}
	if len(m.Members) > 0 {
		member("members")
		to = appendMembers(to, m.Members)
	}
	if before == "{\n    " {
		return append(to, "{}"...)
	}
	return append(to, "\n   }"...)
}

func appendMembers(to []byte, members []manifest.Member) []byte {
	before := "[\n     {\n      \"name\": "
	for _, m := range members {
		to = appendQuoted(append(to, before...), m.Name)
		to = appendQuoted(append(to, ",\n      \"value\": "...), m.Value)
		before = "\n     },\n     {\n      \"name\": "
	}
	return append(to, "\n     }\n    ]"...)
}

// appendQuoted appends text as a JSON string.
func appendQuoted(to []byte, text string) []byte {
	isPlain := !strings.ContainsFunc(text, func(c rune) bool {
		return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c)
	})
	if isPlain {
		return append(append(append(to, '"'), text...), '"')
	}
	quoted, _ := json.Marshal(text) // never fails for a string
	return append(to, quoted...)
}

// decodeRecord reads the record of a manifest from text that may hold anything.
func decodeRecord(name string, text io.Reader) (record Record, err error) {
	if record.Files, err = parseListed[File](text, &record); err != nil {
		return Record{}, err
	}
	if record.Manifest != name {
		return Record{}, fmt.Errorf("it is a record of manifest %.80q", record.Manifest)
	}
	shareMetadata(record.Files)
	return record, record.check()
}

// shareMetadata keeps equal members once: thousands of files have the same. It drops
// metadata that syncd does not write.
func shareMetadata(files []File) {
	known := map[string][]manifest.Member{}
	for i := range files {
		m := files[i].Metadata
		if m == nil {
			continue
		}
		if !m.Valid() {
			files[i].Metadata = nil
			continue
		}
		key := string(appendMembers(nil, m.Members))
		if _, found := known[key]; !found {
			known[key] = m.Members
		}
		m.Members = known[key]
	}
}

// parseListed is json.Unmarshal, but it returns the member files, file by file: the text
// of a record can be larger than everything else that a sync holds in memory.
func parseListed[F any](text io.Reader, head any) (files []F, err error) {
	rest := map[string]json.RawMessage{}
	decoder := json.NewDecoder(text)
	if err := expect(decoder, '{'); err != nil {
		return nil, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if key == "files" {
			files, err = parseFiles[F](decoder)
		} else {
			var value json.RawMessage
			err = decoder.Decode(&value)
			rest[fmt.Sprint(key)] = value
		}
		if err != nil {
			return nil, err
		}
	}
	if err := expect(decoder, '}'); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.Join(errors.New("data after the record"), err)
	}
	data, err := json.Marshal(rest)
	if err == nil {
		err = json.Unmarshal(data, head)
	}
	return files, err
}

func parseFiles[F any](decoder *json.Decoder) ([]F, error) {
	switch token, err := decoder.Token(); {
	case err != nil || token == nil: // null means no files
		return nil, err
	case token != json.Delim('['):
		return nil, fmt.Errorf("the list of files begins with %v instead of [", token)
	}
	var files []F
	for decoder.More() {
		var f F
		if err := decoder.Decode(&f); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, expect(decoder, ']')
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %v, expected %v", token, want)
	}
	return err
}
