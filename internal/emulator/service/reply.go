package service

import (
	"cmp"
	"fmt"
	"net/http"

	"syncd/internal/emulator/wire"
)

// Reply sends the operation's response with the changed members filled in.
func (c *Call) Reply(changes wire.Fields) {
	d := c.Operation.Response
	d.Members = d.Members.With(changes)
	d.Members.Put(wire.Field{Key: TransmissionReference, Value: c.Value(TransmissionReference)})
	if c.service.Write != nil {
		c.service.Write(c, d)
		return
	}
	if c.format == wire.XML {
		c.Send(wire.XML.ContentType(), wire.EncodeXML(d))
		return
	}
	c.Send(wire.JSON.ContentType(), wire.EncodeJSON(d))
}

// Send sends a body with status 200.
func (c *Call) Send(contentType string, body []byte) {
	wire.Write(c.w, http.StatusOK, contentType, body)
}

// Refuse sends the blank response with a code for the request.
func (c *Call) Refuse(code string) {
	changes := wire.Fields{{c.Operation.Codes, code}}
	if c.Operation.Text != "" {
		changes = append(changes, wire.Field{Key: c.Operation.Text, Value: codeTexts[code]})
	}
	c.Reply(changes)
}

// FaultyInput is an input by its name in a body, with a text that says what is
// wrong with it.
type FaultyInput struct{ Name, Text string }

// NotValid returns a faulty input with the provider's text for a bad value.
func NotValid(name, value string) FaultyInput {
	return FaultyInput{Name: name, Text: fmt.Sprintf("The value '%s' is not valid.", value)}
}

// Required returns a faulty input with the provider's text for a missing value.
func (c *Call) Required(name string) FaultyInput {
	return FaultyInput{Name: name, Text: "The " + c.spelled(name) + " field is required."}
}

// Invalid answers 400 and names the faulty inputs: by their names in the query,
// or by paths like $.Latitude into the body.
func (c *Call) Invalid(faulty ...FaultyInput) {
	errors := make(map[string][]string)
	for _, f := range faulty {
		name := c.path(f.Name)
		errors[name] = append(errors[name], f.Text)
	}
	c.InvalidPaths(errors)
}

// InvalidPaths answers 400 with texts by paths into the body.
func (c *Call) InvalidPaths(errors map[string][]string) {
	invalid(http.StatusBadRequest, errors).Write(c.w)
}

// Missing answers 400 for inputs that the operation needs.
func (c *Call) Missing(names ...string) {
	faulty := make([]FaultyInput, len(names))
	for i, name := range names {
		faulty[i] = c.Required(name)
	}
	c.Invalid(faulty...)
}

// Require returns whether all inputs are given and not empty. It answers 400
// when they are not.
func (c *Call) Require(names ...string) bool {
	var absent []string
	for _, name := range names {
		if c.Value(name) == "" {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		c.Missing(absent...)
	}
	return len(absent) == 0
}

// spelled returns the name of an input as the caller's form of request has it.
func (c *Call) spelled(name string) string {
	if in, ok := c.Operation.input(name); ok && c.IsQuery() {
		return cmp.Or(in.Query, in.Body)
	}
	return name
}

func (c *Call) path(name string) string {
	if c.IsQuery() {
		return c.spelled(name)
	}
	return "$." + name
}

// invalid returns the problem for a request whose form is wrong.
func invalid(status int, errors map[string][]string) wire.Problem {
	return wire.Problem{
		Status: status, Shape: wire.ShapeTitle, Errors: errors,
		Message: "One or more validation errors occurred.",
	}
}
