package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
)

// request encodes a call. Its error is an *InputError.
func (c *Call) request(service, customerID string) (req transport.Request, err error) {
	req = transport.Request{
		Endpoint: service, Method: c.Form.Method, Segments: c.segments(),
		Header: http.Header{"Accept": {mediaType(c.Form.Format)}},
		Limit:  maxBody, Once: c.Operation.Writes,
	}
	if c.Operation.AnyShape {
		req.Limit = maxText
	}
	if c.Form.Method == "GET" {
		req.Query = c.query()
		return req, nil
	}
	req.Header.Set("Content-Type", mediaType(c.Form.Format))
	body := c.body(customerID)
	if c.Form.Format != FormatXML {
		req.Body = wire.JSON(body)
		return req, nil
	}
	if req.Body, err = wire.XML(c.Operation.XML.Root, body, c.Operation.XML.Item); err != nil {
		return req, &InputError{c.Operation.Name, err.Error()}
	}
	return req, nil
}

func mediaType(format string) string {
	if format == FormatXML || format == FormatJSON {
		return "application/" + format
	}
	return "*/*"
}

// segments returns the path with its inputs filled in.
func (c *Call) segments() []string {
	segments := c.Operation.segments()
	for i, s := range segments {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			segments[i] = c.members.Text(strings.TrimSuffix(name, "}"))
		}
	}
	return segments
}

// query returns the parameters of a GET, without the Customer ID.
func (c *Call) query() url.Values {
	query := url.Values{}
	maps.Copy(query, c.Form.Extra)
	addQuery(query, c.Operation.Fields, c.members)
	format := c.Form.Format
	if c.Form.JSONP {
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

// addQuery adds the members that have a query parameter. Of a list of records it
// adds the first; Check has refused a longer list.
func addQuery(query url.Values, f Fields, members wire.Object) {
	for _, in := range f.Inputs {
		value := members.Get(in.Name)
		if value == nil {
			continue
		}
		if list, ok := value.([]wire.Value); ok && in.Kind.shape == objects {
			record, _ := list[0].(wire.Object)
			addQuery(query, in.Fields, record)
			continue
		}
		if text, ok := wire.TextOf(value); ok && in.Query != "" {
			query.Set(in.Query, text)
		}
	}
}

// body returns the members of a POST under the names of the wire, with the
// inputs that syncd fills in.
func (c *Call) body(customerID string) wire.Object {
	var body wire.Object
	for _, in := range c.Operation.Inputs {
		value := c.members.Get(in.Name)
		switch in.Kind.filled {
		case withID:
			value = customerID
		case withCount:
			value = c.recordCount()
		}
		if value != nil {
			body = append(body, wire.Member{Name: in.Name, Value: value})
		}
	}
	for _, m := range c.members {
		if body.Find(m.Name) < 0 {
			body = append(body, m)
		}
	}
	return wire.Rename(body, func(name string) string { return wire.WithPrefix(name, c.prefix) }).(wire.Object)
}

// recordCount returns the number of records as text, or nil if the operation
// has none.
func (c *Call) recordCount() wire.Value {
	for _, in := range c.Operation.Inputs {
		if list, ok := c.members.Get(in.Name).([]wire.Value); ok && in.Kind.shape == objects {
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
		return nil, fmt.Errorf("%T is not an object", request)
	}
	return members, nil
}

// ReadBody reads the body of a POST from JSON or XML.
func (o *Operation) ReadBody(content []byte) (wire.Object, error) {
	var v wire.Value
	var err error
	if wire.IsXML(content) {
		v, err = wire.ParseXML(content, o.XML.Schema)
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
