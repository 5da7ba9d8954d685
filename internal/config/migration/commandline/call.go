package commandline

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxScripts limits the scripts that texts call.
const maxScripts = 50

// starters start the program that a later word names.
var starters = strings.Fields(`sh bash dash ksh zsh env sudo doas su runuser nice ionice chrt timeout flock chronic cronic
	nohup setsid stdbuf exec time command systemd-run systemd-cat call start cmd powershell pwsh source . then do`)

// harmless programs change nothing that a configuration of syncd would have to do: they
// print, test and wait, or make the folder that syncd makes by itself.
var harmless = strings.Fields(`echo printf test [ [[ true false : exit return break continue shift read sleep wait trap umask
	exec mkdir date hostname logger tee cat set setlocal endlocal shopt export unset local declare readonly typeset cd chdir pushd popd
	ulimit hash type eval basename dirname id whoami uname
	rem if else goto md title pause cls color ver verify timeout chcp choice write-host write-output write-error write-verbose
	set-location push-location pop-location new-item set-strictmode param start-transcript stop-transcript start-sleep
	out-file out-null tee-object`)

var (
	scriptName  = regexp.MustCompile(`(?i)\.(sh|bash|ksh|zsh|cmd|bat|ps1)$`)
	exeName     = regexp.MustCompile(`(?i)\.exe$`)
	quotedVerb  = regexp.MustCompile(`["'](manifest|product|file)["']`)
	updaterName = regexp.MustCompile(`(?i)updater`)
	systemPath  = regexp.MustCompile(`^(/usr|/usr/local)?/(bin|sbin|lib|libexec)/`)
)

// programOf is the name of a program, without its folders and .exe.
func programOf(w Word) string {
	return strings.TrimSuffix(strings.ToLower(baseOf(strings.TrimLeft(w.Text, "@"))), ".exe")
}

// called reads the script that a command line starts. It is false for other commands.
func (r *reader) called(words []Word, at Place, s *scope) bool {
	if isIncomplete(words) {
		r.note(at, "is left out: the updater gets no manifest, product or file there")
		return true
	}
	for i, w := range words {
		if i > 0 && !slices.ContainsFunc(words[:i], func(w Word) bool { return slices.Contains(starters, programOf(w)) }) {
			return false
		}
		isLock := i > 0 && programOf(words[i-1]) == "flock"
		for j := i - 1; j >= 0 && !isLock && strings.HasPrefix(words[j].Text, "-"); j-- {
			isLock = j > 0 && programOf(words[j-1]) == "flock"
		}
		if !w.Known || w.Text == "" || isLock || strings.HasPrefix(w.Text, "-") || strings.ContainsAny(w.Text, "\n ") && !scriptName.MatchString(w.Text) {
			continue
		}
		t, isNoted := r.find(w.Text, at, s)
		if t != nil {
			r.follow(t, words[i+1:], s)
		}
		if t != nil || isNoted {
			return true
		}
	}
	return false
}

// isIncomplete is true for a verb of the updater with options, but without the one that it
// needs.
func isIncomplete(words []Word) bool {
	for i, w := range words {
		if i == 0 || i+1 == len(words) || (w.Text != "manifest" && w.Text != "product") {
			continue
		}
		if next := words[i+1].Text; len(next) > 1 && next[0] == '-' && updaterName.MatchString(programOf(words[i-1])) {
			return true
		}
	}
	return false
}

// follow reads a called script with its arguments. Its folder is that of the caller.
func (r *reader) follow(t *source, args []Word, s *scope) {
	if r.scripts--; r.scripts < 0 || s.shell.depth >= maxDepth {
		return
	}
	t.isRead = true
	in := s.inner()
	in.shell.depth++
	in.file = r.label(t)
	in.setArguments(r, args)
	r.read(t, in)
}

// setArguments sets $1 or %1 and the following variables.
func (s *scope) setArguments(r *reader, args []Word) {
	var all []string
	for i, arg := range args {
		r.set(s, strconv.Itoa(i+1), arg.Text, arg.Known)
		all = append(all, arg.Text)
	}
	if !slices.ContainsFunc(args, func(w Word) bool { return !w.Known }) {
		s.lists["@"] = all
		r.set(s, "*", strings.Join(all, " "), true)
	}
}

// find returns the script that a word names: one of the given texts, or a file of this
// host that starts the updater. It notes a script that cannot be read.
func (r *reader) find(name string, at Place, s *scope) (t *source, isNoted bool) {
	for _, t := range r.texts[min(1, len(r.texts)):] {
		if t.path != "" && strings.EqualFold(t.base(), baseOf(name)) {
			return t, false
		}
	}
	file := name
	if !path.IsAbs(file) && s.dir != "" {
		file = path.Join(s.dir, file)
	}
	isScript := scriptName.MatchString(name)
	data, err := r.readFile(file)
	switch {
	case err == nil && (mentions.MatchString(data) || quotedVerb.MatchString(data)):
		return &source{path: file, content: data}, false
	case err == nil || errors.Is(err, errNoText):
		return nil, false // it does not start the updater
	case !isScript && (!path.IsAbs(name) || systemPath.MatchString(name) || exeName.MatchString(name)):
		return nil, false
	}
	for _, t := range r.texts[min(1, len(r.texts)):] {
		if t.path == "" && !t.isRead { // standard input is the script that is left
			return t, false
		}
	}
	if len(r.absent) < maxScripts && !slices.ContainsFunc(r.absent, func(a absent) bool { return a.name == name }) {
		r.absent = append(r.absent, absent{at, name})
	}
	return nil, true
}

