package migration

import (
	"fmt"
	"strings"
)

// Text is a file to read, or standard input.
type Text struct {
	Name string // the path of the file; "" for standard input
	Data []byte
}

// Host is the machine, as far as texts name its files.
type Host struct {
	UsableMap func(path string) bool            // a map file can be read and parsed
	Read      func(path string) ([]byte, error) // a script or a file of variables, of at most MaxText
}

// Convert returns the configuration, as YAML, that does what the command lines in texts
// do. A text is a crontab, a script for a shell or for Windows, a task or a unit that
// starts the updater, a compose file, or single lines. A script that another text calls
// is read where it is called.
func Convert(texts []Text, host Host) ([]byte, error) {
	r := &reader{host: host, budget: maxCommands, scripts: maxScripts}
	for _, t := range texts {
		decoded, err := decode(t.Data)
		if err != nil {
			return nil, inFile(t.Name, len(texts), err)
		}
		r.texts = append(r.texts, &source{path: t.Name, content: decoded})
	}
	r.readAll()
	p := &plan{secrets: r.secrets, usableMap: host.UsableMap}
	for _, c := range r.commands {
		if p.secrets.in(c.at.file) {
			c.at.file = "another file"
		}
		p.add(c)
	}
	if len(p.entries) == 0 {
		return nil, fmt.Errorf("no command line of the updater that downloads something: expected `manifest -p NAME`, `product -p NAME` or `file -n NAME`%s%s%s", p.lookingLines(), r.unreadLines(), r.absentScripts(p.secrets))
	}
	p.arrange()
	p.notes = append(p.notes, r.allNotes()...)
	return p.yaml(r.unread), nil
}

// inFile adds the file to an error, when there are several.
func inFile(file string, files int, err error) error {
	if files < 2 {
		return err
	}
	if file == "" {
		file = "standard input"
	}
	return fmt.Errorf("%s: %w", file, err)
}

// place is a line of a text. file is "" for the first text.
type place struct {
	file string
	line int
}

func (p place) String() string {
	if p.file == "" {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("line %d of %s", p.line, p.file)
}

// word is one word of a command line. known is false when the text does not set a
// variable in it, or when a command would print it.
type word struct {
	text  string
	known bool
}

// command is one command line of the updater.
type command struct {
	at       place
	program  string // as written
	verb     string
	options  []word // the words after the verb
	licensed bool   // MD_LICENSE is set for it
	dir      string // where it runs; "" when that is not known
	schedule string // "" for none
	startup  bool   // it runs at each start of the host
	unusual  bool   // its schedule has no equal
	windows  bool
	remarks  []string // on the job that starts it
	mounts   []mount  // of the container that it runs in
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
