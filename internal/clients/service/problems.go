package service

import (
	"fmt"
	"slices"
	"strings"
)

// InputError says why the input of a call cannot be sent. Nothing was sent.
type InputError struct {
	Operation string
	Problem   string // all problems, with semicolons between
}

func (e *InputError) Error() string { return e.Operation + ": " + e.Problem }

// checker checks the input of one call. It collects all problems, so that the
// caller can solve them at once.
type checker struct {
	op       *Operation
	method   string
	prefix   string
	item     string   // "item 3" while that item of a longer list is checked
	missing  []string // required inputs without a value
	problems []string
	unknown  []string // members that are not described
}

func (c *checker) fail(format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if c.item != "" {
		problem = c.item + ": " + problem
	}
	c.problems = append(c.problems, problem)
}

// lack notes a required input without a value.
func (c *checker) lack(name string, kind Kind) {
	missing := fmt.Sprintf("%s (%s)", name, kind.Name)
	if c.item != "" {
		missing += " in " + c.item
	}
	c.missing = append(c.missing, missing)
}

// maxProblems bounds the problems that one error lists.
const maxProblems = 10

func (c *checker) err() error {
	problems := slices.Clone(c.problems)
	if len(c.missing) > 0 {
		problems = slices.Insert(problems, 0, "missing "+strings.Join(atMost(maxNamed, c.missing), ", "))
	}
	if len(problems) == 0 {
		return nil
	}
	return &InputError{c.op.Name, strings.Join(atMost(maxProblems, problems), "; ")}
}

// atMost shortens a list of texts.
func atMost(limit int, texts []string) []string {
	if len(texts) <= limit {
		return texts
	}
	return append(texts[:limit:limit], fmt.Sprintf("and %d more", len(texts)-limit))
}
