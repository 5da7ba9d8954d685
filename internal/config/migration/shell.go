package migration

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxDepth limits functions and quoted scripts within each other.
const maxDepth = 5

// shellScope is the part of a scope that only shells have.
type shellScope struct {
	functions map[string]*syntax.Stmt
	depth     int
}

// script reads shell text. If it cannot be parsed as a whole, it is read line by line.
func (r *reader) script(text string, s *scope) {
	if s.shell.functions == nil {
		s.shell.functions = map[string]*syntax.Stmt{}
	}
	if file, err := syntax.NewParser().Parse(strings.NewReader(text), ""); err == nil {
		r.statements(file.Stmts, s)
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		r.skip(s.line, text)
		return
	}
	first := s.line
	for i, line := range lines {
		s.line = first + i
		r.script(line, s)
	}
	s.line = first
}

func (r *reader) statements(list []*syntax.Stmt, s *scope) {
	for _, statement := range list {
		r.statement(statement.Cmd, s)
	}
}

// statement follows one command. It takes every branch, and each loop over words.
func (r *reader) statement(cmd syntax.Command, s *scope) {
	if r.budget--; r.budget < 0 {
		return
	}
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		r.call(cmd, s)
	case *syntax.DeclClause:
		r.assign(cmd.Args, s)
	case *syntax.BinaryCmd:
		r.statement(cmd.X.Cmd, s)
		r.statement(cmd.Y.Cmd, s)
	case *syntax.Block:
		r.statements(cmd.Stmts, s)
	case *syntax.Subshell:
		r.statements(cmd.Stmts, s.inner())
	case *syntax.IfClause:
		for branch := cmd; branch != nil; branch = branch.Else {
			r.statements(branch.Cond, s)
			r.statements(branch.Then, s)
		}
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
			r.statement(cmd.Stmt.Cmd, s)
		}
	case *syntax.FuncDecl:
		s.shell.functions[cmd.Name.Value] = cmd.Body
	}
}

func (r *reader) loop(cmd *syntax.ForClause, s *scope) {
	words, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		r.statements(cmd.Do, s)
		return
	}
	for _, w := range s.expand(words.Items) {
		if r.budget < 0 {
			return
		}
		r.set(s, words.Name.Value, w.text, w.known)
		r.statements(cmd.Do, s)
	}
}

func (r *reader) assign(list []*syntax.Assign, s *scope) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		if a.Array != nil || a.Value != nil && !simple(a.Value) {
			r.set(s, a.Name.Value, "", false)
			continue
		}
		value, err := expand.Literal(s.config(), a.Value)
		r.set(s, a.Name.Value, s.before(a)+value, err == nil)
	}
}

// before is the value that += adds to.
func (s *scope) before(a *syntax.Assign) string {
	if a.Append {
		return s.vars[a.Name.Value]
	}
	return ""
}

func (r *reader) call(cmd *syntax.CallExpr, s *scope) {
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
	if words[0].text == "cd" {
		s.enter(append(words, word{})[1])
		return
	}
	if body := s.shell.functions[words[0].text]; body != nil {
		r.function(body, words[1:], own)
		return
	}
	line := s.line + int(cmd.Pos().Line()) - 1
	found := len(r.commands)
	r.run(own, line, words, false)
	if len(r.commands) == found {
		r.quoted(words, line, own)
	}
}

// function follows a function with its arguments.
func (r *reader) function(body *syntax.Stmt, args []word, s *scope) {
	if s.shell.depth++; s.shell.depth > maxDepth || r.budget < 0 {
		return
	}
	for i, arg := range args {
		r.set(s, strconv.Itoa(i+1), arg.text, arg.known)
	}
	r.statement(body.Cmd, s)
}

// quoted reads a script in a word, as in sh -c.
func (r *reader) quoted(words []word, line int, s *scope) {
	if s.shell.depth++; s.shell.depth > maxDepth {
		return
	}
	for _, w := range words {
		if w.known && mentions.MatchString(w.text) {
			in := s.inner()
			in.line = line
			r.script(w.text, in)
		}
	}
}

// config expands variables that the text sets, and starts nothing.
func (s *scope) config() *expand.Config {
	return &expand.Config{Env: expand.FuncEnviron(func(name string) string { return s.vars[name] }), NoUnset: true}
}

// expand returns the words that the shell makes of a list.
func (s *scope) expand(list []*syntax.Word) []word {
	var words []word
	for _, w := range list {
		if !simple(w) {
			words = append(words, word{})
			continue
		}
		fields, err := expand.Fields(s.config(), w)
		if err != nil { // it may quote the word
			words = append(words, word{})
			continue
		}
		for _, field := range fields {
			words = append(words, word{field, true})
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
