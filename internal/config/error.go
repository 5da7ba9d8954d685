package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Error is one problem of a configuration file. Its texts never hold a piece
// of the file; Key is a path of known keys, such as manifests[0].schedule.
type Error struct {
	File         string
	Line, Column int // from 1; 0 when the problem is not at one place in the file
	Key          string
	Problem      string
	Suggestion   string

	cause error // of the operating system, for errors.Is
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

// Unwrap gives the error of the operating system, if that is what happened.
func (e *Error) Unwrap() error { return e.cause }

// fault is what is wrong with one value, before it is known where it stands.
// Its texts never hold the value.
type fault struct{ problem, suggestion string }

// located is a fault of the file as a whole or of its syntax, and where it is.
type located struct {
	fault
	at position
}

func (l *located) error(file string) *Error {
	return place{at: l.at}.error(file, l.fault)
}

// joined sorts problems by position and makes one error of them: nil, the
// *Error itself, or errors.Join.
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

// systemError strips an error of the path in it, which may be file text.
func systemError(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return errors.New("input/output error")
}
