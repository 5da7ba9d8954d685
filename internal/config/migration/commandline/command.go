package commandline

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// Text is a file to read, or standard input.
type Text struct {
	Name string // the path of the file; "" for standard input
	Data []byte
}

// Host is the machine, as far as texts name its files.
type Host struct {
	Read func(path string) ([]byte, error) // a script or a file of variables
}

// Place is a line of a text. file is "" for the first text.
type Place struct {
	file string
	line int
}

func (p Place) String() string {
	if p.file == "" {
		return fmt.Sprintf("line %d", p.line)
	}
	if !Printable(p.file) {
		return fmt.Sprintf("line %d of another file", p.line)
	}
	return fmt.Sprintf("line %d of %s", p.line, p.file)
}

// Word is one word of a command line. Known is false when the text does not set a
// variable in it, or when a command would print it.
type Word struct {
	Text  string
	Known bool
}

// Command is one command line of the updater.
type Command struct {
	At         Place
	Program    string // as written
	Verb       string
	Options    Options
	Strange    []string // the names of unknown options, "" for each word that is no option
	IsLicensed bool     // MD_LICENSE is set for it
	Dir        string   // where it runs; "" when that is not known
	Schedule   string   // "" for none
	AtStart    bool     // it runs at each start of the host
	IsUnusual  bool     // its schedule has no equal
	IsWindows  bool
	Remarks    []string // on the job that starts it

	mounts []mount // of the container that it runs in
}

// Folder returns the folder of the updater, or "" if the text does not tell it.
func (c Command) Folder() string {
	switch {
	case !strings.Contains(c.Program, "/") || c.IsWindows:
		return ""
	case path.IsAbs(c.Program):
		return path.Dir(c.Program)
	case c.Dir != "":
		return path.Dir(path.Join(c.Dir, c.Program))
	}
	return ""
}

// Secrets are the licences of a text.
type Secrets []string

// minSecret is the length of the shortest licence that is looked for in other words. A
// shorter one is part of too many of them, and syncd does not accept it.
const minSecret = 4

func (s *Secrets) add(licence string) { *s = append(*s, strings.TrimSpace(licence)) }

// In is true when a text holds a licence, in any case.
func (s Secrets) In(text string) bool {
	for _, licence := range s {
		if len(licence) >= minSecret && strings.Contains(strings.ToLower(text), strings.ToLower(licence)) {
			return true
		}
	}
	return false
}

// Printable is false for a text that cannot stand on one line.
func Printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
