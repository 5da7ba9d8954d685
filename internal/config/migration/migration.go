package migration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxText limits a text in bytes. Some work grows with the square of its lines: 1 MiB of
// them took hours.
const MaxText = 64 << 10

// Convert returns the configuration, as YAML, that does what the command lines in a text
// do. The text is a crontab, a script for a shell or for Windows, or single lines.
// usableMap says whether a map file can be read and parsed.
func Convert(text []byte, usableMap func(path string) bool) ([]byte, error) {
	if len(text) > MaxText {
		return nil, errors.New("the text is larger than 64 KiB: name the crontab or script itself")
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not UTF-8 text: convert it first, such as with iconv")
	}
	r := &reader{budget: maxCommands}
	r.read(strings.ReplaceAll(string(text), "\r\n", "\n"))
	p := &plan{secrets: r.secrets, usableMap: usableMap}
	for _, c := range r.commands {
		p.add(c)
	}
	if len(p.entries) == 0 {
		return nil, fmt.Errorf("no command line of the updater that downloads something: expected `manifest -p NAME`, `product -p NAME` or `file -n NAME`%s%s", p.lookingLines(), r.unreadLines())
	}
	p.arrange()
	return p.yaml(r.unread), nil
}

// word is one word of a command line. known is false when the text does not set a
// variable in it, or when a command would print it.
type word struct {
	text  string
	known bool
}

// command is one command line of the updater.
type command struct {
	line     int
	program  string // as written
	verb     string
	options  []word // the words after the verb
	licensed bool   // MD_LICENSE is set for it
	dir      string // where it runs; "" when that is not known
	schedule string // "" for none
	startup  bool   // it runs at each start of the host
	unusual  bool   // its schedule has no equal
	windows  bool
}

// secrets are the licences of a text.
type secrets []string

// minSecret is the length of the shortest licence that is looked for in other words. A
// shorter one is part of too many of them, and syncd does not accept it.
const minSecret = 4

func (s *secrets) add(licence string) { *s = append(*s, strings.TrimSpace(licence)) }

// in is true when a text holds a licence, in any case.
func (s secrets) in(text string) bool {
	for _, licence := range s {
		if len(licence) >= minSecret && strings.Contains(strings.ToLower(text), strings.ToLower(licence)) {
			return true
		}
	}
	return false
}
