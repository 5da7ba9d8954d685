package mirror

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// writeSums writes `<manifest>.SHA256SUMS` for `sha256sum -c` within the generation.
// Names need no escaping, because those that would need it are refused.
func (r Record) writeSums(w io.Writer) error {
	var line []byte
	for _, f := range r.Files {
		line = append(hex.AppendEncode(line[:0], f.Object[:]), "  "...)
		line = append(append(line, r.Manifest...), '/')
		line = append(append(line, f.Path...), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// noFiles is how json.MarshalIndent writes and ends a record without files.
const noFiles = "[]\n}"

// write writes the text of json.MarshalIndent, but file by file: MarshalIndent would
// hold the text of a record with 100,000 files in memory several times.
func (r Record) write(w io.Writer) error {
	files := r.Files
	r.Files = []File{}
	head, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		_, err := w.Write(append(head, '\n'))
		return err
	}
	before := strings.TrimSuffix(string(head), noFiles) + "[\n  "
	var text []byte
	for _, f := range files {
		text = f.appendJSON(append(text[:0], before...))
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
	return append(to, "\"\n  }"...)
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
func decodeRecord(name string, text io.Reader) (Record, error) {
	record, err := parseRecord(text)
	if err != nil {
		return Record{}, err
	}
	if record.Manifest != name {
		return Record{}, fmt.Errorf("it is a record of manifest %.80q", record.Manifest)
	}
	return record, record.check()
}

// parseRecord is json.Unmarshal, but file by file: the text of a record can be
// larger than everything else that a sync holds in memory.
func parseRecord(text io.Reader) (Record, error) {
	var files []File
	rest := map[string]json.RawMessage{}
	decoder := json.NewDecoder(text)
	if err := expect(decoder, '{'); err != nil {
		return Record{}, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return Record{}, err
		}
		if key == "files" {
			files, err = parseFiles(decoder)
		} else {
			var value json.RawMessage
			err = decoder.Decode(&value)
			rest[fmt.Sprint(key)] = value
		}
		if err != nil {
			return Record{}, err
		}
	}
	if err := expect(decoder, '}'); err != nil {
		return Record{}, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Record{}, errors.Join(errors.New("data after the record"), err)
	}
	var record Record
	data, err := json.Marshal(rest)
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	record.Files = files
	return record, err
}

func parseFiles(decoder *json.Decoder) ([]File, error) {
	switch token, err := decoder.Token(); {
	case err != nil || token == nil: // null means no files
		return nil, err
	case token != json.Delim('['):
		return nil, fmt.Errorf("the list of files begins with %v instead of [", token)
	}
	var files []File
	for decoder.More() {
		var f File
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
