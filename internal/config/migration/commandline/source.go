package commandline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxText limits a text in bytes. Some work grows with the square of its lines: 1 MiB of
// them took hours.
const MaxText = 64 << 10

// decode returns the text of a file in UTF-8 or, as Windows writes it, in UTF-16.
func decode(data []byte) (string, error) {
	if order := utf16Order(data); order != nil {
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = order.Uint16(data[2*i:])
		}
		data = []byte(string(utf16.Decode(units)))
	}
	if len(data) > MaxText {
		return "", errors.New("the text is larger than 64 KiB: name the crontab or script itself")
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errors.New("it is neither UTF-8 nor UTF-16 text: convert it first, such as with iconv")
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), nil
}

// utf16Order returns the byte order of a text in UTF-16, nil for another text. Without a
// byte order mark, every second byte of a script or task is zero.
func utf16Order(data []byte) binary.ByteOrder {
	switch {
	case len(data) < 2 || len(data)%2 != 0:
		return nil
	case data[0] == 0xff && data[1] == 0xfe:
		return binary.LittleEndian
	case data[0] == 0xfe && data[1] == 0xff:
		return binary.BigEndian
	}
	var zeros [2]int
	for i, b := range data {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch most := len(data) / 2 * 3 / 4; {
	case zeros[0] == 0 && zeros[1] > most:
		return binary.LittleEndian
	case zeros[1] == 0 && zeros[0] > most:
		return binary.BigEndian
	}
	return nil
}

// Texts that name the updater in a form that is not read, with what to give instead.
var otherForms = []struct {
	form *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`(?m)^("?HostName"?,"?TaskName|(HostName|Folder|TaskName):?\s)`), "is a list of tasks: give each task itself, `schtasks /query /tn NAME /xml > task.xml`"},
	{regexp.MustCompile(`(?i)(New-ScheduledTaskAction|Register-ScheduledTask)\b`), "makes a task: give the task itself, `schtasks /query /tn NAME /xml > task.xml`"},
	{regexp.MustCompile(`(?m)^kind:[ \t]*(CronJob|Job|Deployment|StatefulSet|Pod|DaemonSet|List)\b`), "is an object of Kubernetes: give the command with its arguments as one line of a crontab, and see deploy/kubernetes"},
	{regexp.MustCompile(`^#!.*\b(python|perl|ruby|node|php)|(?m)^(import (os|subprocess|sys)\b|from subprocess import|use strict;)`), otherScript},
}

const otherScript = "is no script for a shell: write the command lines that it runs into a file, and give that"

var otherScriptName = regexp.MustCompile(`(?i)\.(py|pl|rb|js|php|vbs)$`)

// otherForm says what to give instead of a text, "" for one that is read.
func (t *source) otherForm() string {
	for _, other := range otherForms {
		if other.form.MatchString(t.content) {
			return other.is
		}
	}
	if otherScriptName.MatchString(t.path) {
		return otherScript
	}
	return ""
}

// source is a decoded text.
type source struct {
	path    string
	content string
	isRead  bool
}

// base is the name of the text's file, without its folders in the form of any system.
func (t *source) base() string { return baseOf(t.path) }

func baseOf(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }

// kind says how a text is read.
type kind int

// The kinds of texts. Those that start something by a schedule come first, because they
// are read first.
const (
	crontabKind kind = iota
	taskKind
	unitKind
	composeKind
	batchKind
	powerShellKind
	shellKind
)

