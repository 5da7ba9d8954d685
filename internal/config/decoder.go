package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// decoder decodes a document with tables of keys. It records the position of every
// value and reports unknown and duplicate keys. The YAML library's own strict decoding
// stops at the first problem and quotes the file.
type decoder struct {
	file     string
	dir      string // of the file, absolute
	env      Environment
	at       map[string]position // of each value, by key path
	bad      map[string]bool     // key paths with a problem
	errs     []*Error
	secrets  []place
	plain    []place
	keys     []keyFile
	unsigned []place // webhooks without a secret

	sourceOnly bool // the file may have no manifests
}

// table holds the setter of each key of a mapping.
type table map[string]setter

// setter decodes the value n at a key path.
type setter func(d *decoder, path string, n *node)

func newDecoder(file string, env Environment) (*decoder, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, &Error{File: file, Problem: "its directory cannot be found: the working directory is gone", Suggestion: "start syncd in another directory"}
	}
	return &decoder{file: file, dir: dir, env: env, at: map[string]position{}, bad: map[string]bool{}}, nil
}

func (d *decoder) err() error { return joined(d.errs) }

// fail records a problem of the value at path. If the file has no such value, the
// problem gets the position of the nearest value above it.
func (d *decoder) fail(path string, f fault) {
	d.bad[path] = true
	d.errs = append(d.errs, d.place(path).error(d.file, f))
}

// valid is true when none of the paths has had a problem so far.
func (d *decoder) valid(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return d.bad[path] })
}

// isSet is true when the file has a value at path.
func (d *decoder) isSet(path string) bool {
	_, ok := d.at[path]
	return ok
}

func (d *decoder) place(path string) place {
	for above := path; ; above = above[:max(strings.LastIndexAny(above, ".["), 0)] {
		if at, ok := d.at[above]; ok || above == "" {
			return place{key: path, at: at}
		}
	}
}

// mapping decodes a mapping with a table.
func (d *decoder) mapping(path string, n *node, t table) {
	if path == "" {
		d.at[path] = n.at
	}
	first := map[string]position{}
	for _, f := range n.fields {
		set, known := t[f.key]
		at, again := first[f.key]
		switch {
		case !known:
			d.errs = append(d.errs, d.unknown(path, f, t))
		case again:
			p := place{key: below(path, f.key), at: f.at}
			d.errs = append(d.errs, p.error(d.file, fault{fmt.Sprintf("is set twice, first in line %d", at.line), "keep one of them"}))
		default:
			first[f.key] = f.at
			d.at[below(path, f.key)] = f.value.at
			set(d, below(path, f.key), f.value)
		}
	}
}

// keys is the setter of a mapping. An absent value is an empty mapping.
func keys(t table) setter {
	return func(d *decoder, path string, n *node) {
		switch {
		case n.kind == mappingKind:
			d.mapping(path, n, t)
		case !n.null:
			d.fail(path, fault{"must be a mapping", "write its keys indented below it: " + strings.Join(slices.Sorted(maps.Keys(t)), ", ")})
		}
	}
}

// scalar is the setter of a single value.
func scalar[T any](to *T, parse func(string) (T, *fault)) setter {
	return func(d *decoder, path string, n *node) {
		if n.kind != scalarKind {
			d.fail(path, fault{"must be one value", "write one value, not a list or a mapping"})
			return
		}
		if value, f := parseScalar(n, parse); f != nil {
			d.fail(path, *f)
		} else {
			*to = value
		}
	}
}

// parseScalar parses a value's text. The text of null is "".
func parseScalar[T any](n *node, parse func(string) (T, *fault)) (T, *fault) {
	text := n.text
	if n.null {
		text = ""
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		var none T
		return none, &fault{"has a control character", "write it on one line, without tabs or escapes"}
	}
	return parse(text)
}

// list is the setter of a list of values, or of a single value.
func list(to *[]string, parse func(string) (string, *fault)) setter {
	return func(d *decoder, path string, n *node) {
		if n.null {
			return
		}
		if n.kind == scalarKind {
			*to = make([]string, 1)
			scalar(&(*to)[0], parse)(d, path, n)
			return
		}
		if n.kind != listKind {
			d.fail(path, fault{"must be a list", "write it as [FIRST, SECOND]"})
			return
		}
		*to = make([]string, len(n.items))
		for i, item := range n.items {
			d.at[index(path, i)] = item.at
			scalar(&(*to)[i], parse)(d, index(path, i), item)
		}
	}
}

// keep is the setter of a value that is decoded later.
func keep(to **node) setter {
	return func(_ *decoder, _ string, n *node) { *to = n }
}

// below and index extend key paths.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
