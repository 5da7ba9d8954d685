package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// InputError says what of a call's input cannot be sent. Nothing was.
type InputError struct {
	Operation string
	Problem   string
}

func (e *InputError) Error() string { return e.Operation + ": " + e.Problem }

// checker checks the arguments of one call.
type checker struct {
	op      *Operation
	method  string
	prefix  string
	unknown []string // members that no description knows
}

func (c *checker) fail(format string, args ...any) error {
	return &InputError{c.op.Name, fmt.Sprintf(format, args...)}
}

// fields returns the members of o that f describes, checked and in f's order,
// and behind them those that it does not know.
func (c *checker) fields(f Fields, o wire.Object, within Slot) (wire.Object, error) {
	if name := c.repeated(o); name != "" {
		return nil, c.fail("%s is given twice", dotted(within, name))
	}
	var checked wire.Object
	rest := append(wire.Object(nil), o...)
	for i := range f.Inputs {
		in := &f.Inputs[i]
		value, given := take(&rest, in.Name, wire.WithPrefix(in.Name, c.prefix))
		value, err := c.input(append(within[:len(within):len(within)], in), value, given)
		if err != nil {
			return nil, err
		}
		if value != nil {
			checked = append(checked, wire.Member{Name: in.Name, Value: value})
		}
	}
	for _, m := range rest {
		c.unknown = append(c.unknown, dotted(within, m.Name))
	}
	if err := c.anyOf(f, checked, within); err != nil {
		return nil, err
	}
	return append(checked, rest...), nil
}

// repeated is a name that two members have: which of them a service would heed
// nobody knows.
func (c *checker) repeated(o wire.Object) string {
	seen := map[string]bool{}
	for _, m := range o {
		name := strings.ToLower(wire.WithPrefix(m.Name, c.prefix))
		if seen[name] {
			return m.Name
		}
		seen[name] = true
	}
	return ""
}

// take removes a member with one of the names.
func take(o *wire.Object, names ...string) (value wire.Value, given bool) {
	for _, name := range names {
		if i := o.Find(name); i >= 0 {
			value = (*o)[i].Value
			*o = append((*o)[:i], (*o)[i+1:]...)
			return value, true
		}
	}
	return nil, false
}

func dotted(within Slot, name string) string {
	if len(within) == 0 {
		return name
	}
	return within.NameIn("", "") + "." + name
}

// input checks one value; nil is one that is not sent.
func (c *checker) input(slot Slot, value wire.Value, given bool) (wire.Value, error) {
	in := slot.Input()
	name := slot.NameIn(c.method, c.prefix)
	switch {
	case in.Kind.filled != byCaller: // whatever a body from elsewhere has there
		return nil, nil
	case isBlank(value) && in.Default != "":
		value = in.Default
	case isBlank(value) && in.Kind.shape == object && in.hasDefault():
		value = wire.Object{}
	case isBlank(value) && !(in.Kind.empty && given):
		if !in.Required {
			return nil, nil
		}
		if len(in.AnyOf) == 0 {
			return nil, c.fail("%s is missing (%s)", name, in.Kind.Name)
		}
		value = wire.Object{} // whose minimum inputs are missing
	case !c.op.fills(slot, c.method) && in.Kind.shape < object:
		return nil, c.fail("%s cannot be sent with %s: use POST", name, c.method)
	}
	value, err := c.shaped(slot, value)
	if o, ok := value.(wire.Object); ok && len(o) == 0 && !in.Required {
		value = nil // all that it had was absent
	}
	var input *InputError
	if err != nil && !errors.As(err, &input) {
		return nil, c.fail("%s %v", name, err)
	}
	return value, err
}

// hasDefault is true for fields that are sent when nothing is said.
func (f Fields) hasDefault() bool {
	return slices.ContainsFunc(f.Inputs, func(in Input) bool { return in.Default != "" })
}

// isBlank is true for what counts as absent.
func isBlank(v wire.Value) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []wire.Value:
		return !slices.ContainsFunc(v, func(item wire.Value) bool { return !isBlank(item) })
	case wire.Object:
		return len(v) == 0
	}
	return false
}

