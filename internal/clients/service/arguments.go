package service

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Arguments puts name=value arguments into the members of a body, which may have
// some already. Names are those of the wire in the form of the method, matched
// without case; what lies within another input is written with a dot
// (Includes.Zips), or by its last name alone where that is plain. A name that is
// given again begins the next item of its list. extra are the query parameters
// that no description knows, where the operation takes such. Errors are
// *InputError.
func (o *Operation) Arguments(method, prefix string, body wire.Object, args []string) (filled wire.Object, extra url.Values, err error) {
	extra = url.Values{}
	if body != nil {
		filled = canonical(o.Fields, body, prefix).(wire.Object)
	}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" { // not shown: it could be anything, the Customer ID too
			return nil, nil, &InputError{o.Name, "an argument is not name=value"}
		}
		slot, err := o.slot(name, method, prefix)
		switch {
		case errors.Is(err, errUnknown) && o.Open && method == "GET":
			extra.Add(name, value)
			continue
		case err != nil:
			return nil, nil, &InputError{o.Name, err.Error()}
		}
		if err := place(&filled, slot, value); err != nil {
			return nil, nil, &InputError{o.Name, name + " " + err.Error()}
		}
	}
	return filled, extra, nil
}

// slot finds what a name means.
func (o *Operation) slot(name, method, prefix string) (Slot, error) {
	if strings.EqualFold(name, "id") || strings.EqualFold(name, "CustomerID") {
		return nil, errors.New("the Customer ID is filled in from the configuration: leave it out")
	}
	if strings.EqualFold(name, "format") || strings.EqualFold(name, "callback") {
		return nil, fmt.Errorf("%s is no input but a part of the form: see --format and --jsonp", strings.ToLower(name))
	}
	var byEnd []Slot
	wanted := wire.WithPrefix(name, prefix)
	for _, slot := range o.Slots(method) {
		full := slot.NameIn(method, prefix)
		if strings.EqualFold(wanted, full) {
			return slot, nil
		}
		if strings.HasSuffix(strings.ToLower(full), "."+strings.ToLower(wanted)) {
			byEnd = append(byEnd, slot)
		}
	}
	if len(byEnd) == 1 {
		return byEnd[0], nil
	}
	if len(byEnd) > 1 {
		return nil, fmt.Errorf("%s can be %s: write one of them", name, joinNames(byEnd, method, prefix, " or "))
	}
	if other := o.otherForm(name, method, prefix); other != "" {
		return nil, fmt.Errorf("unknown input %s: with %s it is %s", name, method, other)
	}
	return nil, fmt.Errorf("%w %s: %s", errUnknown, name, o.known(method, prefix))
}

// errUnknown is a name that no description knows.
var errUnknown = errors.New("unknown input")

// maxNamed is how many names a message lists.
const maxNamed = 20

// known says what an operation takes, or where that is told.
func (o *Operation) known(method, prefix string) string {
	slots := o.topSlots(method)
	if len(slots) > maxNamed {
		return "its help (--help) lists the known ones"
	}
	return fmt.Sprintf("with %s it takes %s", method, joinNames(slots, method, prefix, ", "))
}

// topSlots are the slots that help needs to name: those in a list of their own
// would drown the others.
func (o *Operation) topSlots(method string) []Slot {
	return slices.DeleteFunc(o.Slots(method), func(s Slot) bool { return method != "GET" && len(s) > 2 })
}

func joinNames(slots []Slot, method, prefix, between string) string {
	names := make([]string, len(slots))
	for i, s := range slots {
		names[i] = s.NameIn(method, prefix)
	}
	return strings.Join(names, between)
}

// otherForm is the name in this form of what the name is for in the other.
func (o *Operation) otherForm(name, method, prefix string) string {
	other := map[string]string{"GET": "POST", "POST": "GET"}[method]
	for _, slot := range o.Slots(method) {
		in := slot.Input()
		if strings.EqualFold(name, slot.NameIn(other, prefix)) || strings.EqualFold(name, wire.WithPrefix(in.Name, prefix)) || strings.EqualFold(name, in.Query) {
			return slot.NameIn(method, prefix)
		}
	}
	return ""
}

// canonical gives the members of a body the names of the descriptions, so that
// what is placed beside them is beside them.
func canonical(f Fields, v wire.Value, prefix string) wire.Value {
	switch v := v.(type) {
	case []wire.Value:
		list := slices.Clone(v)
		for i := range list {
			list[i] = canonical(f, list[i], prefix)
		}
		return list
	case wire.Object:
		o := slices.Clone(v)
		for i := range o {
			for _, in := range f.Inputs {
				if strings.EqualFold(wire.WithPrefix(o[i].Name, prefix), wire.WithPrefix(in.Name, prefix)) {
					o[i] = wire.Member{Name: in.Name, Value: canonical(in.Fields, o[i].Value, prefix)}
				}
			}
		}
		return o
	}
	return v
}

// place puts a value where a slot is, making what it lies in.
func place(o *wire.Object, slot Slot, value string) error {
	in := slot[0]
	switch {
	case len(slot) == 1:
		return placeHere(o, in, value)
	case in.Kind.shape == pairs:
		pair := wire.Object{{Name: "Key", Value: slot[1].Name}, {Name: "Value", Value: value}}
		o.Set(in.Name, append(itemsOf(o, in), pair))
		return nil
	case in.Kind.shape == objects:
		return placeInLast(o, slot, value)
	}
	before := o.Get(in.Name)
	inner, ok := before.(wire.Object)
	if !ok && !isBlank(before) {
		return errors.New("lies in what the body has as something else")
	}
	inner = slices.Clone(inner)
	err := place(&inner, slot[1:], value)
	o.Set(in.Name, inner)
	return err
}

// itemsOf is the list that an input has so far; a single item is a list of one.
func itemsOf(o *wire.Object, in *Input) []wire.Value {
	before := o.Get(in.Name)
	if isBlank(before) {
		return nil
	}
	return listOf(before)
}

// placeInLast puts a value into the last item of a list, or into a new one when
// that has the member already.
func placeInLast(o *wire.Object, slot Slot, value string) error {
	list := itemsOf(o, slot[0])
	if len(list) == 0 {
		list = []wire.Value{wire.Object{}}
	}
	last, ok := list[len(list)-1].(wire.Object)
	if !ok {
		return errors.New("lies in what the body has as something else")
	}
	if len(slot) == 2 && last.Find(slot[1].Name) >= 0 {
		list, last = append(list, nil), nil
	}
	last = slices.Clone(last)
	err := place(&last, slot[1:], value)
	list[len(list)-1] = last
	o.Set(slot[0].Name, list)
	return err
}

func placeHere(o *wire.Object, in *Input, value string) error {
	var first *Input
	if len(in.Inputs) > 0 {
		first = &in.Inputs[0]
	}
	parsed, err := in.Kind.parse(value, first)
	if err != nil {
		return err
	}
	if o.Find(in.Name) < 0 {
		o.Set(in.Name, canonical(in.Fields, parsed, ""))
		return nil
	}
	more, areMore := parsed.([]wire.Value)
	if !areMore {
		return errors.New("is given twice")
	}
	o.Set(in.Name, append(itemsOf(o, in), more...))
	return nil
}
