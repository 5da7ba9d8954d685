package service

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// CustomerID and TransmissionReference are inputs of nearly all operations. Some
// services write the first as CustomerId; names have no case here.
const (
	CustomerID            = "CustomerID"
	TransmissionReference = "TransmissionReference"
)

var commonInputs = []Input{{Query: "id", Body: CustomerID}, {Query: "t", Body: TransmissionReference}}

// Input is an input of an operation, by its name in a query and in a body; ""
// where it has none.
type Input struct {
	Query, Body string
	Kind        Kind
	// InRecord marks an input that a body carries in each of its Records. A
	// query holds one record, next to the other inputs.
	InRecord bool
}

// Kind is the type of an input in a body.
type Kind int

// The kinds of inputs.
const (
	Text Kind = iota // a string
	List             // an array of objects that hold strings
	Any              // read by the operation itself
)

// name is the name under which the frame keeps the input.
func (in Input) name() string { return strings.ToLower(cmp.Or(in.Body, in.Query)) }

// input finds an input by either of its names.
func (op Operation) input(name string) (Input, bool) {
	for _, in := range slices.Concat(commonInputs, op.Inputs) {
		if in.Body != "" && strings.EqualFold(in.Body, name) || in.Query != "" && strings.EqualFold(in.Query, name) {
			return in, true
		}
	}
	return Input{}, false
}

// bodyInput finds an input by its name in a body. A strict operation lists all
// its inputs: the list service has no transmission reference.
func (op Operation) bodyInput(name string) (Input, bool) {
	inputs := op.Inputs
	if !op.Strict {
		inputs = slices.Concat(commonInputs, inputs)
	}
	for _, in := range inputs {
		if !in.InRecord && strings.EqualFold(in.Body, name) {
			return in, true
		}
	}
	return Input{}, false
}

// Record holds values by the lower-case names of a body.
type Record map[string]string

// Value returns the value of an input by its name in a body, "" when it is not
// given.
func (r Record) Value(name string) string { return r[strings.ToLower(name)] }

// First returns the first value that is not empty.
func (r Record) First(names ...string) string {
	for _, name := range names {
		if v := r.Value(name); v != "" {
			return v
		}
	}
	return ""
}

// Member is a member of a JSON object.
type Member struct {
	Name string
	Raw  json.RawMessage
}
