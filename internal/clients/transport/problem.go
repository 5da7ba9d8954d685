package transport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// problem is an error body in either of the provider's two shapes: {type, message,
// more_info} or {type, title, status, errors, traceId} (docs/wire/releases.md,
// "Errors"). Object storage has a third: <Error><Code/><Message/></Error>.
type problem struct {
	Type    string                     `json:"type" xml:"Code"`
	Title   string                     `json:"title" xml:"-"`
	Message string                     `json:"message" xml:"Message"`
	Errors  map[string]json.RawMessage `json:"errors" xml:"-"` // by field: a list of texts, or one text
	TraceID string                     `json:"traceId" xml:"-"`
}

// maxDetail limits a provider's text in an error, in bytes.
const maxDetail = 300

// parseProblem returns the type and the text of an error body, "" for those it lacks.
// It redacts before and after decoding, because decoding can bring the Customer ID to
// light.
func parseProblem(body []byte, redact Redactor) (kind, message string) {
	p, isKnown := decodeProblem(redact.Body(body))
	if !isKnown {
		return "", ""
	}
	texts := []string{p.Message, p.Title}
	for _, field := range slices.Sorted(maps.Keys(p.Errors)) {
		text := fieldText(p.Errors[field])
		texts = slices.DeleteFunc(texts, func(s string) bool { return s == text }) // a 404 repeats its title as the text of a field
		texts = append(texts, joinNonEmpty([]string{field, text}, ": "))
	}
	if p.TraceID != "" {
		texts = append(texts, "trace "+p.TraceID) // the provider's support asks for it
	}
	joined := strings.ReplaceAll(joinNonEmpty(texts, "; "), ".; ", "; ")
	return Printable(redact.String(p.Type)), Printable(redact.String(joined))
}

func decodeProblem(body []byte) (p problem, isKnown bool) {
	if bytes.HasPrefix(body, []byte("<")) {
		root := struct {
			XMLName xml.Name `xml:"Error"`
			problem
		}{}
		err := xml.Unmarshal(body, &root)
		return root.problem, err == nil
	}
	var otherType *json.UnmarshalTypeError // one member has another type; the others are still decoded
	err := json.Unmarshal(body, &p)
	return p, err == nil || errors.As(err, &otherType)
}

// fieldText returns the texts of one field of problem.Errors.
func fieldText(raw json.RawMessage) string {
	var list []string
	var one string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	return string(raw)
}

// Printable returns a provider's text on one line: without control characters and
// limited in length.
func Printable(s string) string { return clip(printable(s), maxDetail) }

// printable replaces control characters by spaces.
func printable(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }), " ")
}

func clip(s string, limit int) string {
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
