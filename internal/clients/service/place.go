package service

import (
	"errors"
	"slices"

	"syncd/internal/clients/wire"
)

// place puts a value where a slot is. It creates the objects and lists that the
// slot lies in.
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
		return errNotObject
	}
	inner = slices.Clone(inner)
	err := place(&inner, slot[1:], value)
	o.Set(in.Name, inner)
	return err
}

// errNotObject is the error for a member of an object that the body has as
// another type.
var errNotObject = errors.New("cannot be added: the body has a value there that is not an object")

// itemsOf returns the list that an input has so far; a single item is a list of one.
func itemsOf(o *wire.Object, in *Input) []wire.Value {
	before := o.Get(in.Name)
	if isBlank(before) {
		return nil
	}
	return listOf(before)
}

// placeInLast puts a value into the last item of a list, or into a new item if
// the last one has the member already.
func placeInLast(o *wire.Object, slot Slot, value string) error {
	list := itemsOf(o, slot[0])
	if len(list) == 0 {
		list = []wire.Value{wire.Object{}}
	}
	last, ok := list[len(list)-1].(wire.Object)
	if !ok {
		return errNotObject
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

// placeHere sets an input, or adds to one that is a list.
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
	more, isList := parsed.([]wire.Value)
	if !isList {
		return errors.New("is given twice")
	}
	o.Set(in.Name, append(itemsOf(o, in), more...))
	return nil
}
