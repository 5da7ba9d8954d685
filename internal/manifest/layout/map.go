package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"syncd/internal/manifest"
)

// MaxMap limits a map file in bytes. Shipped ones have some dozen kilobytes.
const MaxMap = 16 << 20

// maxPath limits a path of a map in bytes, because programs open it below a folder of
// theirs and Linux allows 4,096 bytes in all.
const maxPath = 1 << 10

// Map says where the files of a manifest lie. The zero value is empty.
type Map struct {
	paths map[string]string // by key
}

// MapError says what is wrong with a line of a map file.
type MapError struct {
	Line    int // from 1; 0 for the whole file
	Name    string
	Problem string
}

func (e *MapError) Error() string {
	switch {
	case e.Line == 0:
		return e.Problem
	case e.Name == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.Problem)
	}
	return fmt.Sprintf("line %d: %.64q: %s", e.Line, e.Name, e.Problem)
}

// ParseMap reads a map file: name|TYPE|OS|COMPILER|ARCHITECTURE|path, a line for each
// file. Every path that it returns is relative and stays below the folder it is used in.
// Its error is a *MapError.
func ParseMap(data []byte) (*Map, error) {
	if len(data) > MaxMap {
		return nil, &MapError{Problem: fmt.Sprintf("has %d bytes, at most %d are allowed: check which file it is", len(data), MaxMap)}
	}
	m := &Map{paths: map[string]string{}}
	firsts := map[string]int{}
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\uFEFF"))) {
		number++
		text := string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
		if strings.TrimSpace(text) == "" {
			continue
		}
		ref, place, problem := parseLine(text)
		if problem != "" {
			return nil, &MapError{Line: number, Name: ref.Name(), Problem: problem}
		}
		if place == "" {
			continue // no reference matches the line
		}
		k := key(ref)
		if known, again := m.paths[k]; again && known != place {
			return nil, &MapError{Line: number, Name: ref.Name(), Problem: fmt.Sprintf("line %d has another path for this file: keep one of the two", firsts[k])}
		}
		m.paths[k], firsts[k] = place, number
	}
	return m, nil
}

// Len returns the number of files that m places.
func (m *Map) Len() int { return len(m.paths) }

// Path returns the path of a file, and false for a file that m does not place. Release
// and tag do not matter. A map never places a Product.
func (m *Map) Path(ref manifest.Reference) (string, bool) {
	place, found := m.paths[key(ref)]
	return place, found
}

// key identifies a file as map files do: types and systems without case, the name
// exactly.
func key(ref manifest.Reference) string { return string(ref.Class()) + "/" + ref.Path() }

// types are the values of the second field. The updater says BINARY for a Library.
var types = map[manifest.Class]string{manifest.Data: "DATA", manifest.Library: "BINARY", manifest.Interface: "INTERFACE"}

// parseLine returns a problem in words, or "". It returns no path for a DATA line of one
// system, because a Data file has none and the updater compares all fields.
func parseLine(text string) (ref manifest.Reference, place, problem string) {
	if !utf8.ValidString(text) {
		return ref, "", "is not UTF-8 text: save the file as UTF-8"
	}
	fields := strings.Split(text, "|")
	if len(fields) != 6 {
		return ref, "", fmt.Sprintf("has %d fields, expected name|TYPE|OS|COMPILER|ARCHITECTURE|path", len(fields))
	}
	for i, field := range fields[:5] {
		if err := manifest.CheckSegment(field); err != nil {
			return ref, "", fmt.Sprintf("field %d: %v", i+1, err)
		}
	}
	parts, known := reference(fields)
	if !known {
		return parts.Reference(), "", fmt.Sprintf("type %.32q is not DATA, BINARY or INTERFACE", fields[1])
	}
	if problem := checkPath(fields[5]); problem != "" {
		return parts.Reference(), "", problem
	}
	if ref = parts.Reference(); parts.Class == manifest.Data && !anywhere(fields[2:5]) {
		return ref, "", ""
	}
	return ref, fields[5], ""
}

func anywhere(fields []string) bool {
	return !slices.ContainsFunc(fields, func(field string) bool { return !strings.EqualFold(field, anySystem) })
}

// reference returns the file of a line, without a release.
func reference(fields []string) (p manifest.Parts, known bool) {
	p.Name = fields[0]
	for class, name := range types {
		if strings.EqualFold(name, fields[1]) {
			p.Class = class
		}
	}
	switch p.Class {
	case manifest.Library:
		p.OS, p.Compiler, p.Architecture = fields[2], fields[3], fields[4]
	case manifest.Interface:
		p.OS, p.Language, p.Architecture = fields[2], fields[3], fields[4]
	}
	return p, p.Class != ""
}

// checkPath returns what is wrong with a path of a map, or "".
func checkPath(place string) string {
	drive := len(place) > 1 && place[1] == ':' && ('a' <= place[0]|0x20 && place[0]|0x20 <= 'z')
	switch {
	case place == "":
		return "the path is empty"
	case len(place) > maxPath:
		return fmt.Sprintf("the path has %d bytes, at most %d are allowed", len(place), maxPath)
	case place[0] == '/' || drive:
		return fmt.Sprintf("the path %.64q is absolute: write it relative to the target folder", place)
	}
	for segment := range strings.SplitSeq(place, "/") {
		if err := manifest.CheckSegment(segment); err != nil {
			return fmt.Sprintf("the path %.64q: %v", place, err)
		}
	}
	return ""
}

// Fingerprint identifies what m does: two maps that place every file alike have the same.
func (m *Map) Fingerprint() string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(m.paths)) {
		fmt.Fprintf(h, "%s|%s\n", k, m.paths[k])
	}
	return hex.EncodeToString(h.Sum(nil))
}
