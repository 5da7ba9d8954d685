package service

import (
	"slices"
	"strings"

	"syncd/internal/clients/wire"
)

// Slot is a place that takes a value: an input, behind the inputs it lies in.
type Slot []*Input

// Slots returns every place that callers can fill with a method, in order.
func (o *Operation) Slots(method string) []Slot {
	var slots []Slot
	o.walk(o.Fields, nil, func(s Slot) {
		if o.fills(s.Input(), method) {
			slots = append(slots, s)
		}
	})
	return slots
}

func (o *Operation) walk(f Fields, within Slot, visit func(Slot)) {
	for i := range f.Inputs {
		slot := append(slices.Clip(within), &f.Inputs[i])
		visit(slot)
		o.walk(f.Inputs[i].Fields, slot, visit)
	}
}

// fills is true for an input that callers can give with a method.
func (o *Operation) fills(in *Input, method string) bool {
	switch {
	case in.Kind.filled != byCaller:
		return false
	case method == "GET":
		return in.Query != "" || o.isPath(in)
	}
	return true
}

// Input returns the input that the slot is for.
func (s Slot) Input() *Input { return s[len(s)-1] }

// TakesEmpty is true if an empty value is sent and counts as given. In a list of pairs, an
// empty value is one of two that belong together.
func (s Slot) TakesEmpty() bool {
	return s.Input().Kind.empty && (len(s) == 1 || s[len(s)-2].Kind.shape != pairs)
}

// NameIn returns the name that callers write for the slot with a method.
func (s Slot) NameIn(method, prefix string) string {
	if in := s.Input(); method == "GET" && in.Query != "" {
		return in.Query
	}
	names := make([]string, len(s))
	for i, in := range s {
		names[i] = wire.WithPrefix(in.Name, prefix)
	}
	return strings.Join(names, ".")
}

// nameWithin returns the dotted name of a member of the slot's object.
func (s Slot) nameWithin(name string) string {
	if len(s) == 0 {
		return name
	}
	return s.NameIn("", "") + "." + name
}
