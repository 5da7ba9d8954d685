package releases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"syncd/internal/manifest/refusal"
)

// maxQuoted limits a text list within one JSON string, in bytes: the decoder keeps it whole.
const maxQuoted = 2 << 20

func (l *listReader) readQuoted() error {
	l.src.unbounded()
	body, err := io.ReadAll(io.LimitReader(l.src, maxQuoted+1))
	switch {
	case err != nil:
		return err
	case len(body) > maxQuoted:
		return refusal.New(refusal.TooLarge, "list in a JSON string of over %d bytes", maxQuoted)
	case !utf8.Valid(body):
		return errNotUTF8
	}
	var text string
	if json.Unmarshal(bytes.TrimSpace(body), &text) != nil {
		return refusal.New(refusal.BadShape, "list begins with a quote but is not a JSON string")
	}
	return l.readText(strings.NewReader(text), separatorsOf([]byte(text[:min(len(text), maxItem)])))
}

// separatorsOf returns the bytes that separate the items of a text, whose beginning is
// head. A longer text without a separator in its head has an item that is too long.
func separatorsOf(head []byte) string {
	for _, separators := range []string{"\r\n", "\t"} {
		if bytes.ContainsAny(head, separators) {
			return separators
		}
	}
	return ","
}

// readText reads a text format.
func (l *listReader) readText(text io.Reader, separators string) error {
	l.src.unbounded() // the scanner has a limit of its own
	scanner := bufio.NewScanner(text)
	scanner.Buffer(nil, maxItem)
	scanner.Split(splitAt(separators))
	visit, finish := l.visitText, func() error { return nil }
	if separators == "," {
		joined := &commaJoiner{visit: l.visitText}
		visit, finish = joined.add, joined.finish
	}
	for scanner.Scan() {
		item := bytes.TrimSpace(scanner.Bytes())
		if !utf8.Valid(item) {
			return errNotUTF8
		}
		if len(item) == 0 {
			if err := l.skip(); err != nil {
				return err
			}
		}
		if err := visit(item); err != nil {
			return err
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return errTooLong
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	return finish()
}

func (l *listReader) visitText(item []byte) error {
	if len(item) == 0 {
		return nil
	}
	return l.visit(ListedManifest{Name: string(item)})
}

func splitAt(separators string) bufio.SplitFunc {
	return func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexAny(data, separators); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF { // a last comma is a part of its link, so an empty item ends the text
			return len(data), data, bufio.ErrFinalToken
		}
		return 0, nil, nil
	}
}

// commaJoiner joins the parts of a link that contains commas. In a list of links, only a
// comma before another link is a separator.
type commaJoiner struct {
	visit func([]byte) error
	item  []byte // not visited yet
	begun bool
	links bool // the first item is a link
}

func (j *commaJoiner) add(part []byte) error {
	isLink := bytes.Contains(part, []byte("://"))
	if j.begun && j.links && !isLink {
		j.item = append(append(j.item, ','), part...)
		if len(j.item) > maxItem {
			return errTooLong
		}
		return nil
	}
	if len(part) == 0 {
		return nil
	}
	err := j.finish()
	j.links = isLink && !j.begun || j.links
	j.begun = true
	j.item = append(j.item[:0], part...)
	return err
}

func (j *commaJoiner) finish() error { return j.visit(j.item) }
