package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/clients/wire"
	"syncd/internal/manifest"
)

// Kind says which values an input takes and how a body writes them.
type Kind struct {
	Name   string   // for help
	Values []string // all there are, or those that are known; for completion
	shape  shape
	most   int     // items of a list
	empty  bool    // may be said and be empty
	filled filling // not for the caller to say
	check  func(text string) (string, error)
}

// filling is what an input is filled in with.
type filling int

const (
	byCaller filling = iota
	withID
	withCount
)

// shape is how a body writes a value.
type shape int

const (
	text shape = iota // in a query, and as a JSON string
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
	Identity  = Kind{Name: "Customer ID", filled: withID}
	Count     = Kind{Name: "count of the records", filled: withCount}
	Boolean   = Kind{Name: "true or false", shape: boolean, check: truth}
	Integer   = Kind{Name: "whole number", shape: number, check: whole(math.MinInt32, math.MaxInt32)}
	Texts     = Kind{Name: "list of texts", shape: texts}
	Integers  = Kind{Name: "list of whole numbers", shape: numbers, check: whole(math.MinInt32, math.MaxInt32)}
	Booleans  = Kind{Name: "list of true or false", shape: booleans, check: truth}
)

// Objects is a list of at most so many objects.
func Objects(most int) Kind { return Kind{Name: "list", shape: objects, most: most} }

// OneOf is a closed set of words. Case does not matter, and the spelling given
// here is sent.
func OneOf(values ...string) Kind {
	return Kind{Name: strings.Join(values, " | "), Values: values, check: func(s string) (string, error) {
		for _, v := range values {
			if strings.EqualFold(v, s) {
				return v, nil
			}
		}
		return "", fmt.Errorf("must be one of %s", strings.Join(values, ", "))
	}}
}

// Known is a text for which some values are known, and others may be.
func Known(name string, values ...string) Kind { return Kind{Name: name, Values: values} }

// Whole is a whole number, sent as text.
func Whole(least, most int64) Kind {
	return Kind{Name: fmt.Sprintf("whole number from %d to %d", least, most), check: whole(least, most)}
}

// Decimals is a number, sent as text.
func Decimals(least, most float64) Kind { return between("number", least, most) }

// Numeric is a kind that bodies write as a JSON number.
func Numeric(k Kind) Kind {
	k.shape = number
	return k
}

// Digits is a text of exactly so many digits.
func Digits(count int) Kind { return digits(fmt.Sprintf("number of %d digits", count), count, count) }

// AtLeast is a text of so many characters or more.
func AtLeast(count int) Kind {
	return Kind{Name: fmt.Sprintf("text of at least %d characters", count), check: func(s string) (string, error) {
		if len([]rune(strings.TrimSpace(s))) < count {
			return "", fmt.Errorf("needs at least %d characters", count)
		}
		return s, nil
	}}
}

// Options is a list of Name:Value pairs with commas between. Each known name has
// the kind of its value.
func Options(known map[string]Kind) Kind {
	var names []string
	for name, kind := range known {
		names = append(names, name+":"+strings.ReplaceAll(kind.Name, " | ", "|"))
	}
	slices.Sort(names)
	return Kind{Name: "list of " + strings.Join(names, ", "), Values: names, check: func(s string) (string, error) {
		return checkOptions(s, known, names)
	}}
}

func checkOptions(s string, known map[string]Kind, names []string) (string, error) {
	var checked []string
	for option := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(option), ":")
		kind, spelled := lookUp(known, name)
		if !ok || spelled == "" {
			return "", fmt.Errorf("must be a list of %s", strings.Join(names, ", "))
		}
		if value == "" {
			return "", fmt.Errorf("%s has no value", spelled)
		}
		value, err := kind.checked(value)
		if err != nil {
			return "", fmt.Errorf("%s %w", spelled, err)
		}
		checked = append(checked, spelled+":"+value)
	}
	return strings.Join(checked, ","), nil
}

func lookUp(known map[string]Kind, name string) (kind Kind, spelled string) {
	for spelled, kind := range known {
		if strings.EqualFold(spelled, name) {
			return kind, spelled
		}
	}
	return Kind{}, ""
}

func between(name string, least, most float64) Kind {
	return Kind{Name: fmt.Sprintf("%s from %g to %g", name, least, most), check: func(s string) (string, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f < least || f > most || f != f || strings.ContainsAny(s, "xXpP_") {
			return "", fmt.Errorf("must be a number from %g to %g", least, most)
		}
		return s, nil
	}}
}

func whole(least, most int64) func(string) (string, error) {
	return func(s string) (string, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			return "", fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return strconv.FormatInt(n, 10), nil
	}
}

func digits(name string, least, most int) Kind {
	return Kind{Name: name, check: func(s string) (string, error) {
		other := strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if other || len(s) < least || len(s) > most {
			return "", fmt.Errorf("must be a %s", name)
		}
		return s, nil
	}}
}

func truth(s string) (string, error) {
	switch strings.ToLower(s) {
	case "true", "false":
		return strings.ToLower(s), nil
	}
	return "", errors.New("must be true or false")
}

func twoLetters(s string) (string, error) {
	if len(s) != 2 || strings.ContainsFunc(s, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }) {
		return "", errors.New("must be a country's code of two letters (ISO 3166-1 alpha-2)")
	}
	return strings.ToUpper(s), nil
}

func email(s string) (string, error) {
	name, host, ok := strings.Cut(s, "@")
	if !ok || name == "" || host == "" || strings.ContainsAny(s, " \t\r\n,;") {
		return "", errors.New("must be one e-mail address")
	}
	return s, nil
}

// checked is a text as it is sent, or what is wrong with it.
func (k Kind) checked(s string) (string, error) {
	if k.check == nil || s == "" {
		return s, nil
	}
	return k.check(s)
}

// leaf is one checked value in the form that a body has for it.
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

// jsonNumber is a number that passed its check, in the way JSON writes it: ".5",
// "+5" and "05" are none there.
func jsonNumber(s string) json.Number {
	if f, err := strconv.ParseFloat(s, 64); err == nil && !json.Valid([]byte(s)) {
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return json.Number(s)
}

// parse reads what a caller wrote as one argument. A list is JSON, or has commas
// between its items, but for those in parentheses; a list of objects may be one
// of their first members.
func (k Kind) parse(s string, first *Input) (wire.Value, error) {
	begin := strings.TrimSpace(s)
	isJSON := strings.HasPrefix(begin, "[") || strings.HasPrefix(begin, "{") && k.shape >= object // a name may begin with {Prefix}
	switch k.shape {
	case text, number, boolean:
		return s, nil
	case object, pairs:
		if !isJSON {
			return nil, errors.New("must be JSON, or be given member by member")
		}
	}
	if isJSON {
		v, err := wire.ParseJSON([]byte(s))
		if err != nil {
			return nil, errors.New("must be JSON")
		}
		return v, nil
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

// splitList cuts at the commas that no parentheses enclose.
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
