package emulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxServiceBody bounds the body of a POST to a service.
const maxServiceBody = 16 << 20

// member is a member of a JSON object, in the order that it came.
type member struct {
	name string
	raw  json.RawMessage
}

// readBody reads the body by its Content-Type.
func (c *serviceCall) readBody() (problem, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxServiceBody))
	if err != nil {
		return malformed(err), false
	}
	c.body = body
	switch kind := mediaType(c.r.Header.Get("Content-Type")); {
	case kind == "application/json":
		return c.readJSON(body)
	case kind == "application/xml" && c.op.request != "":
		return c.readXML(body)
	}
	return invalidRequest(http.StatusUnsupportedMediaType, map[string][]string{
		"Content-Type": {"The media type of the body is not supported."},
	}), false
}

func malformed(err error) problem {
	return invalidRequest(http.StatusBadRequest, map[string][]string{"$": {"The body cannot be read: " + err.Error() + "."}})
}

func (c *serviceCall) readJSON(body []byte) (problem, bool) {
	members, err := objectMembers(body)
	if err != nil {
		return malformed(err), false
	}
	c.members = members
	wrong := make(map[string][]string)
	for _, m := range members {
		in, known := c.op.bodyInput(m.name)
		switch {
		case !known && c.op.strict:
			wrong["$."+m.name] = []string{"The member " + m.name + " is not known."}
		case known && in.kind == textInput:
			c.takeText(c.record, "$."+m.name, in.post, m.raw, wrong)
		case known && in.kind == listInput:
			c.takeList("$."+m.name, in.post, m.raw, wrong)
		}
	}
	if len(wrong) > 0 {
		return invalidRequest(http.StatusBadRequest, wrong), false
	}
	return problem{}, true
}

// bodyInput finds an input by its name in a body. What is strict lists all of
// its inputs, since not every service takes the common ones.
func (op operation) bodyInput(name string) (input, bool) {
	inputs := op.inputs
	if !op.strict {
		inputs = slices.Concat(commonInputs, inputs)
	}
	for _, in := range inputs {
		if !in.record && strings.EqualFold(in.post, name) {
			return in, true
		}
	}
	return input{}, false
}

// takeText takes a JSON string into a record; null is as good as not given.
func (c *serviceCall) takeText(into record, path, name string, raw json.RawMessage, wrong map[string][]string) {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		wrong[path] = []string{"The JSON value could not be converted to System.String."}
		return
	}
	if text != nil {
		into[strings.ToLower(name)] = *text
	}
}

func (c *serviceCall) takeList(path, name string, raw json.RawMessage, wrong map[string][]string) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		wrong[path] = []string{"The JSON value could not be converted to an array."}
		return
	}
	records := make([]record, len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		members, err := objectMembers(item)
		if err != nil {
			wrong[at] = []string{"The JSON value could not be converted to an object."}
			continue
		}
		records[i] = make(record)
		for _, m := range members {
			c.takeText(records[i], at+"."+m.name, m.name, m.raw, wrong)
		}
	}
	c.lists[strings.ToLower(name)] = records
}

// objectMembers takes a JSON object apart.
func objectMembers(text []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, cmp.Or(err, errors.New("it is not a JSON object"))
	}
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.raw); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return members, nil
}

// element is an XML element by its local name.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (c *serviceCall) readXML(body []byte) (problem, bool) {
	var root element
	if err := xml.Unmarshal(body, &root); err != nil {
		return malformed(err), false
	}
	if root.XMLName.Local != c.op.request {
		return malformed(fmt.Errorf("its root is %s, not %s", root.XMLName.Local, c.op.request)), false
	}
	for _, child := range root.Children {
		in, known := c.op.bodyInput(child.XMLName.Local)
		switch {
		case known && in.kind == textInput:
			c.record[strings.ToLower(in.post)] = strings.TrimSpace(child.Text)
		case known && in.kind == listInput:
			c.lists[strings.ToLower(in.post)] = child.records()
		}
	}
	return problem{}, true
}

// records reads each child as a record of its own children.
func (el element) records() []record {
	records := make([]record, len(el.Children))
	for i, item := range el.Children {
		records[i] = make(record)
		for _, leaf := range item.Children {
			records[i][strings.ToLower(leaf.XMLName.Local)] = strings.TrimSpace(leaf.Text)
		}
	}
	return records
}

// caller is the Customer ID that a request brings, valid or not, for faults
// that hand it back.
func (e *Emulator) caller(r *http.Request, body []byte) string {
	return cmp.Or(parameter(r, e.cfg.IDParam), parameter(r, "id"), bodyCustomerID(body))
}

func bodyCustomerID(body []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return xmlCustomerID(body)
	}
	members, err := objectMembers(body)
	if err != nil {
		return ""
	}
	for _, m := range members {
		var id string
		if strings.EqualFold(m.name, customerID) && json.Unmarshal(m.raw, &id) == nil {
			return id
		}
	}
	return ""
}

func xmlCustomerID(body []byte) string {
	var root element
	if xml.Unmarshal(body, &root) != nil {
		return ""
	}
	for _, child := range root.Children {
		if strings.EqualFold(child.XMLName.Local, customerID) {
			return strings.TrimSpace(child.Text)
		}
	}
	return ""
}
