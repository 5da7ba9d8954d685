package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"syncd/internal/clients/transport"
)

// Code is a result code of a service, e.g. "MS01".
type Code string

// Class is what a Code means for a caller.
type Class int

const (
	// Unknown codes have no confirmed meaning. They count as neither success nor failure.
	Unknown Class = iota
	// Success codes say that the call succeeded.
	Success
	// Warning codes come with a result.
	Warning
	// NoMatch codes say that nothing was found, which is not a failure.
	NoMatch
	// Failure codes say that the call failed, whatever the HTTP status.
	Failure
)

func (c Class) String() string {
	return [...]string{"unknown", "success", "warning", "no match", "error"}[c]
}

// families are the classes of codes by their beginning; the first match counts.
// For most success families only single codes are confirmed.
var families = []struct {
	begin string
	class Class
}{
	{"SE", Failure}, {"GE", Failure}, {"GW", Warning},
	{"AE", NoMatch}, // an address error of one record
	{"MS01", Success}, {"LS01", Success}, {"YS02", Success}, {"YS04", Success}, {"GS07", Success},
	{"XS03", NoMatch}, {"XS", Success},
}

// meanings are published by the provider, or follow from its samples. The shared
// GE and SE codes are in docs/wire/contribution.md, section 5.
var meanings = map[Code]string{
	"SE01": "internal error of the service",
	"GE01": "empty request", "GE02": "empty list of records", "GE03": "too many records",
	"GE04": "empty Customer ID", "GE05": "invalid Customer ID", "GE06": "disabled Customer ID",
	"GE07": "invalid request", "GE08": "product not enabled for this Customer ID",
	"GE09": "unknown customer", "GE10": "banned licence", "GE11": "disabled customer",
	"GE12": "blocked IP address", "GE13": "IP address not on the allow list",
	"GE14": "out of credit", "GE15": "unacceptable Customer ID",
	"GW01": "the Customer ID expires soon", "GW10": "unknown column", "GW11": "bad option name",
	"GW12": "bad option value", "GW15": "the sort type clashes with the preferred-list filter",
	"MS01": "submitted and queued for review", "LS01": "success, with results",
	"XS01": "complete", "XS02": "cut at the number of records asked for", "XS03": "no match",
	"YS02": "address matched", "YS04": "detailed data returned", "GS07": "records found",
}

// Class returns the class of a code.
func (c Code) Class() Class {
	for _, family := range families {
		if strings.HasPrefix(strings.ToUpper(string(c)), family.begin) {
			return family.class
		}
	}
	return Unknown
}

// Meaning returns the meaning of a code in words, or "" if it is unknown.
func (c Code) Meaning() string { return meanings[c] }

func (c Code) String() string {
	if c.Meaning() == "" {
		return string(c)
	}
	return fmt.Sprintf("%s (%s)", string(c), c.Meaning())
}

// Codes is a list of codes. Bodies carry it as one text with commas between.
type Codes []Code

// UnmarshalText reads a list of codes.
func (c *Codes) UnmarshalText(text []byte) error {
	*c = ParseCodes(string(text))
	return nil
}

// ParseCodes reads a list of codes with commas, semicolons or space between.
// Blank codes are left out.
func ParseCodes(text string) Codes {
	var codes Codes
	for _, code := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) }) {
		codes = append(codes, Code(code))
	}
	return codes
}

// Has is true when the list holds at least one of the wanted codes.
func (c Codes) Has(wanted ...Code) bool {
	return slices.ContainsFunc(c, func(code Code) bool { return slices.Contains(wanted, code) })
}

// Of returns the codes of a class.
func (c Codes) Of(class Class) Codes {
	var found Codes
	for _, code := range c {
		if code.Class() == class {
			found = append(found, code)
		}
	}
	return found
}

func (c Codes) String() string {
	texts := make([]string, len(c))
	for i, code := range c {
		texts[i] = code.String()
	}
	return strings.Join(texts, ", ")
}

// AnswerError is an answer with HTTP status 200 that has an error code, or that
// lacks a required success code. Its texts do not hold the Customer ID.
type AnswerError struct {
	Service   string
	Operation string
	Codes     Codes  // all codes of the answer
	Message   string // the provider's text
}

func (e *AnswerError) Error() string {
	codes := e.Codes.Of(Failure)
	if len(codes) == 0 {
		codes = e.Codes
	}
	text := cmp.Or(transport.Printable(codes.String()), "the answer has no success code")
	if e.Message != "" {
		text += ": " + e.Message
	}
	return fmt.Sprintf("%s %s: %s", e.Service, e.Operation, text)
}
