package commandline

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	windowsSet      = regexp.MustCompile(`(?i)^set\s+(/[ap]\s+)?"?([a-z_][a-z0-9_]*)\s*=([^"]*)"?\s*$`)
	windowsComment  = regexp.MustCompile(`(?i)^\s*@?(rem(\s|$)|::)`)
	windowsVariable = regexp.MustCompile(`%[A-Za-z_][A-Za-z0-9_]*%|![A-Za-z_][A-Za-z0-9_]*!`)
	windowsArgument = regexp.MustCompile(`%(~[a-z]*)?([0-9*])`)
	windowsLoopWord = regexp.MustCompile(`%%?(~[a-z]*)?([A-Za-z])`)
	windowsPart     = regexp.MustCompile(`%[A-Za-z_][A-Za-z0-9_]*:[^%]*%`)
	dollarVariable  = regexp.MustCompile(`\$[A-Za-z_{(]`)
	windowsFor      = regexp.MustCompile(`(?is)^for\s+(/[a-z])?\s*("[^"]*"|[^%\s]\S*)?\s*%%?([a-z])\s+in\s*\(`)
	windowsDo       = regexp.MustCompile(`(?is)^\s*do\s+`)
	windowsIf       = regexp.MustCompile(`(?is)^if\s+(/i\s+)?(not\s+)?(errorlevel\s+\d+|exist\s+("[^"]*"|\S+)|defined\s+\S+|("[^"]*"|[^\s=]+)\s*==\s*("[^"]*"|[^\s(]+)|\S+\s+(?:equ|neq|lss|leq|gtr|geq)\s+\S+)\s*`)
	windowsElse     = regexp.MustCompile(`(?is)^\s*else\b\s*`)
	windowsFailed   = regexp.MustCompile(`(?i)^if\s+(errorlevel\s+[1-9]|[%!]errorlevel[%!]\s+(neq|gtr)\s+0|not\s+[%!]errorlevel[%!]\s*==\s*0)`)
	windowsLabel    = regexp.MustCompile(`^\s*:([A-Za-z_][A-Za-z0-9_-]*)\s*$`)
	windowsCall     = regexp.MustCompile(`(?i)\bcall\s+:([a-z_][a-z0-9_-]*)`)
	windowsFailGoto = regexp.MustCompile(`(?im)(?:\|\||errorlevel[^\n]*?)\s*goto\s+:?([a-z_][a-z0-9_-]*)`)
	windowsReturn   = regexp.MustCompile(`(?i)^\s*@?(goto\s+:eof|exit(\s+/b.*)?|exit\s+\d+)\s*$`)
)

// logicalLine is a line of a script with the lines that continue it. It holds line ends
// only inside of brackets.
type logicalLine struct {
	text string
	line int
}

// maxBlock limits the lines of a block in brackets.
const maxBlock = 500

// logicalLines joins lines that end in a continuation mark, and those of a block. Brackets
// that are never closed join nothing.
func logicalLines(text string, first int, marks, opening, closing string) []logicalLine {
	var all []logicalLine
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		joined, next := lines[i], i+1
		joined, next = continued(joined, lines, next, marks)
		if depthOf(joined, opening, closing) > 0 {
			block, after := []string{joined}, next
			depth := depthOf(joined, opening, closing)
			for depth > 0 && after < len(lines) && len(block) < maxBlock {
				more := lines[after]
				more, after = continued(more, lines, after+1, marks)
				block, depth = append(block, more), depth+depthOf(more, opening, closing)
			}
			if depth <= 0 {
				joined, next = strings.Join(block, "\n"), after
			}
		}
		all = append(all, logicalLine{joined, first + i})
		i = next
	}
	return all
}

// continued appends the lines that a mark at the end of a line asks for. The line ends
// become spaces, so that line numbers inside a block can be smaller than in the file.
func continued(line string, lines []string, next int, marks string) (string, int) {
	line = strings.TrimRight(line, " \t")
	for line != "" && strings.IndexByte(marks, line[len(line)-1]) >= 0 && next < len(lines) {
		line = line[:len(line)-1] + " " + strings.TrimRight(lines[next], " \t")
		next++
	}
	return line, next
}

