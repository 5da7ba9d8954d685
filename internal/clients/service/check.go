package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// fields returns the members of o that f describes, checked and in f's order,
// and then those that are not described.
func (c *checker) fields(f Fields, o wire.Object, within Slot) wire.Object {
	if name := c.repeated(o); name != "" {
		c.fail("%s is given twice", within.nameWithin(name))
	}
	var checked wire.Object
	rest := slices.Clone(o)
	for i := range f.Inputs {
		in := &f.Inputs[i]
		value, given := take(&rest, in.Name, wire.WithPrefix(in.Name, c.prefix))
		if value = c.input(append(slices.Clip(within), in), value, given); value != nil {
			checked = append(checked, wire.Member{Name: in.Name, Value: value})
		}
	}
	for _, m := range rest {
		c.unknown = append(c.unknown, within.nameWithin(m.Name))
	}
	c.anyOf(f, checked, within)
	c.aligned(f, checked)
	return append(checked, rest...)
}

// repeated returns a name that two members have. The services do not say which
// one they would use.
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

// take removes the first member with one of the names.
func take(o *wire.Object, names ...string) (value wire.Value, given bool) {
	for _, name := range names {
		if i := o.Find(name); i >= 0 {
			value = (*o)[i].Value
			*o = slices.Delete(*o, i, i+1)
			return value, true
		}
	}
	return nil, false
}

// input returns a checked value, or nil for a value that is not sent. A value
// with a problem is returned as it is, so that it still counts as given.
func (c *checker) input(slot Slot, value wire.Value, given bool) wire.Value {
	in := slot.Input()
	name := slot.NameIn(c.method, c.prefix)
	switch {
	case in.Kind.filled != byCaller: // replaces the value of a body from a file
		return nil
	case isBlank(value) && in.Default != "":
		value = in.Default
	case isBlank(value) && in.Kind.shape == object && in.hasDefault():
		value = wire.Object{}
	case isBlank(value) && !(in.Kind.empty && given):
		if !in.Required {
			return nil
		}
		if len(in.AnyOf) == 0 {
			c.lack(name, in.Kind)
			return nil
		}
		value = wire.Object{} // its own check names the minimum inputs
	case !c.op.fills(in, c.method) && in.Kind.shape < object:
		c.fail("%s cannot be sent with %s: use POST", name, c.method)
		return value
	}
	checked, err := c.shaped(slot, value)
	if err != nil {
		c.fail("%s %v", name, err)
		return value
	}
	if o, ok := checked.(wire.Object); ok && len(o) == 0 && !in.Required {
		return nil // all its members were blank
	}
	return checked
}

// hasDefault is true for fields of which one is sent without being given.
func (f Fields) hasDefault() bool {
	return slices.ContainsFunc(f.Inputs, func(in Input) bool { return in.Default != "" })
}

// isBlank is true for a value that counts as absent.
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

// shaped checks a value according to the shape of its kind.
func (c *checker) shaped(slot Slot, value wire.Value) (wire.Value, error) {
	in := slot.Input()
	switch in.Kind.shape {
	case object:
		o, ok := value.(wire.Object)
		if !ok {
			return nil, errors.New("must be an object")
		}
		return c.fields(in.Fields, o, slot), nil
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

// leaf checks one text or number. Known names of columns can hold the prefix.
func (c *checker) leaf(k Kind, value wire.Value) (wire.Value, error) {
	value, err := k.leaf(value)
	if s, ok := value.(string); ok && slices.Contains(k.Values, s) {
		return wire.WithPrefix(s, c.prefix), nil
	}
	return value, err
}

// listOf returns a copy of a list, or a list of one.
func listOf(v wire.Value) []wire.Value {
	if list, ok := v.([]wire.Value); ok {
		return slices.Clone(list)
	}
	return []wire.Value{v}
}

// records checks a list of objects.
func (c *checker) records(slot Slot, value wire.Value) (wire.Value, error) {
	list := listOf(value)
	in := slot.Input()
	switch {
	case in.Kind.most > 0 && len(list) > in.Kind.most:
		return nil, fmt.Errorf("has %d items, at most %d may be sent", len(list), in.Kind.most)
	case c.method == "GET" && len(list) > 1:
		return nil, fmt.Errorf("has %d items, and GET carries one: use POST", len(list))
	}
	outer := c.item
	defer func() { c.item = outer }()
	for i := range list {
		o, ok := list[i].(wire.Object)
		if !ok {
			return nil, fmt.Errorf("item %d must be an object", i+1)
		}
		if len(list) > 1 {
			c.item = strings.TrimPrefix(fmt.Sprintf("%s, item %d", outer, i+1), ", ")
		}
		list[i] = c.fields(in.Fields, o, slot)
	}
	return list, nil
}

func (c *checker) pairs(slot Slot, value wire.Value) (wire.Value, error) {
	list := listOf(value)
	for i := range list {
		o, ok := list[i].(wire.Object)
		key := o.Text("Key")
		if !ok || key == "" {
			return nil, fmt.Errorf(`item %d must be {"Key": ..., "Value": ...}`, i+1)
		}
		known := Input{Name: key}
		at := slices.IndexFunc(slot.Input().Inputs, func(in Input) bool { return strings.EqualFold(in.Name, key) })
		if at >= 0 {
			known = slot.Input().Inputs[at]
		} else {
			c.unknown = append(c.unknown, slot.nameWithin(key))
		}
		text, err := known.Kind.checked(o.Text("Value"))
		if err != nil {
			return nil, fmt.Errorf("%s %w", key, err)
		}
		list[i] = wire.Object{{Name: "Key", Value: known.Name}, {Name: "Value", Value: text}}
	}
	return list, nil
}
