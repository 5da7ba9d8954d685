// Package service is what the clients of the provider's services have in common:
// operations described as data, the checks and the encoding that follow from the
// description, the call itself, and the codes that answer it. A client package
// adds its descriptions and the Go types of requests and responses; the command
// `syncd call` works from the descriptions alone.
//
// What a description says is checked before anything is sent, and an *InputError
// names what is wrong. What comes back is read tolerantly, see package wire.
package service

import (
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Operation describes one operation of a service.
type Operation struct {
	Name    string // the path below the base up to its first variable part, e.g. "MAK/doCount"
	Path    string // below the base, with inputs as {name}; "" is Name
	Summary string // for help: what it gives
	Methods []string
	Formats []string // of answers, and of bodies that are sent; the first is the default
	Script  bool     // answers script calls (JSONP) at the service's second address too
	Query   string   // the GET parameter that asks for a format; "" when there is none
	Fields
	Success []Code // an answer without one of these is an error; none: all but error codes are well
	Writes  bool   // changes something at the provider: never sent twice by itself
	Text    bool   // the answer may be no object: a list, a digest, a page, a file
	Open    bool   // takes query parameters that no description knows
	XML     XML
}

// XML names the elements of an operation's bodies.
type XML struct {
	Root string // of requests
	Item string // of an item in a request's list
	List string // of the list in an answer
}

// Fields are the inputs of an operation, of an object or of the items of a list.
type Fields struct {
	Inputs []Input
	// AnyOf are the minimum inputs: the names in one of the sets at least must
	// have a value. None is no rule. OneSet lets inputs of one of them only be
	// given.
	AnyOf  []Set
	OneSet bool
}

// Set is a combination of inputs, by Name.
type Set []string

// Input is one thing that an operation takes. In names, "{Prefix}" stands for
// the vendor's word.
type Input struct {
	Name     string // of the member of a body, or of the part of the path
	Query    string // of the GET parameter; "" when the GET form has none
	Kind     Kind
	Required bool
	Default  string // is sent when the caller says nothing, in an object too
	Means    string // for help
	Fields          // of an object, or of the items of a list; of a list of pairs the keys
}

// Methods of operations, in the order in which they are preferred.
var (
	GetOnly  = []string{"GET"}
	PostOnly = []string{"POST"}
	GetPost  = []string{"GET", "POST"}
)

// Formats of bodies.
const (
	JSON = "json"
	XMLs = "xml"
	File = "file" // what has a format of its own; it is not looked into
)

// Has is true when the operation has that method.
func (o *Operation) Has(method string) bool { return slices.Contains(o.Methods, method) }

// path is the operation's template, in segments.
func (o *Operation) path() []string {
	if o.Path == "" {
		return strings.Split(o.Name, "/")
	}
	return strings.Split(o.Path, "/")
}

// isPath is true for an input that is a segment of the path.
func (o *Operation) isPath(in *Input) bool { return slices.Contains(o.path(), "{"+in.Name+"}") }

// Slot is a place that takes a value: an input with those it lies in.
type Slot []*Input

// Slots lists every place of an operation that a method can fill, in order.
func (o *Operation) Slots(method string) []Slot {
	var slots []Slot
	o.walk(o.Fields, nil, func(s Slot) {
		if o.fills(s, method) {
			slots = append(slots, s)
		}
	})
	return slots
}

func (o *Operation) walk(f Fields, within Slot, visit func(Slot)) {
	for i := range f.Inputs {
		slot := append(slices.Clip(within), &f.Inputs[i])
		visit(slot)
		o.walk(f.Inputs[i].Fields, slot, visit)
	}
}

func (o *Operation) fills(s Slot, method string) bool {
	in := s.Input()
	switch {
	case in.Kind.filled != byCaller:
		return false
	case method == "GET":
		return in.Query != "" || o.isPath(in)
	}
	return true
}

// Input is the one that the slot is for.
func (s Slot) Input() *Input { return s[len(s)-1] }

// NameIn is what callers write for the slot in the form of a method.
func (s Slot) NameIn(method, prefix string) string {
	if in := s.Input(); method == "GET" && in.Query != "" {
		return in.Query
	}
	names := make([]string, len(s))
	for i, in := range s {
		names[i] = wire.WithPrefix(in.Name, prefix)
	}
	return strings.Join(names, ".")
}

// NameOf is the part of a path up to its first variable segment; a path that
// begins with one keeps that.
func NameOf(path string) string {
	name, _, _ := strings.Cut(path, "/{")
	return name
}

// Variants are the names of an operation whose first segment is an input with
// known values, one for each; else its only name.
func (o *Operation) Variants() []string {
	first, rest, _ := strings.Cut(o.Name, "/")
	for _, in := range o.Inputs {
		if first != "{"+in.Name+"}" {
			continue
		}
		names := make([]string, len(in.Kind.Values))
		for i, value := range in.Kind.Values {
			names[i] = value + "/" + rest
		}
		return names
	}
	return []string{o.Name}
}

// Bound is what calling an operation by one of its variants says already, as an
// argument; nil for an operation with one name.
func (o *Operation) Bound(variant string) []string {
	first, _, _ := strings.Cut(o.Name, "/")
	if name, ok := strings.CutPrefix(first, "{"); ok {
		value, _, _ := strings.Cut(variant, "/")
		return []string{strings.TrimSuffix(name, "}") + "=" + value}
	}
	return nil
}