// brackets yields the place of each bracket outside of quotes, and how deep the text is
// after it.
func brackets(text, opening, closing string) iter.Seq2[int, int] {
	return func(yield func(at, depth int) bool) {
		depth, isQuoted := 0, false
		for i := range len(text) {
			before := depth
			switch c := text[i]; {
			case c == '"':
				isQuoted = !isQuoted
			case c == '\n':
				isQuoted = false
			case isQuoted:
			case strings.IndexByte(opening, c) >= 0:
				depth++
			case strings.IndexByte(closing, c) >= 0:
				depth--
			}
			if depth != before && !yield(i, depth) {
				return
			}
		}
	}
}

// depthOf counts the brackets that a text opens and does not close, outside of quotes.
func depthOf(text, opening, closing string) (open int) {
	for _, depth := range brackets(text, opening, closing) {
		open = depth
	}
	return open
}

// block cuts off what stands before the bracket that closes an opened one.
func block(text, opening, closing string) (inside, rest string) {
	for at, depth := range brackets(text, opening, closing) {
		if depth < 0 {
			return text[:at], text[at+1:]
		}
	}
	return text, ""
}

// batchScript is a script for the Windows command prompt with its labels.
type batchScript struct {
	lines  []logicalLine
	called map[string]bool // labels that `call` starts
	failed map[string]bool // labels to which a failure leads
}

// batchReader reads scripts for the Windows command prompt.
type batchReader struct{ *reader }

// batch reads lines for the Windows command prompt.
func (r batchReader) batch(text string, s *scope) {
	script := &batchScript{logicalLines(text, s.line, "^`", "(", ")"), map[string]bool{}, map[string]bool{}}
	for _, found := range windowsCall.FindAllStringSubmatch(text, -1) {
		script.called[strings.ToLower(found[1])] = true
	}
	for _, found := range windowsFailGoto.FindAllStringSubmatch(text, -1) {
		script.failed[strings.ToLower(found[1])] = true
	}
	s.shell.batch = script
	isCalled, hasFailed := false, false
	for _, l := range script.lines {
		if parts := windowsLabel.FindStringSubmatch(l.text); parts != nil {
			isCalled = isCalled || script.called[strings.ToLower(parts[1])]
			hasFailed = script.failed[strings.ToLower(parts[1])]
			continue
		}
		if !isCalled {
			s.afterFailure(hasFailed, func() { r.batchText(l.text, l.line, s) })
		}
		isCalled = isCalled && !windowsReturn.MatchString(l.text)
	}
}

// subroutine reads what `call :LABEL` starts.
func (r batchReader) subroutine(name string, args []Word, s *scope) {
	script := s.shell.batch
	if s.shell.depth++; s.shell.depth > maxDepth || script == nil {
		return
	}
	s.setArguments(r.reader, args)
	isInside := false
	for _, l := range script.lines {
		if parts := windowsLabel.FindStringSubmatch(l.text); parts != nil {
			isInside = isInside || strings.EqualFold(parts[1], name)
			continue
		}
		if !isInside {
			continue
		}
		r.batchText(l.text, l.line, s)
		if windowsReturn.MatchString(l.text) {
			return
		}
	}
}

// batchText reads commands that &, | and line ends separate.
func (r batchReader) batchText(text string, line int, s *scope) {
	for text != "" && r.budget > 0 {
		piece, operator, rest := cutCommand(text)
		r.batchCommand(strings.TrimLeft(piece, " \t@\n"), line+leadingLines(piece), s)
		line += strings.Count(piece+operator, "\n")
		if operator == "||" {
			s.afterFailure(true, func() { r.batchText(rest, line, s) })
			return
		}
		text = rest
	}
}

func leadingLines(text string) int {
	return strings.Count(text[:len(text)-len(strings.TrimLeft(text, " \t@\n"))], "\n")
}

// cutCommand cuts the first command off, outside of brackets and quotes.
func cutCommand(text string) (command, operator, rest string) {
	depth, isQuoted := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			isQuoted = !isQuoted
		case isQuoted && c != '\n':
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case c == '&' && i > 0 && text[i-1] == '>': // 2>&1
		case c == '&' || c == '|' || c == '\n':
			end := i + 1
			if c != '\n' && end < len(text) && text[end] == c {
				end++
			}
			return text[:i], text[i:end], text[end:]
		}
		if text[i] == '\n' {
			isQuoted = false
		}
	}
	return text, "", ""
}

