package migration

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxCommands limits the commands that a text runs, loops included.
const maxCommands = 10_000

// licenceVariable is where the updater looks for a licence without -l.
const licenceVariable = "MD_LICENSE"

// reader collects the updater's command lines of a text.
type reader struct {
	commands []command
	secrets  secrets
	unread   []int // lines that cannot be read and may hold the updater
	budget   int
}

// scope is what a command line depends on.
type scope struct {
	line     int // of the first line of what is read, from 1
	dir      string
	vars     map[string]string
	licensed bool // MD_LICENSE is set
	shell    shellScope
	schedule string
	startup  bool
	unusual  bool
}

// inner returns a scope whose changes do not reach s.
func (s *scope) inner() *scope {
	in := *s
	in.vars = maps.Clone(s.vars)
	return &in
}

func (r *reader) set(s *scope, name, value string, known bool) {
	if name == licenceVariable {
		s.licensed = true
	}
	if !known || len(value) > maxWord {
		delete(s.vars, name)
		return
	}
	s.vars[name] = value
	if name == licenceVariable {
		r.secrets.add(value)
	}
}

var (
	windowsPath = regexp.MustCompile(`(?i)(^|[\s"'=(])([a-z]:\\|\\\\[a-z0-9])`)
	windowsLine = regexp.MustCompile(`(?im)^\s*(@?echo off|@?rem\s|::|@?set\s+"?[a-z_][a-z0-9_]*=|@?setlocal)`)
	mentions    = regexp.MustCompile(`\b(manifest|product|file)\b.*\s-`)
)

// read reads a whole text.
func (r *reader) read(text string) {
	s := &scope{line: 1, vars: map[string]string{}}
	switch {
	case isCrontab(text):
		r.crontab(text, s)
	case windowsPath.MatchString(text) || windowsLine.MatchString(text):
		r.windowsScript(text, s)
	default:
		r.script(text, s)
	}
}

// verbs of the updater, each with the option that it needs.
var verbs = map[string]string{"manifest": "product", "product": "product", "file": "filename", "verify": "product"}

// run looks for the updater in the words of a command, behind programs such as sudo,
// nice or dotnet.
func (r *reader) run(s *scope, line int, words []word, windows bool) {
	for i, w := range words {
		name, value, assigned := strings.Cut(w.text, "=")
		if assigned && name == licenceVariable { // sudo or env sets it
			in := s.inner()
			r.set(in, name, value, w.known)
			s = in
		}
		if i == 0 || verbs[w.text] == "" || !w.known || strings.HasPrefix(words[i-1].text, "-") {
			continue
		}
		c := command{
			line: line, program: words[i-1].text, verb: w.text, options: words[i+1:], licensed: s.licensed, dir: s.dir,
			schedule: s.schedule, startup: s.startup, unusual: s.unusual, windows: windows,
		}
		if options, _ := parseOptions(c.options); !options.has(verbs[c.verb]) {
			continue
		} else if licence := options.get("license"); licence.known {
			r.secrets.add(licence.text)
		}
		r.commands = append(r.commands, c)
		return
	}
}

// enter follows cd.
func (s *scope) enter(to word) {
	switch {
	case !to.known || to.text == "" || to.text == "-":
		s.dir = ""
	case path.IsAbs(to.text):
		s.dir = path.Clean(to.text)
	case s.dir != "":
		s.dir = path.Join(s.dir, to.text)
	}
}

// licenceText finds licences in lines that cannot be read.
var licenceText = regexp.MustCompile(`(?:\s-l\s*|--licen[sc]e[\s=]\s*|` + licenceVariable + `=)["']?([^\s"']+)`)

// skip notes lines that cannot be read, if they may hold the updater. Their licences stay
// secret.
func (r *reader) skip(line int, text string) {
	for i, t := range strings.Split(text, "\n") {
		for _, found := range licenceText.FindAllStringSubmatch(t, -1) {
			r.secrets.add(found[1])
		}
		if mentions.MatchString(t) && !strings.HasPrefix(strings.TrimSpace(t), "#") && !slices.Contains(r.unread, line+i) {
			r.unread = append(r.unread, line+i)
		}
	}
}

func (r *reader) unreadLines() string {
	if len(r.unread) == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d cannot be read as a command)", r.unread[0])
}
