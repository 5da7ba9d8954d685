package batch

import (
	"strconv"

	"syncd/internal/clients/wire"
)

// depth says how far values are taken apart into columns.
type depth int

const (
	allTheWay   depth = iota
	objectsOnly       // a list is one cell of JSON
	notAtAll          // an answer is one cell of JSON
)

// maxColumns bounds the columns that answers add. Beyond them, lists and then whole answers
// become cells of JSON. Spreadsheets take 16,384 columns.
const maxColumns = 4_000

// flatten calls visit for each cell of a value: objects are taken apart by the names of
// their members, lists by numbers from 1, with dots between.
func flatten(name string, v wire.Value, d depth, visit func(column, cell string)) {
	switch v := v.(type) {
	case wire.Object:
		if d == notAtAll {
			visit(name, string(wire.JSON(v)))
			return
		}
		for _, m := range v {
			flatten(join(name, m.Name), m.Value, d, visit)
		}
	case []wire.Value:
		if d != allTheWay {
			visit(name, string(wire.JSON(v)))
			return
		}
		for i, item := range v {
			flatten(join(name, strconv.Itoa(i+1)), item, d, visit)
		}
	default:
		text, _ := wire.TextOf(v)
		visit(name, text)
	}
}

func join(name, part string) string {
	if name == "" {
		return part
	}
	return name + "." + part
}

// columnSet collects the names of columns in the order in which they first appear.
type columnSet struct {
	limit int // isFull above it
	names []string
	known map[string]bool
}

func (s *columnSet) add(name string) {
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if !s.known[name] && !s.isFull() {
		s.known[name] = true
		s.names = append(s.names, name)
	}
}

func (s *columnSet) isFull() bool { return len(s.names) > s.limit }
