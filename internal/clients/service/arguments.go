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
	filled, extra = slices.Clone(body), url.Values{}
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok { // not shown: it could be anything, the Customer ID too
			return nil, nil, &InputError{o.Name, fmt.Sprintf("argument %d is not name=value", i+1)}
		}
		slot, err := o.slot(name, method, prefix)
		switch {
		case err != nil && o.Open && method == "GET" && o.otherForm(name, method, prefix) == "":
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
	return nil, fmt.Errorf("unknown input %s: with %s it takes %s", name, method, joinNames(o.topSlots(method), method, prefix, ", "))
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

// place puts a value where a slot is, making what it lies in.
func place(o *wire.Object, slot Slot, value string) error {
	in := slot[0]
	if len(slot) == 1 {
		return placeHere(o, in, value)
	}
	switch in.Kind.shape {
	case pairs:
		list, _ := o.Get(in.Name).([]wire.Value)
		pair := wire.Object{{Name: "Key", Value: slot[1].Name}, {Name: "Value", Value: value}}
		o.Set(in.Name, append(list, pair))
		return nil
	case objects:
		list, _ := o.Get(in.Name).([]wire.Value)
		if len(list) == 0 {
			list = []wire.Value{wire.Object{}}
		}
		last, _ := list[len(list)-1].(wire.Object)
		if len(slot) == 2 && last.Find(slot[1].Name) >= 0 {
			list, last = append(list, nil), wire.Object{}
		}
		err := place(&last, slot[1:], value)
		list[len(list)-1] = last
		o.Set(in.Name, list)
		return err
	}
	inner, _ := o.Get(in.Name).(wire.Object)
	err := place(&inner, slot[1:], value)
	o.Set(in.Name, inner)
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
		o.Set(in.Name, parsed)
		return nil
	}
	before, isList := o.Get(in.Name).([]wire.Value)
	more, areMore := parsed.([]wire.Value)
	if !isList || !areMore {
		return fmt.Errorf("is given twice")
	}
	o.Set(in.Name, append(before, more...))
	return nil
}
