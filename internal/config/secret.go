package config

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"syncd/internal/config/document"
)

const redacted = "REDACTED"

// Secret is text that prints, formats and encodes as REDACTED. Only Reveal returns it.
type Secret string

// Reveal returns the secret text.
func (s Secret) Reveal() string { return string(s) }

// String returns REDACTED.
func (Secret) String() string { return redacted }

// GoString returns REDACTED.
func (Secret) GoString() string { return redacted }

// Format writes REDACTED, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText returns REDACTED.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON returns "REDACTED".
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML returns REDACTED.
func (Secret) MarshalYAML() (any, error) { return redacted, nil }

// minSecret is the length of the shortest Customer ID in characters. A shorter one is
// part of so many words and numbers that it cannot be kept secret.
const minSecret = 4

// ParseID trims a Customer ID that a person gives, and checks that it can be one.
func ParseID(text string) (Secret, error) {
	id, f := parseSecret(text)
	if f != nil {
		return "", &document.Error{File: "Customer ID", Problem: f.Problem, Suggestion: f.Suggestion}
	}
	return id, nil
}

// parseSecret trims a Customer ID and checks that it can be one.
func parseSecret(text string) (Secret, *document.Fault) {
	text = strings.TrimSpace(text)
	const next = "write the Customer ID alone, on one line"
	switch {
	case text == "":
		return "", document.Refuse("is empty", "write the Customer ID there")
	case strings.ContainsAny(text, "\r\n"):
		return "", document.Refuse("has more than one line", next)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "", document.Refuse("has control or invisible characters", next)
	case utf8.RuneCountInString(text) < minSecret:
		return "", document.Refuse(fmt.Sprintf("has fewer than %d characters", minSecret), "check that it is the whole Customer ID")
	}
	return Secret(text), nil
}
