package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"syncd/internal/emulator/wire"
)

// maxBody bounds the body of a POST, in bytes.
const maxBody = 16 << 20

func (c *Call) readBody() (wire.Problem, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err != nil {
		return malformed(err), false
	}
	switch kind := mediaType(c.r.Header.Get("Content-Type")); {
	case kind == "application/json":
		return c.readJSON(body)
	case kind == "application/xml" && c.Operation.Request != "":
		return c.readXML(body)
	}
	return invalid(http.StatusUnsupportedMediaType, map[string][]string{
		"Content-Type": {"The media type of the body is not supported."},
	}), false
}

func malformed(err error) wire.Problem {
	return invalid(http.StatusBadRequest, map[string][]string{"$": {"The body cannot be read: " + err.Error() + "."}})
}

func (c *Call) readJSON(body []byte) (wire.Problem, bool) {
	members, err := ObjectMembers(body)
	if err != nil {
		return malformed(err), false
	}
	c.members = members
	wrong := make(map[string][]string)
	for _, m := range members {
		in, known := c.Operation.bodyInput(m.Name)
		path := "$." + m.Name
		switch {
		case !known && c.Operation.Strict:
			wrong[path] = []string{"The member " + m.Name + " is not known."}
		case known && in.Kind == Text:
			readText(c.inputs, path, in.Body, m.Raw, wrong)
		case known && in.Kind == List:
			c.lists[in.name()] = readList(path, m.Raw, wrong)
		}
	}
	if len(wrong) > 0 {
		return invalid(http.StatusBadRequest, wrong), false
	}
	return wire.Problem{}, true
}

// readText reads a JSON string into a record. null counts as not given.
func readText(into Record, path, name string, raw json.RawMessage, wrong map[string][]string) {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		wrong[path] = []string{"The JSON value could not be converted to System.String."}
		return
	}
	if text != nil {
		into[strings.ToLower(name)] = *text
	}
}

func readList(path string, raw json.RawMessage, wrong map[string][]string) []Record {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		wrong[path] = []string{"The JSON value could not be converted to an array."}
		return nil
	}
	records := make([]Record, len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		members, err := ObjectMembers(item)
		if err != nil {
			wrong[at] = []string{"The JSON value could not be converted to an object."}
			continue
		}
		records[i] = make(Record)
		for _, m := range members {
			readText(records[i], at+"."+m.Name, m.Name, m.Raw, wrong)
		}
	}
	return records
}

// ObjectMembers returns the members of a JSON object in their order.
func ObjectMembers(text []byte) ([]Member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, cmp.Or(err, errors.New("it is not a JSON object"))
	}
	var members []Member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Name: fmt.Sprint(name)}
		if err := d.Decode(&m.Raw); err != nil {
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

// element is an XML element. Namespaces are ignored.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (c *Call) readXML(body []byte) (wire.Problem, bool) {
	var root element
	if err := xml.Unmarshal(body, &root); err != nil {
		return malformed(err), false
	}
	if root.XMLName.Local != c.Operation.Request {
		return malformed(fmt.Errorf("its root is %s, not %s", root.XMLName.Local, c.Operation.Request)), false
	}
	for _, child := range root.Children {
		in, known := c.Operation.bodyInput(child.XMLName.Local)
		switch {
		case known && in.Kind == Text:
			c.inputs[in.name()] = strings.TrimSpace(child.Text)
		case known && in.Kind == List:
			c.lists[in.name()] = child.records()
		}
	}
	return wire.Problem{}, true
}

// records reads each child element as a record.
func (el element) records() []Record {
	records := make([]Record, len(el.Children))
	for i, item := range el.Children {
		records[i] = make(Record)
		for _, leaf := range item.Children {
			records[i][strings.ToLower(leaf.XMLName.Local)] = strings.TrimSpace(leaf.Text)
		}
	}
	return records
}

// CustomerIDOf returns the Customer ID in a body of JSON or XML, "" for none.
func CustomerIDOf(body []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return customerIDOfXML(body)
	}
	members, err := ObjectMembers(body)
	if err != nil {
		return ""
	}
	for _, m := range members {
		var id string
		if strings.EqualFold(m.Name, CustomerID) && json.Unmarshal(m.Raw, &id) == nil {
			return id
		}
	}
	return ""
}

func customerIDOfXML(body []byte) string {
	var root element
	if xml.Unmarshal(body, &root) != nil {
		return ""
	}
	for _, child := range root.Children {
		if strings.EqualFold(child.XMLName.Local, CustomerID) {
			return strings.TrimSpace(child.Text)
		}
	}
	return ""
}