var errNoText = errors.New("no text")

// readFile reads a file of the host that a text names.
func (r *reader) readFile(file string) (string, error) {
	if r.host.Read == nil || !path.IsAbs(file) {
		return "", fs.ErrNotExist
	}
	if r.reads++; r.reads > maxScripts {
		return "", fs.ErrNotExist
	}
	data, err := r.host.Read(file)
	if err != nil {
		return "", err
	}
	content, err := decode(data)
	if err != nil {
		return "", errNoText
	}
	return content, nil
}

// variables reads a file that only sets variables, as by `.` or EnvironmentFile=.
func (r *reader) variables(name string, at Place, s *scope) {
	if r.scripts--; r.scripts < 0 || s.shell.depth >= maxDepth {
		return
	}
	content, isGiven := "", false
	for _, t := range r.texts {
		if t.path != "" && strings.EqualFold(t.base(), baseOf(name)) {
			t.isRead, isGiven, content = true, true, t.content
		}
	}
	if !isGiven {
		file := name
		if !path.IsAbs(file) && s.dir != "" {
			file = path.Join(s.dir, file)
		}
		data, err := r.readFile(file)
		if err != nil {
			r.note(at, "reads variables from %s, which cannot be read here: give that file as another argument", name)
			return
		}
		content = data
	}
	in := *s // the maps are shared: the variables reach the caller
	in.shell.depth++
	in.file, in.line = baseOf(name), 1
	shellReader{r}.script(content, &in)
}

// absent is a script that cannot be read here.
type absent struct {
	at   Place
	name string
}

// absentScripts says what to give instead, for the error of texts without the updater.
func (r *reader) absentScripts(hidden Secrets) string {
	for _, note := range r.notes {
		if !hidden.In(note) && Printable(note) {
			return "; " + note
		}
	}
	for _, a := range r.absent {
		if !hidden.In(a.name) && Printable(a.name) {
			return fmt.Sprintf("; %s calls %s, which cannot be read here: give it as a second file, `syncd config from-updater FILE %s`", a.at, a.name, a.name)
		}
	}
	return ""
}

// lost is a command beside the updater that the configuration does not have.
type lost struct {
	at        Place
	program   string
	onFailure bool
}

// lose notes a command that is neither the updater nor harmless.
func (r *reader) lose(words []Word, at Place, s *scope) {
	program := "a program"
	for i, w := range words {
		if slices.Contains(starters, programOf(w)) && i+1 < len(words) || strings.HasPrefix(w.Text, "-") {
			continue
		}
		if w.Known && w.Text != "" {
			program, _, _ = strings.Cut(programOf(w), " ")
		}
		break
	}
	l := lost{at, program, s.onFailure}
	if !slices.Contains(harmless, program) && !slices.Contains(r.lost, l) && len(r.lost) < maxScripts {
		r.lost = append(r.lost, l)
	}
}

// group reads commands that belong together, such as those of one script. Their other
// commands are noted as lost only if one of them starts the updater.
func (r *reader) group(read func()) {
	commands, others := len(r.commands), len(r.lost)
	read()
	if len(r.commands) == commands {
		r.lost = r.lost[:others]
	}
}

// note adds a comment on a line.
func (r *reader) note(at Place, format string, args ...any) {
	note := at.String() + " " + fmt.Sprintf(format, args...)
	if !slices.Contains(r.notes, note) && len(r.notes) < maxScripts {
		r.notes = append(r.notes, note)
	}
}

const failureHook = "`hooks: [{on: [failed, refused, stale], command: [PROGRAM, ARGUMENT]}]`, see docs/events.md"

// allNotes are the comments on the texts as a whole.
func (r *reader) allNotes() []string {
	notes := slices.Clone(r.notes)
	for _, a := range r.absent {
		notes = append(notes, fmt.Sprintf("%s calls %s, which cannot be read here: if it starts the updater, give it as a second file", a.at, a.name))
	}
	for _, l := range r.lost {
		if l.onFailure {
			notes = append(notes, fmt.Sprintf("%s, %s: left out: after a failure, a hook starts it: %s", l.at, l.program, failureHook))
			continue
		}
		notes = append(notes, fmt.Sprintf("%s, %s: left out: what must follow new data is a hook with `on: [activated, rolled_back]`, what checks new data is a gate, anything else stays in a job of its own", l.at, l.program))
	}
	for _, at := range r.unread {
		notes = append(notes, at.String()+" cannot be read as a command: convert it by hand")
	}
	return notes
}
