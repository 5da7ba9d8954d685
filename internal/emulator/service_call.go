package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// customerID and transmissionReference are inputs of every operation. Services
// write the first with a capital or a small d at its end.
const (
	customerID            = "CustomerID"
	transmissionReference = "TransmissionReference"
)

var commonInputs = []input{{get: "id", post: customerID}, {get: "t", post: transmissionReference}}

// input is a value that an operation takes, by its name in a query and in a
// body; "" where it has none.
type input struct {
	get, post string
	kind      inputKind
	// record marks what a body carries in each of its Records. A query holds
	// one record flat.
	record bool
}

type inputKind int

const (
	textInput inputKind = iota // a string
	listInput                  // an array of objects with strings
	anyInput                   // looked at by the operation itself
)

// serviceCall is a request to one of the services, taken apart: the same for a
// query, a body in JSON and a body in XML.
type serviceCall struct {
	w       http.ResponseWriter
	r       *http.Request
	service *service
	name    string // of the operation
	op      operation
	format  format
	record                      // the values of the request as a whole
	lists   map[string][]record // by lower-case name
	members []member            // the body as it came, when it was JSON
	body    []byte
}

// record holds values by the lower-case name of a body.
type record map[string]string

// value returns the value of an input by its name in a body, "" when it is not
// given.
func (r record) value(name string) string { return r[strings.ToLower(name)] }

// has tells whether an input is given, be it with an empty value.
func (r record) has(name string) bool {
	_, ok := r[strings.ToLower(name)]
	return ok
}

// first returns the first value that is not empty.
func (r record) first(names ...string) string {
	for _, name := range names {
		if v := r.value(name); v != "" {
			return v
		}
	}
	return ""
}

// list returns the records under a name of the body.
func (c *serviceCall) list(name string) []record { return c.lists[strings.ToLower(name)] }

// records returns what Records holds; a query has one.
func (c *serviceCall) records() []record { return c.list("Records") }

// member returns a member of a JSON body as it came, or nil.
func (c *serviceCall) member(name string) json.RawMessage {
	for _, m := range c.members {
		if strings.EqualFold(m.name, name) {
			return m.raw
		}
	}
	return nil
}

// input finds an input by either of its names.
func (op operation) input(name string) (input, bool) {
	for _, in := range slices.Concat(commonInputs, op.inputs) {
		if in.post != "" && strings.EqualFold(in.post, name) || in.get != "" && strings.EqualFold(in.get, name) {
			return in, true
		}
	}
	return input{}, false
}

// read takes the request apart, or says what is wrong with its form.
func (c *serviceCall) read() (problem, bool) {
	c.record, c.lists = make(record), make(map[string][]record)
	c.format = c.answerFormat()
	if c.r.Method == http.MethodGet {
		c.readQuery()
		return problem{}, true
	}
	return c.readBody()
}

func (c *serviceCall) readQuery() {
	given := make(map[string]string)
	for name, values := range c.r.URL.Query() {
		given[strings.ToLower(name)] = values[0]
	}
	flat := make(record)
	for _, in := range slices.Concat(commonInputs, c.op.inputs) {
		v, ok := given[in.get]
		if !ok || in.get == "" {
			continue
		}
		target := c.record
		if in.record {
			target = flat
		}
		target[strings.ToLower(cmp.Or(in.post, in.get))] = v
	}
	c.lists["records"] = []record{flat}
}

// answerFormat is the format parameter of a query, or the Accept header of a
// body.
func (c *serviceCall) answerFormat() format {
	if c.op.response.root == "" {
		return formatJSON
	}
	if c.r.Method != http.MethodGet {
		return acceptedFormat(c.r.Header.Values("Accept"))
	}
	switch f, _ := parseFormat(parameter(c.r, "format")); f {
	case formatJSON, formatXML:
		return f
	}
	return cmp.Or(c.op.usual, formatJSON)
}

func acceptedFormat(accept []string) format {
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		switch mediaType(part) {
		case "application/json", "application/*", "*/*":
			return formatJSON
		case "application/xml", "text/xml":
			return formatXML
		}
	}
	return formatJSON
}

// mediaType is a media type without its parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// options reads the pairs of an input as "Name:Value,Name:Value", with names
// and values in lower case.
func options(text string) map[string]string {
	pairs := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.ToLower(part), ":")
		if name = strings.TrimSpace(name); name != "" {
			pairs[name] = strings.TrimSpace(value)
		}
	}
	return pairs
}

// reply answers with the operation's response, of which changes replace what is
// blank.
func (c *serviceCall) reply(changes fields) {
	d := c.op.response
	d.members = d.members.with(changes)
	d.members.put(field{transmissionReference, c.value(transmissionReference)})
	if c.service.write != nil {
		c.service.write(c, d)
		return
	}
	if c.format == formatXML {
		writeBody(c.w, http.StatusOK, formatXML.contentType(), asXML(d))
		return
	}
	writeBody(c.w, http.StatusOK, formatJSON.contentType(), asJSON(d))
}

// refuse answers with a code of the request itself and no result.
func (c *serviceCall) refuse(code string) {
	changes := fields{{c.op.codes, code}}
	if c.op.text != "" {
		changes = append(changes, field{c.op.text, codeTexts[code]})
	}
	c.reply(changes)
}

// faultyInput is an input by its name in a body, and what is wrong with it.
type faultyInput struct{ name, text string }

// invalid answers 400 with the inputs at fault, named as the caller's form of
// the request names them.
func (c *serviceCall) invalid(faulty ...faultyInput) {
	errors := make(map[string][]string)
	for _, f := range faulty {
		name := c.spelled(f.name)
		errors[name] = append(errors[name], f.text)
	}
	invalidRequest(http.StatusBadRequest, errors).write(c.w)
}

// missing answers 400 for inputs that an operation cannot do without.
func (c *serviceCall) missing(names ...string) {
	faulty := make([]faultyInput, len(names))
	for i, name := range names {
		faulty[i] = faultyInput{name, "The " + c.bareName(name) + " field is required."}
	}
	c.invalid(faulty...)
}

// require tells whether inputs are given and not empty, and answers 400 when
// not.
func (c *serviceCall) require(names ...string) bool {
	var absent []string
	for _, name := range names {
		if c.value(name) == "" {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		c.missing(absent...)
	}
	return len(absent) == 0
}

// bareName is the name of an input in the caller's form of the request.
func (c *serviceCall) bareName(name string) string {
	if in, ok := c.op.input(name); ok && c.r.Method == http.MethodGet {
		return cmp.Or(in.get, in.post)
	}
	return name
}

func (c *serviceCall) spelled(name string) string {
	if c.r.Method == http.MethodGet {
		return c.bareName(name)
	}
	return "$." + name
}

// invalidRequest is the problem that the services answer a request with whose
// form they cannot take.
func invalidRequest(status int, errors map[string][]string) problem {
	return problem{
		status: status, shape: shapeTitle, errors: errors,
		message: "One or more validation errors occurred.",
	}
}
