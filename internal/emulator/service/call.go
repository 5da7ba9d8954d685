package service

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"syncd/internal/emulator/wire"
)

// Call is one request for an operation. Its inputs are the same for a query, a
// body in JSON and a body in XML.
type Call struct {
	Name      string // of the operation, as the caller spelled it
	Operation Operation
	Method    string

	service *Service
	w       http.ResponseWriter
	r       *http.Request
	format  wire.Format
	inputs  Record              // the values of the request as a whole
	lists   map[string][]Record // by lower-case name
	members []Member            // of a body in JSON, in their order
}

// Value returns the value of an input by its name in a body, "" when it is not
// given. An input without such a name goes by its name in a query.
func (c *Call) Value(name string) string { return c.inputs.Value(name) }

// First returns the first value that is not empty.
func (c *Call) First(names ...string) string { return c.inputs.First(names...) }

// Has returns whether an input is given, even with an empty value.
func (c *Call) Has(name string) bool {
	_, ok := c.inputs[strings.ToLower(name)]
	return ok
}

// List returns the records of an input of the kind List.
func (c *Call) List(name string) []Record { return c.lists[strings.ToLower(name)] }

// Records returns the records of the request. A query has exactly one.
func (c *Call) Records() []Record { return c.List("Records") }

// Member returns a member of a body in JSON as it came, nil for none.
func (c *Call) Member(name string) json.RawMessage {
	for _, m := range c.members {
		if strings.EqualFold(m.Name, name) {
			return m.Raw
		}
	}
	return nil
}

// Options reads an input of the form "Name:Value,Name:Value". Names and values
// are in lower case.
func (c *Call) Options(name string) map[string]string {
	pairs := make(map[string]string)
	for part := range strings.SplitSeq(c.Value(name), ",") {
		key, value, _ := strings.Cut(strings.ToLower(part), ":")
		if key = strings.TrimSpace(key); key != "" {
			pairs[key] = strings.TrimSpace(value)
		}
	}
	return pairs
}

// IsQuery returns whether the inputs came in a query.
func (c *Call) IsQuery() bool { return c.Method == http.MethodGet }

// read reads the inputs. It returns false and a problem for a malformed body.
func (c *Call) read() (wire.Problem, bool) {
	c.inputs, c.lists = make(Record), make(map[string][]Record)
	c.format = c.answerFormat()
	if c.IsQuery() {
		c.readQuery()
		return wire.Problem{}, true
	}
	return c.readBody()
}

func (c *Call) readQuery() {
	given := make(map[string]string)
	for name, values := range c.r.URL.Query() {
		given[strings.ToLower(name)] = values[0]
	}
	inRecord := make(Record)
	for _, in := range slices.Concat(commonInputs, c.Operation.Inputs) {
		v, ok := given[in.Query]
		switch {
		case !ok || in.Query == "":
		case in.InRecord:
			inRecord[in.name()] = v
		default:
			c.inputs[in.name()] = v
		}
	}
	c.lists["records"] = []Record{inRecord}
}

// answerFormat returns the format that a query asks for with format, and a body
// with its Accept header.
func (c *Call) answerFormat() wire.Format {
	if c.Operation.Response.Root == "" {
		return wire.JSON
	}
	if !c.IsQuery() {
		return acceptedFormat(c.r.Header.Values("Accept"))
	}
	switch f := wire.Format(strings.ToLower(wire.Parameter(c.r.URL.Query(), "format"))); {
	case f == wire.JSON, f == wire.XML:
		return f
	case c.Operation.Default != "":
		return c.Operation.Default
	}
	return wire.JSON
}

func acceptedFormat(accept []string) wire.Format {
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		switch mediaType(part) {
		case "application/json", "application/*", "*/*":
			return wire.JSON
		case "application/xml", "text/xml":
			return wire.XML
		}
	}
	return wire.JSON
}

// mediaType returns a media type without its parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}
