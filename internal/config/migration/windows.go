package migration

import (
	"regexp"
	"strings"
)

var (
	windowsSet      = regexp.MustCompile(`(?i)^\s*@?set\s+"?([a-z_][a-z0-9_]*)=([^"]*)"?\s*$`)
	windowsComment  = regexp.MustCompile(`(?i)^\s*(@?rem(\s|$)|::)`)
	windowsVariable = regexp.MustCompile(`%([A-Za-z_][A-Za-z0-9_]*)%`)
	dollarVariable  = regexp.MustCompile(`\$[A-Za-z_{(]`)
)

// windowsScript reads lines for the Windows command prompt. A caret or a backtick at the
// end of a line continues it.
func (r *reader) windowsScript(text string, s *scope) {
	first, pending := s.line, ""
	start := first
	for i, line := range strings.Split(text, "\n") {
		if pending == "" {
			start = first + i
		}
		line = strings.TrimRight(line, " \t")
		if strings.HasSuffix(line, "^") || strings.HasSuffix(line, "`") {
			pending += line[:len(line)-1] + " "
			continue
		}
		r.windowsLine(pending+line, start, s)
		pending = ""
	}
	if pending != "" {
		r.windowsLine(pending, start, s)
	}
}

func (r *reader) windowsLine(text string, line int, s *scope) {
	if windowsComment.MatchString(text) {
		return
	}
	if parts := windowsSet.FindStringSubmatch(text); parts != nil {
		w := s.windowsWord(parts[2])
		r.set(s, strings.ToUpper(parts[1]), w.text, w.known)
		return
	}
	for _, words := range s.windowsCommands(text) {
		found := len(r.commands)
		switch strings.ToLower(words[0].text) {
		case "cd":
			s.dir = ""
			continue
		case "set":
			name, value, _ := strings.Cut(append(words, word{})[1].text, "=")
			r.set(s, strings.ToUpper(name), value, append(words, word{})[1].known)
			continue
		}
		r.run(s, line, words, true)
		if len(r.commands) == found {
			r.windowsQuoted(words, line, s)
		}
	}
}

// windowsQuoted reads a command in a word, as in cmd /c or schtasks.
func (r *reader) windowsQuoted(words []word, line int, s *scope) {
	if s.shell.depth >= maxDepth {
		return
	}
	for _, w := range words {
		if w.known && mentions.MatchString(w.text) {
			in := s.inner()
			in.shell.depth++
			r.windowsLine(w.text, line, in)
		}
	}
}

// windowsCommands splits a line into commands and their words. A backslash is part of a
// path. What is redirected is left out.
func (s *scope) windowsCommands(text string) [][]word {
	var commands [][]word
	var words []word
	redirected := false
	end := func() {
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words, redirected = nil, false
	}
	for text = strings.TrimLeft(text, " \t@("); text != ""; text = strings.TrimLeft(text, " \t") {
		switch text[0] {
		case '&', '|', ')':
			end()
			text = text[1:]
			continue
		case '<', '>':
			redirected = true
			text = text[1:]
			continue
		}
		var w string
		w, text = nextWindowsWord(text)
		if w == "2" && strings.HasPrefix(text, ">") { // as in 2>&1
			redirected = true
			text = strings.TrimLeft(text, ">&1")
			continue
		}
		if !redirected {
			words = append(words, s.windowsWord(w))
		}
	}
	end()
	return commands
}

// nextWindowsWord cuts the first word off. Quotes group, also inside a word.
func nextWindowsWord(text string) (first, rest string) {
	var b strings.Builder
	quote := byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"', c == '\'' && (b.Len() == 0 || b.String()[b.Len()-1] == '='):
			quote = c
		case strings.IndexByte(" \t&|<>)", c) >= 0:
			return b.String(), text[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// windowsWord replaces %NAME% by what the text sets.
func (s *scope) windowsWord(text string) word {
	known := true
	text = windowsVariable.ReplaceAllStringFunc(text, func(name string) string {
		value, set := s.vars[strings.ToUpper(strings.Trim(name, "%"))]
		known = known && set
		return value
	})
	return word{text, known && !dollarVariable.MatchString(text)}
}
