package commandline

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxDepth limits functions and quoted scripts within each other.
const maxDepth = 5

// maxNesting limits blocks within each other: each level reads its text again.
const maxNesting = 50

// shellScope is the part of a scope that only scripts have.
type shellScope struct {
	nesting   int
	functions map[string]shellFunction
	batch     *batchScript
	depth     int
}

// shellReader reads scripts for a shell.
type shellReader struct{ *reader }

// shellFunction is a function with the text in which it stands.
type shellFunction struct {
	body *syntax.Stmt
	file string
	line int // of the first line of that text
}

// script reads shell text. If it cannot be parsed as a whole, it is read line by line.
func (r shellReader) script(text string, s *scope) {
	if s.shell.functions == nil {
		s.shell.functions = map[string]shellFunction{}
	}
	if file, err := syntax.NewParser().Parse(strings.NewReader(text), ""); err == nil {
		r.statements(file.Stmts, s)
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		r.skip(s.at(s.line), text)
		return
	}
	first := s.line
	for i, line := range lines {
		s.line = first + i
		r.script(line, s)
	}
	s.line = first
}

func (r shellReader) statements(list []*syntax.Stmt, s *scope) {
	for _, statement := range list {
		r.redirected(statement, s)
	}
}

// statement follows one command. It takes every branch, and each loop over words.
func (r shellReader) statement(cmd syntax.Command, s *scope) {
	if r.budget--; r.budget < 0 {
		return
	}
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		r.call(cmd, s)
	case *syntax.DeclClause:
		r.assign(cmd.Args, s)
	case *syntax.BinaryCmd:
		r.redirected(cmd.X, s)
		s.afterFailure(cmd.Op == syntax.OrStmt, func() { r.redirected(cmd.Y, s) })
	case *syntax.Block:
		r.statements(cmd.Stmts, s)
	case *syntax.Subshell:
		r.statements(cmd.Stmts, s.inner())
	case *syntax.IfClause:
		r.branches(cmd, s)
	case *syntax.WhileClause:
		r.statements(cmd.Cond, s)
		r.statements(cmd.Do, s)
	case *syntax.ForClause:
		r.loop(cmd, s)
	case *syntax.CaseClause:
		for _, item := range cmd.Items {
			r.statements(item.Stmts, s)
		}
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			r.redirected(cmd.Stmt, s)
		}
	case *syntax.FuncDecl:
		s.shell.functions[cmd.Name.Value] = shellFunction{cmd.Body, s.file, s.line}
	}
}

// branches takes every branch. `if ! updater` runs its branch after a failure, `if updater`
// its else.
func (r shellReader) branches(cmd *syntax.IfClause, s *scope) {
	isNegated, found := false, len(r.commands)
	for branch := cmd; branch != nil; branch = branch.Else {
		r.statements(branch.Cond, s)
		for _, statement := range branch.Cond {
			isNegated = isNegated || statement.Negated
		}
		starts := len(r.commands) > found
		hasFailed := starts && isNegated == (branch == cmd) || isStatusTest(branch.Cond)
		s.afterFailure(hasFailed, func() { r.statements(branch.Then, s) })
		if len(r.commands) == found {
			isNegated = false
		}
	}
}

// statusTest compares an exit status with 0, such as [ $? -ne 0 ].
var statusTest = regexp.MustCompile(`(?i)\$\{?(\?|\w*(rc|ret|status|exit|code|result|err)\w*)\}?["']?\s*(-ne|-gt|!=)\s*["']?0\b`)

// isStatusTest is true for the condition of a branch that runs after a failure.
func isStatusTest(condition []*syntax.Stmt) bool {
	var b strings.Builder
	for _, statement := range condition {
		if syntax.NewPrinter().Print(&b, statement) != nil {
			return false
		}
	}
	return statusTest.MatchString(b.String())
}

// redirected follows a command that may read its input from the text itself.
func (r shellReader) redirected(statement *syntax.Stmt, s *scope) {
	loop, isLoop := statement.Cmd.(*syntax.WhileClause)
	for _, redirect := range statement.Redirs {
		if redirect.Hdoc == nil || !isLoop {
			continue
		}
		if name := readVariable(loop); name != "" {
			text, err := expand.Document(s.config(), redirect.Hdoc)
			for line := range strings.Lines(text) {
				if r.budget < 0 {
					return
				}
				r.set(s, name, strings.TrimSpace(line), err == nil)
				r.statements(loop.Do, s)
			}
			return
		}
	}
	r.statement(statement.Cmd, s)
}

// readVariable is the variable of a loop `while read NAME`, "" for another loop.
func readVariable(loop *syntax.WhileClause) string {
	if len(loop.Cond) != 1 {
		return ""
	}
	call, isCall := loop.Cond[0].Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Args) < 2 || call.Args[0].Lit() != "read" {
		return ""
	}
	return call.Args[len(call.Args)-1].Lit()
}

func (r shellReader) loop(cmd *syntax.ForClause, s *scope) {
	words, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		r.statements(cmd.Do, s)
		return
	}
	for _, w := range s.expand(words.Items) {
		if r.budget < 0 {
			return
		}
		r.set(s, words.Name.Value, w.Text, w.Known)
		r.statements(cmd.Do, s)
	}
}

func (r shellReader) assign(list []*syntax.Assign, s *scope) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		if a.Array != nil {
			r.assignList(a, s)
			continue
		}
		if a.Value != nil && !simple(a.Value) {
			r.set(s, a.Name.Value, "", false)
			continue
		}
		value, err := expand.Literal(s.config(), a.Value)
		r.set(s, a.Name.Value, s.before(a)+value, err == nil)
	}
}

