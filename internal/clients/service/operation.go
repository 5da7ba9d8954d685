package service

import (
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Operation describes one operation of a service.
type Operation struct {
	Name     string // the path below the base up to its first variable part, e.g. "MAK/doCount"
	Path     string // below the base, with inputs as {name}; "" means Name
	Summary  string // one line for help
	Note     string // further help, in sentences
	Methods  []string
	Formats  []string // of answers and of bodies that are sent; the first is the default
	JSONP    bool     // the service's JSONP address answers it too
	Query    string   // the GET parameter that asks for a format; "" if there is none
	Success  []Code   // an answer needs one of these; if empty, only error codes are failures
	Writes   bool     // changes something at the provider: is never retried
	AnyShape bool     // the answer need not be an object: a list, a digest, a page, a file
	Open     bool     // accepts query parameters that are not described
	XML      XML
	Fields
}

// XML names the elements of an operation's XML bodies.
type XML struct {
	Root   string // of requests
	Item   string // of an item in a request's list
	Schema wire.Schema
}

// ListXML describes answers that are a list: the root element holds the items.
var ListXML = XML{Schema: wire.Schema{Lists: []string{""}}}

// Fields are the inputs of an operation, of an object or of the items of a list.
type Fields struct {
	Inputs []Input
	// AnyOf are the minimum inputs: in at least one of the sets, every name needs
	// a value. Empty means that there is no minimum.
	AnyOf []Set
	// Exclusive allows inputs of only one of the sets.
	Exclusive bool
	// Aligned names two lists of pairs that must have the same keys.
	Aligned Set
}

// Set is a combination of inputs, by Name.
type Set []string

// Input is one value that an operation takes. In names, "{Prefix}" stands for
// the vendor's word.
type Input struct {
	Name     string // of the member of a body, or of the part of the path
	Query    string // the GET parameter; "" if GET cannot carry the input
	Kind     Kind
	Required bool
	Default  string // sent when the caller gives no value, also within an object
	Help     string
	Fields   // of an object, or of the items of a list; for a list of pairs, the keys
}

// Methods of operations, in order of preference.
var (
	GetOnly  = []string{"GET"}
	PostOnly = []string{"POST"}
	GetPost  = []string{"GET", "POST"}
)

// Formats of bodies.
const (
	FormatJSON = "json"
	FormatXML  = "xml"
	FormatFile = "file" // a format of the file's own, which is passed on unread
)

// Has is true when the operation has that method.
func (o *Operation) Has(method string) bool { return slices.Contains(o.Methods, method) }

// segments returns the operation's path, with inputs as {name}.
func (o *Operation) segments() []string {
	if o.Path == "" {
		return strings.Split(o.Name, "/")
	}
	return strings.Split(o.Path, "/")
}

// isPath is true for an input that is a segment of the path.
func (o *Operation) isPath(in *Input) bool { return slices.Contains(o.segments(), "{"+in.Name+"}") }

// FilledIn returns the inputs that syncd fills in by itself.
func (o *Operation) FilledIn() []*Input {
	var filled []*Input
	for i := range o.Inputs {
		if o.Inputs[i].Kind.filled != byCaller {
			filled = append(filled, &o.Inputs[i])
		}
	}
	return filled
}

// NameOf returns the part of a path before its first variable segment. A
// variable first segment is kept.
func NameOf(path string) string {
	name, _, _ := strings.Cut(path, "/{")
	return name
}

// Variants returns the operations that callers name. An operation whose first
// segment is an input ("{hashtype}/Data") becomes one for each value
// ("MD5/Data"), without that input; any other operation is its only variant.
func (o *Operation) Variants() []*Operation {
	first, rest, _ := strings.Cut(o.Name, "/")
	at := slices.IndexFunc(o.Inputs, func(in Input) bool { return first == "{"+in.Name+"}" })
	if at < 0 {
		return []*Operation{o}
	}
	var variants []*Operation
	for _, value := range o.Inputs[at].Kind.Values {
		v := *o
		v.Name = value + "/" + rest
		v.Path = strings.Replace(o.Path, first, value, 1)
		v.Summary = strings.ReplaceAll(o.Summary, first, value)
		v.Inputs = slices.Delete(slices.Clone(o.Inputs), at, at+1)
		variants = append(variants, &v)
	}
	return variants
}
