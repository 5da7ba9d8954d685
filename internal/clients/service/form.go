package service

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Form says how an operation is called. The zero value chooses JSON, and GET
// where the operation has it and GET can carry the input.
type Form struct {
	Method   string // "GET" or "POST"
	Format   string // of the answer and of a body that is sent
	JSONP    bool   // call the JSONP address
	Callback string // the function that a JSONP answer calls; "" asks for bare JSON
	// Extra are query parameters that no description knows. Only operations that
	// are Open take them, with GET.
	Extra url.Values
	// Lenient sends members that are not described. Without it they are an
	// *InputError, because a service may ignore a filter that it does not know.
	Lenient bool
}

// Call is one call of an operation, checked and ready to be sent.
type Call struct {
	Operation *Operation
	Form      Form
	// Unknown names the members that are not described; they are sent.
	Unknown []string
	members wire.Object
	prefix  string
}

// Check prepares a call. members are the input, with the names of a POST body.
// An error is an *InputError that lists all problems.
func (o *Operation) Check(form Form, members wire.Object, prefix string) (*Call, error) {
	form, err := o.complete(form, members)
	if err != nil {
		return nil, err
	}
	c := &checker{op: o, method: form.Method, prefix: prefix}
	checked := c.fields(o.Fields, members, nil)
	if len(c.unknown) > 0 && !form.Lenient {
		c.fail("%v %s: %s", errUnknown, strings.Join(c.unknown, ", "), o.known(form.Method, prefix))
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return &Call{Operation: o, Form: form, Unknown: c.unknown, members: checked, prefix: prefix}, nil
}

// complete fills in the defaults of a form and checks that the operation has it.
func (o *Operation) complete(form Form, members wire.Object) (Form, error) {
	if form.Method == "" {
		form.Method = o.Methods[0]
		if o.Has("POST") && o.beyondGET(o.Fields, members) {
			form.Method = "POST"
		}
	}
	if form.Format == "" {
		form.Format = o.Formats[0]
	}
	format, err := OneOf(o.Formats...).check(form.Format)
	switch {
	case err != nil && o.Formats[0] == FormatFile:
		return form, o.inputError("has only one format: leave the format out")
	case err != nil:
		return form, o.inputError("format %s %v", form.Format, err)
	}
	form.Format = format
	return form, o.checkForm(form)
}

func (o *Operation) inputError(format string, args ...any) error {
	return &InputError{o.Name, fmt.Sprintf(format, args...)}
}

// functionName matches the names of JavaScript functions that may be called back.
var functionName = regexp.MustCompile(`^[A-Za-z0-9_$.]+$`)

func (o *Operation) checkForm(form Form) error {
	switch taken := o.taken(form.Extra); {
	case !o.Has(form.Method):
		return o.inputError("cannot be called with %s: use %s", form.Method, strings.Join(o.Methods, " or "))
	case form.JSONP && !o.JSONP:
		return o.inputError("has no JSONP form")
	case form.JSONP && form.Format != FormatJSON:
		return o.inputError("JSONP answers are JSON only")
	case form.Callback != "" && !form.JSONP:
		return o.inputError("a callback needs the JSONP form")
	case form.Callback != "" && !functionName.MatchString(form.Callback):
		return o.inputError("the callback must be the name of a function")
	case len(form.Extra) > 0 && (!o.Open || form.Method != "GET"):
		return o.inputError("takes no further query parameters")
	case taken != "":
		return o.inputError("%s is an input of the operation: give it as one", taken)
	}
	return nil
}

// taken returns an extra parameter that the call sends anyway. The services
// match names without case.
func (o *Operation) taken(extra url.Values) string {
	own := []string{"id", "callback", o.Query}
	for _, slot := range o.Slots("GET") {
		own = append(own, slot.Input().Query)
	}
	for name := range extra {
		if slices.ContainsFunc(own, func(known string) bool { return strings.EqualFold(known, name) }) {
			return name
		}
	}
	return ""
}

// beyondGET is true for input that a GET cannot carry: several records, or an
// input without a query parameter.
func (o *Operation) beyondGET(f Fields, members wire.Object) bool {
	for i := range f.Inputs {
		in := &f.Inputs[i]
		value := members.Get(in.Name)
		switch {
		case in.Kind.filled != byCaller || isBlank(value):
		case in.Kind.shape == objects:
			list := listOf(value)
			record, _ := list[0].(wire.Object)
			if len(list) > 1 || o.beyondGET(in.Fields, record) {
				return true
			}
		case in.Kind.shape < object && !o.fills(in, "GET"):
			return true
		}
	}
	return false
}