// maxList limits the words of an array.
const maxList = 500

// assignList sets an array.
func (r shellReader) assignList(a *syntax.Assign, s *scope) {
	words := make([]*syntax.Word, 0, len(a.Array.Elems))
	for _, element := range a.Array.Elems {
		if element.Index != nil || element.Value == nil {
			r.set(s, a.Name.Value, "", false)
			return
		}
		words = append(words, element.Value)
	}
	var list []string
	if a.Append {
		list = slices.Clone(s.lists[a.Name.Value])
	}
	for _, w := range s.expand(words) {
		if !w.Known || len(list) >= maxList {
			r.set(s, a.Name.Value, "", false)
			return
		}
		list = append(list, w.Text)
	}
	r.set(s, a.Name.Value, "", false)
	s.lists[a.Name.Value] = list
}

// before is the value that += adds to.
func (s *scope) before(a *syntax.Assign) string {
	if a.Append {
		return s.vars[a.Name.Value]
	}
	return ""
}

func (r shellReader) call(cmd *syntax.CallExpr, s *scope) {
	if len(cmd.Args) == 0 {
		r.assign(cmd.Assigns, s)
		return
	}
	own := s.inner()
	r.assign(cmd.Assigns, own)
	words := s.expand(cmd.Args)
	if len(words) == 0 {
		return
	}
	line := own.line + int(cmd.Pos().Line()) - 1
	switch words[0].Text {
	case "cd":
		s.enter(append(words, Word{})[1])
		return
	case ".", "source":
		if file := append(words, Word{})[1]; file.Known && file.Text != "" {
			r.variables(file.Text, s.at(line), s)
			return
		}
	case "trap":
		if s.shell.depth >= maxDepth || len(words) < 3 || !words[1].Known {
			return
		}
		own.line = line
		own.shell.depth++
		isEnd := slices.ContainsFunc(words[2:], func(w Word) bool { return w.Text == "EXIT" || w.Text == "0" })
		own.afterFailure(!isEnd, func() { r.script(words[1].Text, own) })
		return
	}
	if called, isFunction := s.shell.functions[words[0].Text]; isFunction {
		r.function(called, words[1:], own)
		return
	}
	r.command(words, line, own)
}

// command reads what a command line starts: the updater, a quoted script, a called one, or
// something that is lost.
func (r shellReader) command(words []Word, line int, s *scope) {
	if !r.run(s, s.at(line), words, false) && !r.quoted(words, line, s) && !r.called(words, s.at(line), s) {
		r.lose(words, s.at(line), s)
	}
}

// function follows a function with its arguments.
func (r shellReader) function(called shellFunction, args []Word, s *scope) {
	if s.shell.depth++; s.shell.depth > maxDepth || r.budget < 0 {
		return
	}
	s.setArguments(r.reader, args)
	s.file, s.line = called.file, called.line
	r.redirected(called.body, s)
}

// quoted reads a script in a word, as in sh -c. It is false without one.
func (r shellReader) quoted(words []Word, line int, s *scope) bool {
	if s.shell.depth++; s.shell.depth > maxDepth {
		return false
	}
	found := len(r.commands)
	for i, w := range words {
		isScript := w.Known && i > 0 && words[i-1].Text == "-c" && strings.ContainsAny(w.Text, " \n")
		if isScript || w.Known && mentions.MatchString(w.Text) {
			in := s.inner()
			in.line = line
			r.script(w.Text, in)
			if isScript {
				return true
			}
		}
	}
	return len(r.commands) > found
}

// config expands variables that the text sets, and starts nothing.
func (s *scope) config() *expand.Config { return &expand.Config{Env: environ{s}, NoUnset: true} }

// environ are the variables of a scope.
type environ struct{ s *scope }

// Get implements expand.Environ.
func (e environ) Get(name string) expand.Variable {
	if list, isList := e.s.lists[name]; isList {
		return expand.Variable{Set: true, Kind: expand.Indexed, List: list}
	}
	if value := e.s.vars[name]; value != "" {
		return expand.Variable{Set: true, Kind: expand.String, Str: value}
	}
	return expand.Variable{}
}

// Each implements expand.Environ. Only expressions that simple refuses need it.
func (environ) Each(func(string, expand.Variable) bool) {}

// expand returns the words that the shell makes of a list.
func (s *scope) expand(list []*syntax.Word) []Word {
	var words []Word
	for _, w := range list {
		if !simple(w) {
			words = append(words, Word{})
			continue
		}
		fields, err := expand.Fields(s.config(), w)
		if err != nil { // it may quote the word
			words = append(words, Word{})
			continue
		}
		for _, field := range fields {
			words = append(words, Word{field, true})
		}
	}
	return words
}

// maxWord limits a word and the value of a variable in bytes, so that a few lines cannot
// make a text of any length.
const maxWord = 4 << 10

// simple is false for a word that the result of a command, a pattern or a sequence such as
// {1..999999} is part of.
func simple(w *syntax.Word) bool {
	isSimple := w.End().Offset()-w.Pos().Offset() <= maxWord
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			isSimple = false
		case *syntax.ParamExp:
			isSimple = isSimple && n.Repl == nil && n.Slice == nil && !n.Excl
		case *syntax.Lit:
			isSimple = isSimple && !strings.Contains(n.Value, "{")
		}
		return isSimple
	})
	return isSimple
}