// batchCommand reads one command. It takes every branch of an if.
func (r batchReader) batchCommand(text string, line int, s *scope) {
	if r.budget--; r.budget < 0 || text == "" || windowsComment.MatchString(text) {
		return
	}
	if condition := windowsIf.FindString(text); condition != "" || text[0] == '(' {
		r.batchBranches(condition, text[len(condition):], line+strings.Count(condition, "\n"), s)
		return
	}
	if head := windowsFor.FindStringSubmatch(text); head != nil {
		r.batchLoop(head, text[len(head[0]):], line+strings.Count(head[0], "\n"), s)
		return
	}
	if parts := windowsSet.FindStringSubmatch(text); parts != nil {
		w := s.windowsWord(strings.TrimRight(parts[3], " \t"))
		r.set(s, strings.ToUpper(parts[2]), w.Text, w.Known && parts[1] == "")
		return
	}
	r.windowsCommand(s.windowsWords(text), line, s)
}

// batchBranches reads a block, or what follows an if with its else.
func (r batchReader) batchBranches(condition, text string, line int, s *scope) {
	hasFailed := windowsFailed.MatchString(condition)
	inside, isBlock := strings.CutPrefix(text, "(")
	if !isBlock {
		s.afterFailure(hasFailed, func() { r.batchCommand(text, line, s) })
		return
	}
	if s.shell.nesting >= maxNesting {
		return
	}
	s.shell.nesting++
	defer func() { s.shell.nesting-- }()
	inside, rest := block(inside, "(", ")")
	s.afterFailure(hasFailed, func() { r.batchText(inside, line, s) })
	if otherwise := windowsElse.FindString(rest); otherwise != "" {
		r.batchCommand(rest[len(otherwise):], line+strings.Count(inside+otherwise, "\n"), s)
	}
}

// batchLoop reads the body of a for once for each word of its set. Of a set that only a
// file, a command or the disk tells, the words are not known.
func (r batchReader) batchLoop(head []string, rest string, line int, s *scope) {
	set, rest := block(rest, "(", ")")
	line += strings.Count(set, "\n")
	do := windowsDo.FindString(rest)
	body, name := rest[len(do):], "%"+head[3]
	values := []Word{{}}
	switch strings.ToLower(head[1]) {
	case "":
		values = s.loopWords(set)
	case "/l":
		values = s.loopNumbers(set)
	}
	for _, value := range values {
		if r.budget < 0 {
			return
		}
		s.vars[name+" is set"] = "yes"
		r.set(s, name, value.Text, value.Known)
		r.batchCommand(strings.TrimLeft(body, " \t@\n"), line, s)
	}
	delete(s.vars, name+" is set")
}

func (s *scope) loopWords(set string) []Word {
	var values []Word
	for _, w := range s.windowsWords(strings.NewReplacer(",", " ", ";", " ", "\n", " ").Replace(set)) {
		w.Known = w.Known && !strings.ContainsAny(w.Text, "*?")
		values = append(values, w)
	}
	return values
}

// loopNumbers are those of for /l: start, step, end.
func (s *scope) loopNumbers(set string) []Word {
	var limits [3]int
	parts := strings.Split(set, ",")
	for i := range limits {
		if len(parts) != len(limits) {
			return []Word{{}}
		}
		n, err := strconv.Atoi(strings.TrimSpace(parts[i]))
		if err != nil {
			return []Word{{}}
		}
		limits[i] = n
	}
	var values []Word
	for n := limits[0]; n <= limits[2] && limits[1] > 0 && len(values) < maxList; n += limits[1] {
		values = append(values, Word{strconv.Itoa(n), true})
	}
	return values
}

