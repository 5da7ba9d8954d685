package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Decoder decodes a document with tables of keys. It records the position of every value
// and reports unknown and duplicate keys. The YAML library's own strict decoding stops at
// the first problem and quotes the file.
type Decoder struct {
	File string // for errors

	at   map[string]Position // of each value, by key path
	bad  map[string]bool     // key paths with a problem
	errs []*Error
}

// Table holds the setter of each key of a mapping.
type Table map[string]Setter

// Setter decodes the value n at a key path.
type Setter func(d *Decoder, path string, n *Node)

// NewDecoder returns a decoder for a file.
func NewDecoder(file string) *Decoder {
	return &Decoder{File: file, at: map[string]Position{}, bad: map[string]bool{}}
}

// Problems returns the problems so far, in the order of their discovery.
func (d *Decoder) Problems() []*Error { return d.errs }

// Err returns all problems as one error, sorted by position: nil, an *Error, or several
// with errors.Join.
func (d *Decoder) Err() error { return joined(d.errs) }

// Fail records a problem of the value at path. If the file has no such value, the
// problem gets the position of the nearest value above it.
func (d *Decoder) Fail(path, problem, suggestion string) {
	d.bad[path] = true
	d.FailAt(d.Place(path), problem, suggestion)
}

// FailAt records a problem at a place.
func (d *Decoder) FailAt(p Place, problem, suggestion string) {
	d.errs = append(d.errs, p.Error(d.File, problem, suggestion))
}

// Valid is true when none of the paths has had a problem so far.
func (d *Decoder) Valid(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return d.bad[path] })
}

// IsSet is true when the file has a value at path.
func (d *Decoder) IsSet(path string) bool {
	_, ok := d.at[path]
	return ok
}

// SetPosition records where the value at path is.
func (d *Decoder) SetPosition(path string, at Position) { d.at[path] = at }

// Place returns the place of the value at path, or of the nearest value above it.
func (d *Decoder) Place(path string) Place {
	for above := path; ; above = above[:max(strings.LastIndexAny(above, ".["), 0)] {
		if at, ok := d.at[above]; ok || above == "" {
			return Place{Key: path, at: at}
		}
	}
}

// Mapping decodes a mapping with a table.
func (d *Decoder) Mapping(path string, n *Node, t Table) {
	if path == "" {
		d.at[path] = n.At
	}
	first := map[string]Position{}
	for _, f := range n.Fields {
		set, known := t[f.Key]
		at, again := first[f.Key]
		switch {
		case !known:
			d.errs = append(d.errs, d.unknown(path, f, t))
		case again:
			d.FailAt(Place{Key: below(path, f.Key), at: f.At}, fmt.Sprintf("is set twice, first in line %d", at.line), "keep one of them")
		default:
			first[f.Key] = f.At
			d.at[below(path, f.Key)] = f.Value.At
			set(d, below(path, f.Key), f.Value)
		}
	}
}

// Keys is the setter of a mapping. An absent value is an empty mapping.
func Keys(t Table) Setter {
	return func(d *Decoder, path string, n *Node) {
		switch {
		case n.Kind == MappingKind:
			d.Mapping(path, n, t)
		case !n.Null:
			d.Fail(path, "must be a mapping", "write its keys indented below it: "+strings.Join(slices.Sorted(maps.Keys(t)), ", "))
		}
	}
}

// Scalar is the setter of a single value.
func Scalar[T any](to *T, parse func(string) (T, *Fault)) Setter {
	return func(d *Decoder, path string, n *Node) {
		if n.Kind != ScalarKind {
			d.Fail(path, "must be one value", "write one value, not a list or a mapping")
			return
		}
		if value, f := parseScalar(n, parse); f != nil {
			d.Fail(path, f.Problem, f.Suggestion)
		} else {
			*to = value
		}
	}
}

// parseScalar parses a value's text. The text of null is "".
func parseScalar[T any](n *Node, parse func(string) (T, *Fault)) (T, *Fault) {
	text := n.Text
	if n.Null {
		text = ""
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		var none T
		return none, Refuse("has a control character", "write it on one line, without tabs or escapes")
	}
	return parse(text)
}

// List is the setter of a list of values, or of a single value.
func List[T any](to *[]T, parse func(string) (T, *Fault)) Setter {
	return func(d *Decoder, path string, n *Node) {
		if n.Null {
			return
		}
		if n.Kind == ScalarKind {
			*to = make([]T, 1)
			Scalar(&(*to)[0], parse)(d, path, n)
			return
		}
		if n.Kind != ListKind {
			d.Fail(path, "must be a list", "write it as [FIRST, SECOND]")
			return
		}
		*to = make([]T, len(n.Items))
		for i, item := range n.Items {
			d.at[Index(path, i)] = item.At
			Scalar(&(*to)[i], parse)(d, Index(path, i), item)
		}
	}
}

// Keep is the setter of a value that is decoded later.
func Keep(to **Node) Setter {
	return func(_ *Decoder, _ string, n *Node) { *to = n }
}

// below extends a key path by a key.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index extends a key path by the index of an item.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
