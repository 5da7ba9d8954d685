package service

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"syncd/internal/clients/transport"
)

// Code is a result code of a service, e.g. "MS01".
type Code string

// Class is what a Code means for a caller.
type Class int

const (
	// Unknown codes have no confirmed meaning; they are neither good nor bad.
	Unknown Class = iota
	// Success codes say that the call did what it was asked for.
	Success
	// Warning codes come with a result.
	Warning
	// NoMatch codes say that there is no result, which is no failure.
	NoMatch
	// Failure codes say that the call failed, whatever the HTTP status.
	Failure
)

func (c Class) String() string {
	return [...]string{"unknown", "success", "warning", "no match", "error"}[c]
}

// families are the classes of codes by how they begin; the first that fits
// counts. Of most families of successes only single codes are confirmed.
var families = []struct {
	begin string
	class Class
}{
	{"SE", Failure}, {"GE", Failure}, {"GW", Warning},
	{"AE", NoMatch}, // an address that is in error, of one record
	{"MS01", Success}, {"LS01", Success}, {"YS02", Success}, {"YS04", Success}, {"GS07", Success},
	{"XS03", NoMatch}, {"XS", Success},
}

// meanings are those that the provider has published, or that samples show.
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

// Class sorts a code.
func (c Code) Class() Class {
	for _, family := range families {
		if strings.HasPrefix(strings.ToUpper(string(c)), family.begin) {
			return family.class
		}
	}
	return Unknown
}

// Meaning is what a code says, in words; "" when nobody knows.
func (c Code) Meaning() string { return meanings[c] }

func (c Code) String() string {
	if c.Meaning() == "" {
		return string(c)
	}
	return fmt.Sprintf("%s (%s)", string(c), c.Meaning())
}

// Codes is a list of codes, which the wire writes with commas between.
type Codes []Code

// UnmarshalText reads a list of codes.
func (c *Codes) UnmarshalText(text []byte) error {
	*c = ParseCodes(string(text))
	return nil
}

// ParseCodes reads a list of codes; blank ones are left out.
func ParseCodes(text string) Codes {
	var codes Codes
	for _, code := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) }) {
		codes = append(codes, Code(code))
	}
	return codes
}

// Has is true when one of the codes is among them.
func (c Codes) Has(any ...Code) bool {
	for _, code := range c {
		for _, wanted := range any {
			if code == wanted {
				return true
			}
		}
	}
	return false
}

// Of are the codes of a class.
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

// AnswerError is an answer with HTTP status 200 whose codes say that the call
// failed. Its texts hold no Customer ID.
type AnswerError struct {
	Service   string
	Operation string
	Codes     Codes  // all that came
	Message   string // the provider's text
}

func (e *AnswerError) Error() string {
	codes := e.Codes.Of(Failure)
	if len(codes) == 0 {
		codes = e.Codes
	}
	what := cmp.Or(transport.Printable(codes.String()), "no code of success")
	if e.Message != "" {
		what += ": " + e.Message
	}
	return fmt.Sprintf("%s %s: %s", e.Service, e.Operation, what)
}
