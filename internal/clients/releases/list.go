package releases

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest/refusal"
)

// listReader reads a list in any format of the service: JSON, XML, or text with CR LF,
// LF, tab or comma between the items (docs/wire/releases.md, "List formats"). The first
// byte tells the format, because a server may ignore the one that was asked for. The
// reader gives each item to visit at once, so that it never holds the whole list.
type listReader struct {
	src     *source
	objects bool // items may be objects with the members of Entry: all or none
	redact  transport.Redactor
	visit   func(ListedManifest) error

	isObject bool // the first item of a JSON array is an object
	skipped  int  // pieces of the body that are no items
}

// readList calls visit with each item of a list. A plain text becomes an Entry's name.
func readList(ctx context.Context, body io.Reader, objects bool, redact transport.Redactor, visit func(ListedManifest) error) error {
	l := &listReader{src: newSource(ctx, body), objects: objects, redact: redact, visit: visit}
	err := l.read()
	if l.src.err != nil {
		return l.src.err // the parser's error follows from this one
	}
	return err
}

func (l *listReader) read() error {
	if err := l.src.skipSpace(); err != nil {
		return err
	}
	head, whole, err := l.src.peek()
	switch {
	case err != nil:
		return err
	case len(head) == 0:
		return nil
	case head[0] == '[':
		return l.readJSON()
	case head[0] == '<':
		return l.readXML()
	case head[0] == '{':
		return l.notAList()
	case head[0] == '"':
		return l.readQuoted()
	}
	if text := string(head); whole && (text == "null" || text == "true" || text == "false") {
		return refusal.New(refusal.BadShape, "got the JSON value %s instead of a list", text)
	}
	return l.readText(l.src, separatorsOf(head))
}

// maxSkipped limits the pieces of a list that are no items, such as empty lines and XML
// comments: small ones cost much more time than the bytes that bring them.
const maxSkipped = 1_000_000

// skip counts a piece of the body that is no item.
func (l *listReader) skip() error {
	if l.skipped++; l.skipped > maxSkipped {
		return refusal.New(refusal.TooLarge, "list with over %d empty items or pieces between them", maxSkipped)
	}
	return nil
}

var errNotStrings = refusal.New(refusal.BadShape, "list is not a JSON array of strings")

// readJSON reads an array item by item.
func (l *listReader) readJSON() error {
	decoder := json.NewDecoder(l.src)
	if _, err := decoder.Token(); err != nil {
		return errNotStrings
	}
	var item json.RawMessage // its bytes are reused
	for entry := 1; decoder.More(); entry++ {
		if decoder.Decode(&item) != nil {
			return errNotStrings
		}
		l.src.used = decoder.InputOffset()
		if err := l.visitJSON(item, entry); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return errNotStrings
	}
	l.src.unbounded()
	rest := bufio.NewReader(io.MultiReader(decoder.Buffered(), l.src))
	if skipSpace(rest); endOf(rest) {
		return nil
	}
	return errNotStrings
}

func (l *listReader) visitJSON(item json.RawMessage, number int) error {
	var entry ListedManifest
	var err error
	switch {
	case !utf8.Valid(item):
		return errNotUTF8
	case string(item) == "null":
		return refusal.New(refusal.BadShape, "entry %d of the list is null", number)
	case number > 1 && (item[0] == '{') != l.isObject:
		return errNotStrings
	case l.objects && item[0] == '{':
		l.isObject = true
		err = json.Unmarshal(item, &entry)
	default:
		entry.Name, err = unquote(item)
	}
	if err != nil {
		return errNotStrings
	}
	return l.visit(entry)
}

var errNotUTF8 = refusal.New(refusal.BadShape, "list is not valid UTF-8")

// unquote decodes a JSON string. Nearly all of them have no escapes to decode.
func unquote(value []byte) (string, error) {
	if inner, isString := bytes.CutPrefix(value, []byte(`"`)); isString && bytes.IndexByte(inner, '\\') < 0 {
		return string(bytes.TrimSuffix(inner, []byte(`"`))), nil
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err
}

// notAList returns the error for an object instead of a list. It quotes an error
// object, which some servers send with status 200.
func (l *listReader) notAList() error {
	l.src.unbounded()
	body, err := io.ReadAll(io.LimitReader(l.src, maxMetadata))
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return errNotUTF8
	}
	var problem struct{ Type, Message, Title string }
	if json.Unmarshal(l.redact.Body(body), &problem) == nil && problem.Type+problem.Message+problem.Title != "" {
		return refusal.New(refusal.BadShape, "got an error object instead of a list: %.40q %.200q", problem.Type, problem.Message+problem.Title)
	}
	return refusal.New(refusal.BadShape, "got an object instead of a list")
}
