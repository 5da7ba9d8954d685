package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"syncd/internal/clients/wire"
	"syncd/internal/manifest"
)

// Kind says which values an input takes and how a body writes them.
type Kind struct {
	Name   string   // for help
	Values []string // all values, or the known ones; for completion
	shape  shape
	most   int     // items of a list; 0 means any number
	empty  bool    // an empty value counts as given
	filled filling // not given by the caller
	check  func(text string) (string, error)
}

// filling says how an input gets its value.
type filling int

const (
	byCaller filling = iota
	withID
	withCount
)

// shape is how a body writes a value.
type shape int

const (
	text shape = iota // as a JSON string
	number
	boolean
	texts
	numbers
	booleans
	object  // with the input's Fields
	objects // a list of them
	pairs   // a list of {Key, Value}
)

// The kinds of the services' inputs.
var (
	Text      = Kind{Name: "text"}
	Blank     = Kind{Name: "text, may be empty", empty: true}
	Latitude  = between("latitude", -90, 90)
	Longitude = between("longitude", -180, 180)
	Key       = digits("key of digits", 1, 19)
	Country   = Kind{Name: "two-letter country code", check: twoLetters}
	Email     = Kind{Name: "e-mail address", check: email}
	Segment   = Kind{Name: "name", check: func(s string) (string, error) { return s, manifest.CheckSegment(s) }}
	Object    = Kind{Name: "object", shape: object}
	Pairs     = Kind{Name: "pairs", shape: pairs}
	Identity  = Kind{Name: "the Customer ID", filled: withID}
	Count     = Kind{Name: "the number of records", filled: withCount}
	Boolean   = Kind{Name: "true or false", shape: boolean, check: truth}
	Integer   = Kind{Name: "whole number", shape: number, check: whole(math.MinInt32, math.MaxInt32)}
	Texts     = Kind{Name: "list of texts", shape: texts}
	Integers  = Kind{Name: "list of whole numbers", shape: numbers, check: whole(math.MinInt32, math.MaxInt32)}
	Booleans  = Kind{Name: "list of true or false", shape: booleans, check: truth}
)

// Objects is a list of at most `most` objects; 0 means any number.
func Objects(most int) Kind { return Kind{Name: "list", shape: objects, most: most} }

// Known is a text with some known values. Others are allowed.
func Known(name string, values ...string) Kind { return Kind{Name: name, Values: values} }

// Numeric is a kind that bodies write as a JSON number.
func Numeric(k Kind) Kind {
	k.shape = number
	return k
}

// checked returns a text in the form in which it is sent.
func (k Kind) checked(s string) (string, error) {
	if k.check == nil || s == "" {
		return s, nil
	}
	return k.check(s)
}

// leaf returns one checked value in the form of a body.
func (k Kind) leaf(v wire.Value) (wire.Value, error) {
	s, ok := wire.TextOf(v)
	if !ok {
		return nil, fmt.Errorf("must be a %s", k.Name)
	}
	s, err := k.checked(s)
	if err != nil {
		return nil, err
	}
	switch k.shape {
	case number, numbers:
		return jsonNumber(s), nil
	case boolean, booleans:
		return s == "true", nil
	}
	return s, nil
}

// jsonNumber returns a checked number as JSON writes it. JSON does not allow
// ".5", "+5" and "05".
func jsonNumber(s string) json.Number {
	if f, err := strconv.ParseFloat(s, 64); err == nil && !json.Valid([]byte(s)) {
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return json.Number(s)
}

// parse reads the value of one argument. A list is JSON, or has commas between
// its items. An item of a list of objects can be the value of their first member.
func (k Kind) parse(s string, first *Input) (wire.Value, error) {
	if k.shape < texts {
		return s, nil
	}
	trimmed := strings.TrimSpace(s)
	// A text that begins with { is not JSON: it can be {Prefix}AddressKey.
	if strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{") && k.shape >= object {
		v, err := wire.ParseJSON([]byte(s))
		if err != nil {
			return nil, errors.New("must be JSON")
		}
		return v, nil
	}
	if k.shape == object || k.shape == pairs {
		return nil, errors.New("must be JSON, or be given member by member")
	}
	var items []wire.Value
	for _, item := range splitList(s) {
		if k.shape == objects {
			items = append(items, wire.Object{{Name: first.Name, Value: item}})
			continue
		}
		items = append(items, item)
	}
	return items, nil
}

// splitList splits at commas outside of parentheses: POLYGON((0 0, 1 1)) is one item.
func splitList(s string) []string {
	var items []string
	depth, begin := 0, 0
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			items = append(items, strings.TrimSpace(s[begin:i]))
			begin = i + 1
		}
	}
	return append(items, strings.TrimSpace(s[begin:]))
}