var (
	windowsPath    = regexp.MustCompile(`(?i)(^|[\s"'=(])([a-z]:\\|\\\\[a-z0-9])`)
	windowsLine    = regexp.MustCompile(`(?im)^\s*(@?echo off|@?rem\s|::|@?set\s+"?[a-z_][a-z0-9_]*=|@?setlocal|@?for\s+(/[a-z]\s+.*)?%%?[a-z]\s+in\s*\(|schtasks(\.exe)?\s)`)
	powerShellLine = regexp.MustCompile(`(?im)^\s*(\$env:\w+\s*=|\$\w+\s*=|foreach\s*\(\s*\$|param\s*\(|\[cmdletbinding|write-(host|output)\b|start-process\b|set-strictmode\b|&\s*["'$])`)
	taskText       = regexp.MustCompile(`<Tasks?[\s>]`)
	unitText       = regexp.MustCompile(`(?m)^\[(Service|Timer)\][ \t]*$`)
	composeText    = regexp.MustCompile(`(?m)^services:[ \t]*(#.*)?$`)
)

// IsWindowsPath is true for a text with a path of Windows.
func IsWindowsPath(text string) bool { return windowsPath.MatchString(text) }

func (t *source) kind() kind {
	switch text := t.content; {
	case strings.HasPrefix(strings.TrimSpace(text), "<") && taskText.MatchString(text):
		return taskKind
	case unitText.MatchString(text):
		return unitKind
	case composeText.MatchString(text):
		return composeKind
	case isCrontab(text):
		return crontabKind
	case powerShellLine.MatchString(text):
		return powerShellKind
	case windowsPath.MatchString(text) || windowsLine.MatchString(text):
		return batchKind
	}
	return shellKind
}

// Found is what texts say about the updater.
type Found struct {
	Commands []Command
	Secrets  Secrets
	Notes    []string // on what is left out
	Missing  string   // what to give when there is no command line, to follow an error's text
}

// Read finds the command lines of the updater in texts. A script that a text calls is
// read where it is called.
func Read(texts []Text, host Host) (Found, error) {
	r := &reader{host: host, budget: maxCommands, scripts: maxScripts}
	for _, t := range texts {
		decoded, err := decode(t.Data)
		if err != nil {
			return Found{}, inFile(t.Name, len(texts), err)
		}
		r.texts = append(r.texts, &source{path: t.Name, content: decoded})
	}
	r.readAll()
	for i, c := range r.commands {
		if r.secrets.In(c.At.file) {
			r.commands[i].At.file = "another file"
		}
	}
	return Found{r.commands, r.secrets, r.allNotes(), r.unreadLines() + r.absentScripts(r.secrets)}, nil
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

// readAll reads all texts. A script that another one calls is read by then.
func (r *reader) readAll() {
	ordered := slices.Clone(r.texts)
	slices.SortStableFunc(ordered, func(a, b *source) int { return int(a.kind()) - int(b.kind()) })
	for _, t := range ordered {
		if !t.isRead {
			t.isRead = true
			r.read(t, &scope{file: r.label(t), vars: map[string]string{}, lists: map[string][]string{}})
		}
	}
}

// label names a text in comments, "" for the first one.
func (r *reader) label(t *source) string {
	switch {
	case len(r.texts) > 0 && t == r.texts[0]:
		return ""
	case t.path == "":
		return "standard input"
	case !Printable(t.path):
		return "another file"
	}
	return t.base()
}

// read reads a whole text.
func (r *reader) read(t *source, s *scope) {
	s.line = 1
	if other := t.otherForm(); other != "" {
		r.skip(s.at(1), t.content) // its licences stay secret
		r.unread = slices.DeleteFunc(r.unread, func(at Place) bool { return at.file == s.file })
		r.note(s.at(1), "and what follows %s", other)
		return
	}
	switch text := t.content; t.kind() {
	case crontabKind:
		r.crontab(text, s)
	case taskKind:
		r.tasks(text, s)
	case unitKind:
		r.units(t, s)
	case composeKind:
		r.compose(t, s)
	case powerShellKind:
		r.group(func() { powerShellReader{batchReader{r}}.powerShell(text, s) })
	case batchKind:
		r.group(func() { batchReader{r}.batch(text, s) })
	default:
		r.group(func() { shellReader{r}.script(text, s) })
	}
}