// shaped checks a value that is there, by the shape of its kind.
func (c *checker) shaped(slot Slot, value wire.Value) (wire.Value, error) {
	in := slot.Input()
	switch in.Kind.shape {
	case object:
		o, ok := value.(wire.Object)
		if !ok {
			return nil, fmt.Errorf("must be an object")
		}
		return c.fields(in.Fields, o, slot)
	case objects:
		return c.records(slot, value)
	case pairs:
		return c.pairs(slot, value)
	case texts, numbers, booleans:
		list := slices.DeleteFunc(listOf(value), isBlank)
		for i := range list {
			item, err := c.leaf(in.Kind, list[i])
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	}
	if value == nil {
		value = ""
	}
	return c.leaf(in.Kind, value)
}

// leaf checks one value. In the known names of columns the vendor's word takes
// its place.
func (c *checker) leaf(k Kind, value wire.Value) (wire.Value, error) {
	value, err := k.leaf(value)
	if s, ok := value.(string); ok && slices.Contains(k.Values, s) {
		return wire.WithPrefix(s, c.prefix), nil
	}
	return value, err
}

// listOf is a copy of a list, or a list of one.
func listOf(v wire.Value) []wire.Value {
	if list, ok := v.([]wire.Value); ok {
		return append([]wire.Value(nil), list...)
	}
	return []wire.Value{v}
}

func (c *checker) records(slot Slot, value wire.Value) (wire.Value, error) {
	list := listOf(value)
	in := slot.Input()
	switch {
	case in.Kind.most > 0 && len(list) > in.Kind.most:
		return nil, fmt.Errorf("has %d items, at most %d may be sent", len(list), in.Kind.most)
	case c.method == "GET" && len(list) > 1:
		return nil, fmt.Errorf("has %d items, and GET carries one: use POST", len(list))
	}
	for i := range list {
		o, ok := list[i].(wire.Object)
		if !ok {
			return nil, fmt.Errorf("item %d must be an object", i+1)
		}
		checked, err := c.fields(in.Fields, o, slot)
		var input *InputError
		if errors.As(err, &input) && len(list) > 1 {
			err = c.fail("item %d: %s", i+1, input.Problem)
		}
		if err != nil {
			return nil, err
		}
		list[i] = checked
	}
	return list, nil
}

// pairs checks a list of {Key, Value}.
func (c *checker) pairs(slot Slot, value wire.Value) (wire.Value, error) {
	list := listOf(value)
	for i := range list {
		o, ok := list[i].(wire.Object)
		key := o.Text("Key")
		if !ok || key == "" {
			return nil, fmt.Errorf(`item %d must be {"Key": ..., "Value": ...}`, i+1)
		}
		known := Input{Name: key}
		for _, in := range slot.Input().Inputs {
			if strings.EqualFold(in.Name, key) {
				known = in
			}
		}
		if known.Means == "" && known.Kind.Name == "" {
			c.unknown = append(c.unknown, dotted(slot, key))
		}
		text, err := known.Kind.checked(o.Text("Value"))
		if err != nil {
			return nil, fmt.Errorf("%s %w", key, err)
		}
		list[i] = wire.Object{{Name: "Key", Value: known.Name}, {Name: "Value", Value: text}}
	}
	return list, nil
}

// anyOf checks the minimum inputs.
func (c *checker) anyOf(f Fields, o wire.Object, within Slot) error {
	if len(f.AnyOf) == 0 {
		return nil
	}
	what := "needs any one of"
	for _, set := range f.AnyOf {
		switch {
		case !c.holds(f, set, o):
			continue
		case !f.OneSet || !f.mixes(set, o):
			return nil
		}
		what = "takes only one of"
	}
	where := ""
	if len(within) > 0 && c.method != "GET" {
		where = within.NameIn(c.method, c.prefix) + " "
	}
	return c.fail("%s%s: %s", where, what, strings.Join(f.SetNames(c.method, c.prefix), "; "))
}

func (c *checker) holds(f Fields, set Set, o wire.Object) bool {
	for _, name := range set {
		if o.Find(name) < 0 || c.method == "GET" && f.query(name) == "" {
			return false
		}
	}
	return true
}

// mixes is true when something of another set than the chosen one is given too.
func (f Fields) mixes(chosen Set, o wire.Object) bool {
	for _, set := range f.AnyOf {
		for _, name := range set {
			if o.Find(name) >= 0 && !slices.Contains(chosen, name) {
				return true
			}
		}
	}
	return false
}

// query is the GET parameter of the input of that name.
func (f Fields) query(name string) string {
	for _, in := range f.Inputs {
		if in.Name == name {
			return in.Query
		}
	}
	return ""
}

// SetNames writes the minimum inputs, each set as its names in the form of a
// method; a set that the form cannot carry is left out.
func (f Fields) SetNames(method, prefix string) []string {
	var sets []string
	for _, set := range f.AnyOf {
		names := make([]string, len(set))
		carried := true
		for i, name := range set {
			names[i] = wire.WithPrefix(name, prefix)
			if method == "GET" {
				names[i] = f.query(name)
				carried = carried && names[i] != ""
			}
		}
		if carried {
			sets = append(sets, strings.Join(names, "+"))
		}
	}
	return sets
}
