package document

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Error is one problem of a configuration file. Its texts never quote the file.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 when the problem has no position
	Key          string // a path of known keys, such as manifests[0].schedule
	Problem      string
	Suggestion   string

	Cause error // for errors.Is: of the operating system, or nil
}

// Error prints FILE:LINE:COL: KEY: PROBLEM; SUGGESTION, without what is empty.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	for _, part := range []string{e.Key, e.Problem} {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(part)
	}
	if e.Suggestion != "" {
		b.WriteString("; " + e.Suggestion)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Fault is a problem of one value, without its position. Its texts never quote the value.
type Fault struct{ Problem, Suggestion string }

// Refuse returns a fault.
func Refuse(problem, suggestion string) *Fault { return &Fault{problem, suggestion} }

// located is a fault of the whole file or of its syntax, with its position.
type located struct {
	Fault
	at Position
}

// Place is a key with its position in the file.
type Place struct {
	Key string
	at  Position
}

// IsInFile is true when the place has a position.
func (p Place) IsInFile() bool { return p.at != Position{} }

// Error returns a problem of the value at a place.
func (p Place) Error(file, problem, suggestion string) *Error {
	return &Error{File: file, Line: p.at.line, Column: p.at.column, Key: p.Key, Problem: problem, Suggestion: suggestion}
}

// Unreadable returns the problem of a file that the value at a place names. It hides the
// path, which may be a secret by mistake. kind names the file, such as "the map file".
func (p Place) Unreadable(file, kind string, err error) *Error {
	cause := systemError(err)
	problem := p.Error(file, "cannot be read: "+cause.Error(), "check that "+kind+" is there and that syncd's user may read it")
	problem.Cause = cause
	return problem
}

// joined returns problems as one error, sorted by position: nil, an *Error, or several
// with errors.Join.
func joined(problems []*Error) error {
	slices.SortStableFunc(problems, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	all := make([]error, len(problems))
	for i, p := range problems {
		all[i] = p
	}
	return errors.Join(all...)
}

// systemError returns the operating system's error without the path, which may be text
// of the file.
func systemError(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return errors.New("input/output error")
}
