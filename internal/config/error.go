package config

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

// Unwrap returns the error of the operating system, or nil.
func (e *Error) Unwrap() error { return e.cause }

// fault is a problem of one value, without its position. Its texts never quote the value.
type fault struct{ problem, suggestion string }

// located is a fault of the whole file or of its syntax, with its position.
type located struct {
	fault
	at position
}

func (l *located) error(file string) *Error {
	return place{at: l.at}.error(file, l.fault)
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
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return errors.New("input/output error")
}
