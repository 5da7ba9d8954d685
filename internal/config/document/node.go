package document

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Position is a line and a column, from 1; zero when it is not known.
type Position struct{ line, column int }

// Line is the line, 0 when it is not known.
func (p Position) Line() int { return p.line }

// Kind is what a value is made of.
type Kind int

// The kinds of values.
const (
	ScalarKind Kind = iota
	ListKind
	MappingKind
)

// Node is one value of the file. Its text is as written: as YAML numbers, 2026.10 and
// 0123 would change.
type Node struct {
	Kind   Kind
	At     Position
	Text   string
	Null   bool // the value is null, ~ or absent
	Items  []*Node
	Fields []Field
}

// Field is a key of a mapping with its value.
type Field struct {
	Key   string
	At    Position
	Value *Node
}

// build copies the library's tree into nodes. maxTokens limits how deep it recurses.
func build(n ast.Node) *Node {
	switch n := n.(type) {
	case nil:
		return &Node{Null: true}
	case *ast.MappingNode:
		return buildMapping(n, n.Values)
	case *ast.MappingValueNode:
		return buildMapping(n, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		list := &Node{Kind: ListKind, At: where(n.GetToken())}
		for _, item := range n.Values {
			list.Items = append(list.Items, build(item))
		}
		return list
	case *ast.LiteralNode:
		return &Node{At: where(n.GetToken()), Text: n.Value.GetToken().Value}
	}
	t := n.GetToken()
	value := &Node{At: where(t), Text: t.Value, Null: t.Type == token.NullType || t.Type == token.ImplicitNullType}
	if t.Type == token.ImplicitNullType {
		value.Text = ""
	}
	return value
}

// buildMapping gives a mapping the position of its first key, because the library uses
// the colon. An absent value gets the position of its key, because the library's varies.
func buildMapping(n ast.Node, values []*ast.MappingValueNode) *Node {
	mapping := &Node{Kind: MappingKind, At: where(n.GetToken())}
	for _, v := range values {
		t := v.Key.GetToken()
		value := build(v.Value)
		if value.Null && value.Text == "" {
			value.At = where(t)
		}
		mapping.Fields = append(mapping.Fields, Field{Key: t.Value, At: where(t), Value: value})
	}
	if len(mapping.Fields) > 0 {
		mapping.At = mapping.Fields[0].At
	}
	return mapping
}

func where(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{}
	}
	return Position{t.Position.Line, t.Position.Column}
}
