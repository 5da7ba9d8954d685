package commandline

import (
	"regexp"
	"strings"
)

var (
	psAssign  = regexp.MustCompile(`(?is)^(?:\[[a-z\[\].]+\]\s*)?\$(?:(env|script|global|local):)?([a-z_][a-z0-9_]*)\s*=\s*(.*)$`)
	psForeach = regexp.MustCompile(`(?is)^foreach\s*\(\s*\$([a-z_][a-z0-9_]*)\s+in\s+`)
	psPipe    = regexp.MustCompile(`(?is)^(.*?)\|\s*(?:foreach-object|foreach|%)\s*$`)
	psVar     = regexp.MustCompile(`(?i)\$(?:\{)?(?:(?:env|script|global|local):)?([a-z_][a-z0-9_]*)(?:\})?`)
	psFailed  = regexp.MustCompile(`(?i)^\s*(catch\b|if\s*\(\s*(\$lastexitcode\s+-(ne|gt)\s+0|-not\s+\$\?|!\s*\$\?))`)
)

// powerShellReader reads scripts for PowerShell. Their commands are those of Windows.
type powerShellReader struct{ batchReader }

// powerShell reads a script for PowerShell, as far as it assigns texts, loops over words
// and starts programs.
func (r powerShellReader) powerShell(text string, s *scope) {
	for _, l := range logicalLines(text, s.line, "`", "({", ")}") {
		r.psStatement(l.text, l.line, s)
	}
}

// psStatement reads one statement with its blocks.
func (r powerShellReader) psStatement(text string, line int, s *scope) {
	line += leadingLines(text)
	text = strings.TrimLeft(text, " \t\n;")
	if r.budget--; r.budget < 0 || text == "" || text[0] == '#' {
		return
	}
	if parts := psAssign.FindStringSubmatch(text); parts != nil {
		r.psAssign(parts, s)
		return
	}
	if head := psForeach.FindStringSubmatch(text); head != nil {
		set, rest := block(text[len(head[0]):], "(", ")")
		_, body, _ := strings.Cut(rest, "{")
		body, _ = block(body, "{", "}")
		r.psLoop(head[1], s.psWords(set), body, line, s)
		return
	}
	head, rest, hasBlock := strings.Cut(text, "{")
	if parts := psPipe.FindStringSubmatch(head); parts != nil && hasBlock {
		body, _ := block(rest, "{", "}")
		r.psLoop("_", s.psWords(parts[1]), body, line, s)
		return
	}
	if !hasBlock {
		r.psCommand(text, line, s)
		return
	}
	body, rest := block(rest, "{", "}")
	line += strings.Count(head, "\n")
	s.afterFailure(psFailed.MatchString(head), func() { r.psBody(body, line, s) })
	r.psStatement(rest, line+strings.Count(body, "\n"), s)
}

// psBody reads a block that begins in a line.
func (r powerShellReader) psBody(body string, line int, s *scope) {
	if s.shell.nesting >= maxNesting {
		return
	}
	s.shell.nesting++
	before := s.line
	s.line = line
	r.powerShell(body, s)
	s.line = before
	s.shell.nesting--
}

// psAssign sets a variable. Names count in any case.
func (r powerShellReader) psAssign(parts []string, s *scope) {
	name := strings.ToUpper(parts[2])
	words := s.psWords(parts[3])
	if len(words) == 1 {
		r.set(s, name, words[0].Text, words[0].Known)
		return
	}
	r.set(s, name, "", false)
	var list []string
	for _, w := range words {
		if !w.Known || len(list) >= maxList {
			return
		}
		list = append(list, w.Text)
	}
	s.lists[name] = list
}

func (r powerShellReader) psLoop(name string, values []Word, body string, line int, s *scope) {
	for _, value := range values {
		if r.budget < 0 {
			return
		}
		r.set(s, strings.ToUpper(name), value.Text, value.Known)
		r.psBody(body, line, s)
	}
}

// psCommand runs a command. Start-Process has the arguments in one text or in a list.
func (r powerShellReader) psCommand(text string, line int, s *scope) {
	for text != "" {
		var piece string
		trimmed := strings.TrimLeft(text, " \t;&")
		isCalled := strings.Contains(text[:len(text)-len(trimmed)], "&")
		piece, _, text = cutCommand(trimmed)
		words := s.psWords(piece)
		if len(words) == 0 || strings.ContainsAny(piece[:1], `"'`) && !isCalled { // a text is no program
			continue
		}
		if programOf(words[0]) == "start-process" {
			words = append(words[:1], s.startedWords(words[1:])...)
		}
		r.windowsCommand(words, line, s)
	}
}

var (
	startFlag  = regexp.MustCompile(`(?i)^-(filepath|argumentlist|args|wait|nonewwindow|passthru)$`)
	startValue = regexp.MustCompile(`(?i)^-(workingdirectory|windowstyle|verb|credential|redirectstandard(input|output|error))$`)
)

// startedWords are the program and the arguments of Start-Process. All arguments may stand
// in one text.
func (s *scope) startedWords(words []Word) []Word {
	var started []Word
	for i, w := range words {
		first, _, hasMore := strings.Cut(w.Text, " ")
		switch {
		case startFlag.MatchString(w.Text), startValue.MatchString(w.Text), i > 0 && startValue.MatchString(words[i-1].Text):
		case hasMore && w.Known && Verbs[first] != "":
			started = append(started, s.windowsWords(w.Text)...)
		default:
			started = append(started, w)
		}
	}
	return started
}

// psWords splits at spaces and commas, outside of quotes. @( ) and ( ) only group.
func (s *scope) psWords(text string) []Word {
	var words []Word
	var b strings.Builder
	begun, known, quote := false, true, byte(0)
	end := func() {
		if list, isList := s.psList(b.String()); begun && isList {
			words = append(words, list...)
		} else if begun {
			words = append(words, s.psWord(b.String(), known))
		}
		b.Reset()
		begun, known = false, true
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'' && c == '$':
			b.WriteString("\x00") // no variable in single quotes
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case c == '#' && !begun:
			return words
		case strings.IndexByte(" \t\n,()@;", c) >= 0 && !(c == '@' && begun):
			known = known && !(c == '(' && begun) // the result of a call
			end()
		default:
			b.WriteByte(c)
			begun = true
		}
	}
	end()
	return words
}

// psList returns the words of a variable that is a list.
func (s *scope) psList(text string) (words []Word, isList bool) {
	parts := psVar.FindStringSubmatch(text)
	if parts == nil || parts[0] != text {
		return nil, false
	}
	list, isList := s.lists[strings.ToUpper(parts[1])]
	for _, item := range list {
		words = append(words, Word{item, true})
	}
	return words, isList
}

// psWord replaces variables by what the text sets.
func (s *scope) psWord(text string, known bool) Word {
	text = psVar.ReplaceAllStringFunc(text, func(name string) string {
		value, set := s.vars[strings.ToUpper(psVar.FindStringSubmatch(name)[1])]
		known = known && set
		return value
	})
	return Word{strings.ReplaceAll(text, "\x00", "$"), known && !strings.Contains(text, "$(")}
}
