package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
)

// Form says how an operation is called. The zero value takes GET where the
// operation has it and GET can carry the input, and JSON.
type Form struct {
	Method   string // "GET" or "POST"
	Format   string // of the answer, and of a body that is sent
	Script   bool   // ask the script address (JSONP)
	Callback string // the function that a script answer calls; "" asks for bare JSON
	// Extra are query parameters that no description knows, for the operations
	// that take such with GET.
	Extra url.Values
	// Lenient sends members that no description knows. Without it they are an
	// *InputError, for a service can overlook a filter that it does not know.
	Lenient bool
}

// Call is one call of an operation, checked and ready to be sent.
type Call struct {
	Operation *Operation
	Form      Form
	// Unknown names the members that no description knows; they are sent.
	Unknown []string
	members wire.Object
	prefix  string
}

// Check prepares a call. members are the input, named as in bodies. Errors are
// *InputError.
func (o *Operation) Check(form Form, members wire.Object, prefix string) (*Call, error) {
	form, err := o.complete(form, members)
	if err != nil {
		return nil, err
	}
	c := &checker{op: o, method: form.Method, prefix: prefix}
	checked, err := c.fields(o.Fields, members, nil)
	if err != nil {
		return nil, err
	}
	if len(c.unknown) > 0 && !form.Lenient {
		return nil, c.fail("%v %s: %s", errUnknown, strings.Join(c.unknown, ", "), o.known(form.Method, prefix))
	}
	return &Call{Operation: o, Form: form, Unknown: c.unknown, members: checked, prefix: prefix}, nil
}

// complete fills in a form and checks that the operation has it.
func (o *Operation) complete(form Form, members wire.Object) (Form, error) {
	fail := func(format string, args ...any) (Form, error) {
		return form, &InputError{o.Name, fmt.Sprintf(format, args...)}
	}
	if form.Method == "" {
		form.Method = o.Methods[0]
		if o.Has("POST") && o.beyondGET(o.Fields, nil, members) {
			form.Method = "POST"
		}
	}
	switch {
	case form.Format == "":
		form.Format = o.Formats[0]
	default:
		format, err := OneOf(o.Formats...).check(form.Format)
		if err != nil && o.Formats[0] == File {
			return fail("answers in a format of its own: ask for none")
		}
		if err != nil {
			return fail("format %s %v", form.Format, err)
		}
		form.Format = format
	}
	switch {
	case !o.Has(form.Method):
		return fail("cannot be called with %s: use %s", form.Method, strings.Join(o.Methods, " or "))
	case form.Script && !o.Script:
		return fail("has no script form (JSONP)")
	case form.Script && form.Format != JSON:
		return fail("the script form (JSONP) answers JSON only")
	case form.Callback != "" && !form.Script:
		return fail("a callback belongs to the script form (JSONP)")
	case len(form.Extra) > 0 && (!o.Open || form.Method != "GET"):
		return fail("takes no further query parameters")
	case o.taken(form.Extra) != "":
		return fail("%s has its own place in the input", o.taken(form.Extra))
	case form.Callback != "" && !isFunctionName(form.Callback):
		return fail("the callback must be the name of a function")
	}
	return form, nil
}

// taken is one of the further parameters that would be sent beside one that the
// description, or the form, has already; services match names without case.
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

// beyondGET is true for input that a GET cannot carry: several records, or what
// it has no parameter for.
func (o *Operation) beyondGET(f Fields, within Slot, members wire.Object) bool {
	for i := range f.Inputs {
		in := &f.Inputs[i]
		slot, value := append(slices.Clip(within), in), members.Get(in.Name)
		switch {
		case in.Kind.filled != byCaller || isBlank(value):
		case in.Kind.shape == objects:
			list := listOf(value)
			record, _ := list[0].(wire.Object)
			if len(list) > 1 || o.beyondGET(in.Fields, slot, record) {
				return true
			}
		case in.Kind.shape < object && !o.fills(slot, "GET"):
			return true
		}
	}
	return false
}

func isFunctionName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		isLetter := 'a' <= r|0x20 && r|0x20 <= 'z'
		return !isLetter && (r < '0' || r > '9') && r != '_' && r != '$' && r != '.'
	})
}