// windowsCommand follows a command of Windows that is split into its words.
func (r batchReader) windowsCommand(words []Word, line int, s *scope) {
	if len(words) == 0 {
		return
	}
	switch program := programOf(words[0]); {
	case program == "cd" || program == "chdir" || program == "pushd":
		s.dir = ""
		return
	case program == "call" && len(words) > 1 && strings.HasPrefix(words[1].Text, ":"):
		r.subroutine(words[1].Text[1:], words[2:], s.inner())
		return
	case program == "setx" && len(words) > 2:
		r.set(s, strings.ToUpper(words[1].Text), words[2].Text, words[2].Known)
		return
	case program == "schtasks":
		in := s.inner()
		in.setTask(words)
		s = in
	case program == "at":
		in := s.inner()
		in.unusual = true
		s = in
	}
	if !r.run(s, s.at(line), words, true) && !r.windowsQuoted(words, line, s) && !r.called(words, s.at(line), s) {
		r.lose(words, s.at(line), s)
	}
}

// windowsQuoted reads a command in a word, as in cmd /c or schtasks. It is false without
// one.
func (r batchReader) windowsQuoted(words []Word, line int, s *scope) bool {
	if s.shell.depth >= maxDepth {
		return false
	}
	found, isTask := len(r.commands), programOf(words[0]) == "schtasks"
	for i, w := range words {
		if !w.Known || !mentions.MatchString(w.Text) && !(isTask && i > 0 && strings.EqualFold(words[i-1].Text, "/tr")) {
			continue
		}
		in := s.inner()
		in.shell.depth++
		r.batchText(strings.ReplaceAll(w.Text, `\"`, `"`), line, in)
	}
	return isTask || len(r.commands) > found
}

// windowsWords splits a command into its words. A backslash is part of a path.
// Redirections are left out.
func (s *scope) windowsWords(text string) []Word {
	var words []Word
	redirected := false
	for text = strings.TrimLeft(text, " \t\n"); text != ""; text = strings.TrimLeft(text, " \t\n") {
		if text[0] == '<' || text[0] == '>' || text[0] == '&' || text[0] == ')' {
			redirected = text[0] != ')'
			text = text[1:]
			continue
		}
		var w string
		w, text = nextWindowsWord(text)
		if (w == "1" || w == "2") && strings.HasPrefix(text, ">") { // as in 2>&1
			continue
		}
		if !redirected {
			words = append(words, s.windowsWord(w))
		}
		redirected = false
	}
	return words
}

// nextWindowsWord cuts the first word off. Quotes group, also inside a word; \" is a quote
// in a quoted word.
func nextWindowsWord(text string) (first, rest string) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '"' && c == '\\' && strings.HasPrefix(text[i:], `\"`) && strings.Contains(text[i+2:], `"`):
			b.WriteString(`\"`)
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"', c == '\'' && (b.Len() == 0 || b.String()[b.Len()-1] == '='):
			quote = c
		case strings.IndexByte(" \t\n&|<>)", c) >= 0:
			return b.String(), text[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// windowsWord replaces variables, arguments and the variables of loops by what the text
// sets.
func (s *scope) windowsWord(text string) Word {
	known := !windowsPart.MatchString(text)
	get := func(name string) string {
		value, set := s.vars[name]
		known = known && set
		return value
	}
	text = windowsVariable.ReplaceAllStringFunc(text, func(name string) string { return get(strings.ToUpper(strings.Trim(name, "%!"))) })
	text = windowsArgument.ReplaceAllStringFunc(text, func(name string) string {
		parts := windowsArgument.FindStringSubmatch(name)
		known = known && (parts[1] == "" || parts[1] == "~")
		return get(parts[2])
	})
	text = windowsLoopWord.ReplaceAllStringFunc(text, func(name string) string {
		parts := windowsLoopWord.FindStringSubmatch(name)
		variable := "%" + parts[2]
		if s.vars[variable+" is set"] == "" {
			return name
		}
		known = known && (parts[1] == "" || parts[1] == "~")
		return get(variable)
	})
	return Word{text, known && !dollarVariable.MatchString(text)}
}

// weekdayNames are those of Windows and of systemd, from Sunday.
var weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// monthNames are those of Windows, from January.
var monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// numbersOf returns the numbers of names, "" if one is unknown.
func numbersOf(list []string, names []string, first int) string {
	var numbers []string
	for _, name := range list {
		name = strings.ToLower(strings.TrimSpace(name))
		i := slices.Index(names, name[:min(3, len(name))])
		if i < 0 {
			return ""
		}
		numbers = append(numbers, strconv.Itoa(i+first))
	}
	return strings.Join(numbers, ",")
}
