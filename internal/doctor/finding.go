//go:build linux

package doctor

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"syncd/internal/config/document"
	"syncd/internal/ui/terminal"
)

// Severity says how bad a finding is, the worst first.
type Severity int

// The severities.
const (
	Failure Severity = iota // syncd cannot work, or is not working
	Hint                    // works, or may be meant so
	Skipped                 // could not be checked
	OK
)

func (s Severity) String() string { return [...]string{"failure", "hint", "skipped", "ok"}[s] }

// MarshalText returns the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one result of a check.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Next     string   `json:"next"` // what to do; "" when there is nothing to do
}

// Print writes the finding with its next step.
func (f Finding) Print(w io.Writer) {
	terminal.PrintMarked(w, fmt.Sprintf("%-8s", f.Severity), f.Check+": "+f.Text)
	if f.Next != "" {
		fmt.Fprintf(w, "         next: %s\n", f.Next)
	}
}

// blocks is true when checks that need this one make no sense.
func (f Finding) blocks() bool { return f.Severity == Failure || f.Severity == Skipped }

func failure(next, text string, values ...any) Finding {
	return Finding{Severity: Failure, Text: fmt.Sprintf(text, values...), Next: next}
}

func hint(next, text string, values ...any) Finding {
	return Finding{Severity: Hint, Text: fmt.Sprintf(text, values...), Next: next}
}

func skipped(text string, values ...any) Finding {
	return Finding{Severity: Skipped, Text: fmt.Sprintf(text, values...)}
}

func skippedUntil(next, text string, values ...any) Finding {
	return Finding{Severity: Skipped, Text: fmt.Sprintf(text, values...), Next: next}
}

func good(text string, values ...any) Finding {
	return Finding{Severity: OK, Text: fmt.Sprintf(text, values...)}
}

// orGood returns the findings, or that all is well.
func orGood(found []Finding, text string, values ...any) []Finding {
	if len(found) == 0 {
		return []Finding{good(text, values...)}
	}
	return found
}

// configFailures turns the errors of package config into findings.
func configFailures(err error) (found []Finding) {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, one := range several.Unwrap() {
			found = append(found, configFailures(one)...)
		}
		return found
	}
	var problem *document.Error
	if !errors.As(err, &problem) {
		return []Finding{failing(err, "check that file")}
	}
	if problem.Suggestion == "" {
		return []Finding{failing(problem, "correct that key")}
	}
	plain := *problem
	plain.Suggestion = ""
	return []Finding{failure(problem.Suggestion, "%s", plain.Error())}
}

// failing is a failure with an error whose text may end in a next step. Otherwise next
// says what to do.
func failing(err error, next string) Finding {
	text := err.Error()
	if at := strings.LastIndex(text, ": "); at >= 0 && isStep(text[at+2:]) {
		return failure(text[at+2:], "%s", text[:at])
	}
	return failure(next, "%s", text)
}

// isStep recognises the next steps that errors of syncd end in, by their first word.
func isStep(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	switch first {
	case "check", "choose", "correct", "give", "move", "run", "remove", "make", "mount", "name", "free", "set", "restart", "write":
		return true
	}
	return false
}

// harmless matches texts that a shell takes as one word.
var harmless = regexp.MustCompile(`^[\w./:@%+=,-]+$`)

// word returns a name or a path so that it can stand in a command, which root pastes.
// Other users can choose it: it must be one word, and no option.
func word(text string) string {
	text = strings.TrimLeft(text, "-")
	if harmless.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