// request encodes a call. Its error is an *InputError.
func (c *Call) request(service, customerID string) (req transport.Request, err error) {
	req = transport.Request{
		Endpoint: service, Method: c.Form.Method, Segments: c.segments(),
		Header: http.Header{"Accept": {mediaType(c.Form.Format)}},
		Limit:  maxBody, Once: c.Operation.Writes,
	}
	if c.Operation.Text {
		req.Limit = maxText
	}
	if c.Form.Method == "GET" {
		req.Query = c.query()
		return req, nil
	}
	body := c.body(c.Operation.Fields, c.members, customerID)
	req.Header.Set("Content-Type", mediaType(c.Form.Format))
	if c.Form.Format == XMLs {
		if req.Body, err = wire.XML(c.Operation.XML.Root, body, c.Operation.XML.Item); err != nil {
			return req, &InputError{c.Operation.Name, err.Error()}
		}
		return req, nil
	}
	req.Body = wire.JSON(body)
	return req, nil
}

func mediaType(format string) string {
	if format == XMLs || format == JSON {
		return "application/" + format
	}
	return "*/*"
}

// segments fills in the path.
func (c *Call) segments() []string {
	segments := c.Operation.path()
	for i, s := range segments {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			segments[i] = c.members.Text(strings.TrimSuffix(name, "}"))
		}
	}
	return segments
}

func (c *Call) query() url.Values {
	query := url.Values{}
	for name, values := range c.Form.Extra {
		query[name] = values
	}
	c.addQuery(query, c.Operation.Fields, c.members)
	format := c.Form.Format
	if c.Form.Script {
		format = "jsonp"
	}
	if c.Operation.Query != "" {
		query.Set(c.Operation.Query, format)
	}
	if c.Form.Callback != "" {
		query.Set("callback", c.Form.Callback)
	}
	return query
}

func (c *Call) addQuery(query url.Values, f Fields, members wire.Object) {
	for _, in := range f.Inputs {
		value := members.Get(in.Name)
		if value == nil {
			continue
		}
		if list, ok := value.([]wire.Value); ok && in.Kind.shape == objects {
			record, _ := list[0].(wire.Object)
			c.addQuery(query, in.Fields, record)
			continue
		}
		if text, ok := wire.TextOf(value); ok && in.Query != "" {
			query.Set(in.Query, text)
		}
	}
}

// body is what a POST carries: the members under their real names, with those
// that are filled in.
func (c *Call) body(f Fields, members wire.Object, customerID string) wire.Object {
	var body wire.Object
	for _, in := range f.Inputs {
		value := members.Get(in.Name)
		switch {
		case in.Kind.filled == withID:
			value = customerID
		case in.Kind.filled == withCount:
			value = c.count(f, members)
		}
		if value != nil {
			body = append(body, wire.Member{Name: in.Name, Value: value})
		}
	}
	for _, m := range members {
		if body.Find(m.Name) < 0 {
			body = append(body, m)
		}
	}
	return wire.Rename(body, func(name string) string { return wire.WithPrefix(name, c.prefix) }).(wire.Object)
}

// count is how many records there are, as text.
func (c *Call) count(f Fields, members wire.Object) wire.Value {
	for _, in := range f.Inputs {
		if list, ok := members.Get(in.Name).([]wire.Value); ok && in.Kind.shape == objects {
			return strconv.Itoa(len(list))
		}
	}
	return nil
}

// Members turns a typed request into the members of a body.
func Members(request any) (wire.Object, error) {
	encoded, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	v, err := wire.ParseJSON(encoded)
	if err != nil {
		return nil, err
	}
	members, ok := v.(wire.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", request)
	}
	return members, nil
}

// ReadBody reads the body of a POST in JSON or XML. Its error says what is wrong
// with it.
func (o *Operation) ReadBody(content []byte) (wire.Object, error) {
	var v wire.Value
	var err error
	if wire.IsXML(content) {
		_, v, err = wire.ParseXML(content, o.XML.List)
	} else {
		v, err = wire.ParseJSON(content)
	}
	if err != nil {
		return nil, err
	}
	members, ok := v.(wire.Object)
	if !ok {
		return nil, errors.New("must be an object")
	}
	return members, nil
}
