package commandline

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

// LicenceVariable is where the updater looks for a licence without -l.
const LicenceVariable = "MD_LICENSE"

// isLicensed is set like a variable when MD_LICENSE is, also to a value that is not known.
const isLicensed = LicenceVariable + " is set"

// reader collects the updater's command lines of texts.
type reader struct {
	host     Host
	texts    []*source
	commands []Command
	secrets  Secrets
	unread   []Place // lines that cannot be read and may hold the updater
	absent   []absent
	lost     []lost
	notes    []string
	budget   int // of commands
	scripts  int // that may still be called
	reads    int // of files of the host
}

// scope is what a command line depends on.
type scope struct {
	file      string // the label of the text
	line      int    // of the first line of what is read, from 1
	dir       string
	vars      map[string]string
	lists     map[string][]string // arrays, and "@" for the arguments
	onFailure bool                // it runs when the command before it has failed
	shell     shellScope
	schedule  string
	startup   bool
	unusual   bool
	remarks   []string
	mounts    []mount
	mail      bool // cron mails the output
}

// afterFailure reads what runs when the command before it has failed.
func (s *scope) afterFailure(hasFailed bool, read func()) {
	before := s.onFailure
	s.onFailure = before || hasFailed
	read()
	s.onFailure = before
}

// at is a line of the text, counted from the first line of what is read.
func (s *scope) at(line int) Place { return Place{s.file, line} }

// inner returns a scope whose changes do not reach s.
func (s *scope) inner() *scope {
	in := *s
	in.vars, in.lists = maps.Clone(s.vars), maps.Clone(s.lists)
	return &in
}

func (r *reader) set(s *scope, name, value string, known bool) {
	if name == LicenceVariable {
		s.vars[isLicensed] = "yes"
	}
	delete(s.lists, name)
	if !known || len(value) > maxWord {
		delete(s.vars, name)
		return
	}
	s.vars[name] = value
	if name == LicenceVariable {
		r.secrets.add(value)
	}
}

var mentions = regexp.MustCompile(`\b(manifest|product|file)\b.*\s-`)

// Verbs of the updater, each with the option that it needs.
var Verbs = map[string]string{"manifest": "product", "product": "product", "file": "filename", "verify": "product"}

// run looks for the updater in the words of a command, behind programs such as sudo,
// nice or dotnet. It is false without the updater.
func (r *reader) run(s *scope, at Place, words []Word, windows bool) bool {
	for i, w := range words {
		name, value, assigned := strings.Cut(w.Text, "=")
		if assigned && name == LicenceVariable { // sudo or env sets it
			in := s.inner()
			r.set(in, name, value, w.Known)
			s = in
		}
		if i == 0 || Verbs[w.Text] == "" || !w.Known || strings.HasPrefix(words[i-1].Text, "-") {
			continue
		}
		c := Command{
			At: at, Program: words[i-1].Text, Verb: w.Text, IsLicensed: s.vars[isLicensed] != "", Dir: s.dir,
			Schedule: s.schedule, AtStart: s.startup, IsUnusual: s.unusual, IsWindows: windows, Remarks: s.remarks, mounts: s.mounts,
		}
		c.Options, c.Strange = parseOptions(words[i+1:])
		if !c.Options.Has(Verbs[c.Verb]) {
			continue
		}
		if licence := c.Options.Get("license"); licence.Known {
			r.secrets.add(licence.Text)
		}
		if mounts, isContainer := mountsOf(words[:i]); isContainer {
			c.mounts, c.Dir = mounts, ""
		}
		r.commands = append(r.commands, c)
		return true
	}
	return false
}

// enter follows cd.
func (s *scope) enter(to Word) {
	switch {
	case !to.Known || to.Text == "" || to.Text == "-":
		s.dir = ""
	case path.IsAbs(to.Text):
		s.dir = path.Clean(to.Text)
	case s.dir != "":
		s.dir = path.Join(s.dir, to.Text)
	}
}

// licenceText finds licences in lines that cannot be read.
var licenceText = regexp.MustCompile(`(?:\s-l\s*|--licen[sc]e[\s=]\s*|` + LicenceVariable + `=)["']?([^\s"']+)`)

// skip notes lines that cannot be read, if they may hold the updater. Their licences stay
// secret.
func (r *reader) skip(at Place, text string) {
	for i, t := range strings.Split(text, "\n") {
		for _, found := range licenceText.FindAllStringSubmatch(t, -1) {
			r.secrets.add(found[1])
		}
		if mentions.MatchString(t) && !strings.HasPrefix(strings.TrimSpace(t), "#") && !slices.Contains(r.unread, Place{at.file, at.line + i}) {
			r.unread = append(r.unread, Place{at.file, at.line + i})
		}
	}
}

func (r *reader) unreadLines() string {
	if len(r.unread) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s cannot be read as a command)", r.unread[0])
}
