package config

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// position is a line and a column, from 1; zero when it is not known.
type position struct{ line, column int }

type kind int

const (
	scalarKind kind = iota
	listKind
	mappingKind
)

// node is one value of the file. Its text is as written: as YAML numbers, 2026.10 and
// 0123 would change.
type node struct {
	kind   kind
	at     position
	text   string
	null   bool // the value is null, ~ or absent
	items  []*node
	fields []field
}

type field struct {
	key   string
	at    position
	value *node
}

// build copies the library's tree into nodes. maxTokens limits how deep it recurses.
func build(n ast.Node) *node {
	switch n := n.(type) {
	case nil:
		return &node{null: true}
	case *ast.MappingNode:
		return buildMapping(n, n.Values)
	case *ast.MappingValueNode:
		return buildMapping(n, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		list := &node{kind: listKind, at: where(n.GetToken())}
		for _, item := range n.Values {
			list.items = append(list.items, build(item))
		}
		return list
	case *ast.LiteralNode:
		return &node{at: where(n.GetToken()), text: n.Value.GetToken().Value}
	}
	t := n.GetToken()
	value := &node{at: where(t), text: t.Value, null: t.Type == token.NullType || t.Type == token.ImplicitNullType}
	if t.Type == token.ImplicitNullType {
		value.text = ""
	}
	return value
}

// buildMapping gives a mapping the position of its first key, because the library uses
// the colon. An absent value gets the position of its key, because the library's varies.
func buildMapping(n ast.Node, values []*ast.MappingValueNode) *node {
	mapping := &node{kind: mappingKind, at: where(n.GetToken())}
	for _, v := range values {
		t := v.Key.GetToken()
		value := build(v.Value)
		if value.null && value.text == "" {
			value.at = where(t)
		}
		mapping.fields = append(mapping.fields, field{key: t.Value, at: where(t), value: value})
	}
	if len(mapping.fields) > 0 {
		mapping.at = mapping.fields[0].at
	}
	return mapping
}

func where(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}
